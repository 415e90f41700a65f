// Package pod runs conversations of a language model that works on files, each
// Pod within a Scope that says where it may read and where it may write.
//
// The one rule to keep in mind: there is no Pod without a Scope, and no rule
// means no access (S0-02, S0-17).
//
// A Pod is made of a manifest (who it is), a Worker (a Model and how it is
// driven), a Store (where conversations are kept), a working directory and a
// Scope. [FromManifest] takes the last two from the manifest:
//
//	m, err := pod.Load("writer.toml")
//	p, err := pod.FromManifest(m, pod.NewWorker(model), pod.NewMemoryStore())
//	defer p.Close()
//	answer, err := p.Run(ctx, "Add a test for the parser.")
//
// The manifest is TOML (C-15):
//
//	[pod]
//	name = "writer"
//	pwd = "./src"               # relative to the manifest's directory
//
//	[scope]
//	base = "manifest"           # targets are relative to: "pwd" (default) or "manifest"
//
//	[[scope.allow]]
//	target = "./src"
//	permission = "write"        # "read" or "write"
//	recursive = true            # default; false: the target and its direct children
//	delete = false              # default; true also lets files be removed
//
//	[[scope.deny]]
//	target = "./src/secrets.rs"
//	permission = "write"        # takes writing away; "read" takes everything away
//
// Model and Store are interfaces, not type parameters: a Pod never hands its
// client or store back, so parameters would spread through every signature that
// names a Pod and give its callers nothing (S0-44).
//
// sunaba/pod/ollama has a Model for an Ollama server.
//
// Errors carry a stable code ([sunaba/fault]); a manifest with mistakes is a
// [*Problems], all of them at once. Texts for people are not part of this
// package: sunaba/texts has them, for WithTexts and, by its Explain, for errors.
package pod
