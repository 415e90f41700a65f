package policy

import (
	"os"
	"path/filepath"
	"slices"

	"sunaba/fault"
	"sunaba/scope"
)

// hostTools are files and directories at the workspace root that programs on
// the host execute or obey later (C-85). ".git" itself is added when it is a
// file or a link.
var hostTools = []struct {
	name    string
	dir     bool
	content string
}{
	{name: ".git/hooks", dir: true}, {name: ".git/config"}, {name: ".git/config.worktree"},
	// git takes configuration and hooks from the directory this file names: its
	// making would replace both. "." names .git itself.
	{name: ".git/commondir", content: ".\n"},
	{name: ".envrc"}, {name: ".vscode", dir: true}, {name: ".idea", dir: true}, {name: ".mcp.json"}, {name: ".claude", dir: true},
}

// protect lists what no policy lets the agent change (C-71): each path as
// spelled, as resolved, and every link on the way that lies within reach.
func (r *resolver) protect() {
	own := r.in.Own
	r.protectPath(own.Config, Protected{Why: "config", Source: own.Config})
	r.protectPath(own.Local, Protected{Why: "local", Source: own.Config})
	r.protectPath(own.Executable, Protected{Why: "executable", Source: own.Executable})
	for _, dir := range own.LocaleDirs {
		r.protectPath(dir, Protected{Why: "locales", Source: own.Executable, Dir: true})
	}
	r.protectPath(own.UserSystemPrompt, Protected{Why: "prompt", Source: own.Config})
	for _, dir := range own.SkillDirs {
		r.protectPath(dir, Protected{Why: "skills", Source: own.Config, Dir: true})
	}
	for _, e := range r.in.Entries {
		r.protectPath(e.Path, Protected{Why: "entry", Source: e.Source})
		r.protectPath(e.RuntimeRoot, Protected{Why: "entry", Source: e.Source, Dir: true})
	}
	r.protectPath(own.StateDir, Protected{Why: "state", Source: own.Config, Dir: true, Hidden: true})

	root := r.e.Workspace.Root
	if root == "" || !r.in.Workspace.ProtectHostTools {
		return
	}
	source := r.in.Workspace.Source
	if git := filepath.Join(root, ".git"); exists(git) && !isDirectory(git) {
		r.protectPath(git, Protected{Why: "host_tool", Source: source, Dir: true})
	}
	for _, tool := range hostTools {
		path := filepath.Join(root, filepath.FromSlash(tool.name))
		r.protectPath(path, Protected{Why: "host_tool", Source: source, Dir: tool.dir, Content: tool.content})
	}
	home, global := globalGitConfigs()
	for _, place := range gitPlaces(root, home, global) {
		resolved, err := resolveExisting(place.path)
		switch {
		case err != nil:
			resolved = place.path // protected as spelled, and where it leads
		case beneath(root, resolved):
			r.problem(fault.PolicyRoot, "hooks_everywhere", source, "path", place.path)
			continue
		}
		if r.writableHere(resolved) || r.writableHere(place.path) {
			r.protectPath(place.path, Protected{Why: "host_tool", Source: source, Dir: place.dir, Content: place.content})
		}
		if !place.dir {
			continue
		}
		for _, target := range linkedFrom(place.path) {
			if target != root && r.writableHere(target) {
				r.protectPath(target, Protected{Why: "host_tool", Source: source})
			}
		}
	}
}

// protectPath adds path to the list as p says.
func (r *resolver) protectPath(path string, p Protected) {
	if path == "" {
		return
	}
	p.Path = filepath.Clean(path)
	r.addProtected(p)
	for _, link := range linksOn(p.Path) {
		if r.writableHere(link) {
			r.addProtected(Protected{Path: link, Why: p.Why, Source: p.Source})
		}
	}
	resolved, err := resolveExisting(p.Path)
	switch {
	case err == nil && resolved != p.Path:
		p.Path = resolved
		r.addProtected(p)
	case err == nil, p.Why == "entry": // reported where it is resolved
	case p.Why == "host_tool" && err.Reason != "encoding":
		// A broken link or an odd file in the workspace is protected as spelled.
		if err.Reason == "dangling" {
			r.protectDangling(err.At, p)
		}
	default:
		r.unresolvable(path, p.Source, err)
	}
}

// protectDangling protects what a link that leads nowhere would name: whoever
// made it would give the link a content.
func (r *resolver) protectDangling(link string, p Protected) {
	target, err := os.Readlink(link)
	if err != nil {
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	p.Dir = p.Dir || link != p.Path // a link on the way was to be a directory
	p.Path = filepath.Clean(target)
	r.addProtected(p)
	if resolved, err := resolveExisting(p.Path); err == nil && resolved != p.Path {
		p.Path = resolved
		r.addProtected(p)
	}
}

// writableHere reports whether path lies in an area that grants write.
func (r *resolver) writableHere(path string) bool {
	return slices.ContainsFunc(r.e.Roots, func(x Root) bool {
		return x.Capability.Has(scope.W) && beneath(path, x.Path)
	})
}

// addProtected appends p unless its path is there already; hidden wins.
func (r *resolver) addProtected(p Protected) {
	for i, q := range r.e.Protected {
		if q.Path == p.Path {
			r.e.Protected[i].Hidden = q.Hidden || p.Hidden
			return
		}
	}
	r.e.Protected = append(r.e.Protected, p)
}
