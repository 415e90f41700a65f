package policy

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// toolFolders hold what editors, agents and git's helpers execute or obey,
// whatever its name.
var toolFolders = []string{".vscode", ".idea", ".claude", ".husky", ".githooks"}

// gitSettings are the files of a git directory that name programs or another
// place for them.
var gitSettings = []string{"config", "config.worktree", "commondir", "gitdir"}

// IsHostTool reports whether a file at the slash-separated path rel, beneath a
// workspace or mount, is one that programs on the host execute or obey when
// they are used there (C-85): hooks and configuration of git, also of nested
// repositories, submodules and bare ones, and settings of editors and agents.
// mode is the file's own; isGit tells of a directory, by its path like rel,
// whether it has the parts of a git directory.
func IsHostTool(rel string, mode fs.FileMode, isGit func(dir string) bool) bool {
	dir, name := path.Split(rel)
	dir = strings.Trim(dir, "/")
	parents := strings.Split(dir, "/")
	if slices.ContainsFunc(parents, func(p string) bool { return slices.Contains(toolFolders, p) }) {
		return true
	}
	switch {
	case name == ".envrc", name == ".mcp.json", name == "lefthook.yml", name == ".pre-commit-config.yaml":
		return true
	case name == ".git", slices.Contains(toolFolders, name): // a link or, for git, a file that names another place
		return !mode.IsDir()
	case slices.Contains(gitSettings, name):
		return inGit(parents, isGit, dir)
	}
	above, last := path.Split(dir)
	above = strings.Trim(above, "/")
	return last == "hooks" && !strings.HasSuffix(name, ".sample") && inGit(parents[:len(parents)-1], isGit, above)
}

// IsToolFolder reports whether a directory at rel is one of those whose files
// are host tools because they lie in it: whoever moves one into its place makes
// old files into host tools.
func IsToolFolder(rel string, isGit func(dir string) bool) bool {
	dir, name := path.Split(rel)
	dir = strings.Trim(dir, "/")
	return slices.Contains(toolFolders, name) || named(name) ||
		name == "hooks" && inGit(strings.Split(dir, "/"), isGit, dir) || isGit(rel)
}

// inGit reports whether a directory with those parents is a git directory or one
// within that has settings and hooks of its own: of a submodule or a work tree.
func inGit(parents []string, isGit func(dir string) bool, dir string) bool {
	for i, p := range parents {
		if !named(p) {
			continue
		}
		within := parents[i+1:]
		return len(within) == 0 || within[0] == "modules" || within[0] == "worktrees" || isGit(dir)
	}
	return isGit(dir)
}

// named reports whether name is that of a git directory.
func named(name string) bool { return strings.HasSuffix(name, ".git") }
