package broker

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/policy"
	"sunaba/scope"
	"sunaba/tool"
)

// verdicts are what may be done to one file.
type verdicts struct{ Read, List, Overwrite, Create, Delete, Execute bool }

// TestToolsAndCommandsAgree drives file tools and commands over one matrix of
// areas and compares their verdicts with each other and with what the policy
// says (C-69). Renaming where delete is not granted is the one documented
// exception (C-77) and is not part of it.
//
// Covers: SD-01, SD-03, FS-05, FS-06a, FS-06b, FS-06c, FS-08b, FS-09a, FS-09b, C-69
func TestToolsAndCommandsAgree(t *testing.T) {
	all := verdicts{true, true, true, true, true, true}
	readOnly := verdicts{Read: true, List: true}
	for _, profile := range []string{"development", "readonly"} {
		t.Run(profile, func(t *testing.T) {
			areas := map[string]verdicts{ // directory → verdicts of the file f in it
				"free":           all,
				"frozen":         {Read: true, List: true, Execute: true},
				"secret":         {},
				"protected":      {Read: true, List: true, Execute: true},
				"../shown":       readOnly,
				"../kept":        {Read: true, List: true, Overwrite: true, Create: true},
				"../given":       {Read: true, List: true, Overwrite: true, Create: true, Delete: true},
				"../given/quiet": readOnly,
				"../apart":       {},
			}
			if profile == "readonly" {
				for name, v := range areas {
					areas[name] = verdicts{Read: v.Read, List: v.List}
				}
			}
			f := newFixture(t, func(e *policy.Effective) {
				e.Profile = profile
				at := func(p string) string { return filepath.Join(e.Workspace.Root, p) }
				for name := range areas {
					if err := os.MkdirAll(at(name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				mount := func(p string, c scope.Capability) {
					e.Roots = append(e.Roots, policy.Root{Path: at(p), Logical: at(p), Kind: policy.RootMount, Capability: c})
				}
				mount("../shown", scope.R)
				mount("../kept", scope.R|scope.W)
				mount("../given", scope.R|scope.W|scope.D)
				e.Scope = &policy.Narrowing{Deny: []scope.Rule{
					{Target: at("frozen"), Permission: scope.Write, Recursive: true},
					{Target: at("../given/quiet"), Permission: scope.Write, Recursive: true},
					{Target: at("secret"), Permission: scope.Read, Recursive: true},
				}}
				e.Protected = append(e.Protected, policy.Protected{Path: at("protected"), Why: "config"})
				sh, err := filepath.EvalSymlinks("/bin/sh")
				if err != nil {
					t.Fatal(err)
				}
				e.Entries = append(e.Entries, policy.Entry{Alias: "sh", Logical: "/bin/sh", Path: sh, Shell: true, Identity: identify(t, sh)})
			})
			for name, want := range areas {
				fill := func() string {
					dir := filepath.Join(f.root, name)
					f.write(filepath.Join(dir, "f"), "#!/bin/sh\nexit 0\n")
					_ = os.Remove(filepath.Join(dir, "new"))
					return dir
				}
				if got := f.byTools(fill()); got != want {
					t.Errorf("%s: file tools\n got %+v\nwant %+v", name, got, want)
				}
				if got := f.byCommands(fill()); got != want {
					t.Errorf("%s: commands\n got %+v\nwant %+v", name, got, want)
				}
			}
		})
	}
}

func (f *fixture) byTools(dir string) verdicts {
	ok := func(name string, args map[string]any) bool {
		f.t.Helper()
		r, err := f.call(name, args)
		if err != nil {
			f.t.Fatal(err)
		}
		return r.OK
	}
	file := filepath.Join(dir, "f")
	v := verdicts{
		Read:    ok(tool.ReadFile, map[string]any{"path": file}),
		List:    ok(tool.ListFiles, map[string]any{"path": dir}),
		Create:  ok(tool.WriteFile, map[string]any{"path": filepath.Join(dir, "new"), "content": "x"}),
		Execute: ok(tool.RunCommand, map[string]any{"argv": []string{file}}),
	}
	v.Overwrite = ok(tool.EditFile, map[string]any{"path": file, "old_string": "exit 0", "new_string": "exit 00"})
	v.Delete = ok(tool.RemovePath, map[string]any{"path": file})
	return v
}

func (f *fixture) byCommands(dir string) verdicts {
	ok := func(script string) bool {
		f.t.Helper()
		r, err := f.call(tool.RunCommand, map[string]any{"command": "cd / && D='" + dir + "' && " + script})
		if err != nil {
			f.t.Fatal(err)
		}
		return r.OK && r.Effects[0].ExitCode == 0
	}
	return verdicts{
		Read:      ok(`cat "$D/f"`),
		List:      ok(`ls "$D" | grep -q .`),
		Overwrite: ok(`echo >> "$D/f"`),
		Create:    ok(`echo x > "$D/new"`),
		Execute:   ok(`"$D/f"`),
		Delete:    ok(`rm "$D/f"`),
	}
}
