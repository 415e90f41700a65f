package policy

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// IsHostTool reports whether a file at the slash-separated path rel, beneath a
// workspace or mount, is one that programs on the host execute or obey when
// they are used there (C-85): hooks and configuration of git, also of nested
// repositories, and settings of editors and agents. mode is the file's own.
func IsHostTool(rel string, mode fs.FileMode) bool {
	dir, name := path.Split(rel)
	parents := strings.Split(strings.Trim(dir, "/"), "/")
	for _, folder := range []string{".vscode", ".idea", ".claude"} {
		if slices.Contains(parents, folder) {
			return true
		}
	}
	switch name {
	case ".envrc", ".mcp.json":
		return true
	case ".vscode", ".idea", ".claude", ".git": // a link or, for git, a file that names another place
		return !mode.IsDir()
	case "config", "config.worktree", "commondir":
		return parents[len(parents)-1] == ".git"
	}
	n := len(parents)
	inHooks := n >= 2 && parents[n-2] == ".git" && parents[n-1] == "hooks"
	return inHooks && !strings.HasSuffix(name, ".sample")
}
