package policy

import (
	"os"
	"path/filepath"
	"strings"
)

// Bounds of looking for configurations that others include.
const (
	maxGitIncludes = 8   // one in the other
	maxGitConfigs  = 128 // all together
)

// gitPlace is what git executes or obeys when it is used in a work tree.
type gitPlace struct {
	path    string
	dir     bool
	content string // of a placeholder
}

// gitPlaces finds where git looks for hooks and configuration when it is used in
// root, wherever these lie: in the directory that a .git file names, in the one
// that work trees share, at core.hooksPath and core.fsmonitor, in files that a
// configuration includes. global are the configurations of the user and the
// machine, with the user's home.
func gitPlaces(root, home string, global []string) []gitPlace {
	git, ok := gitDirectory(root)
	if !ok {
		return nil
	}
	common := git
	if text, err := readShort(filepath.Join(git, "commondir")); err == nil {
		common = from(git, strings.TrimRight(text, "\r\n"))
	}
	g := gitSearch{root: root, home: home, found: []gitPlace{
		{path: filepath.Join(common, "hooks"), dir: true},
		{path: filepath.Join(common, "config")},
		{path: filepath.Join(git, "config.worktree")},
		{path: filepath.Join(git, "commondir"), content: ".\n"},
	}}
	for _, config := range append([]string{filepath.Join(common, "config"), filepath.Join(git, "config.worktree")}, global...) {
		g.read(config, 0)
	}
	return g.found
}

// gitDirectory returns where the repository of a work tree is.
func gitDirectory(root string) (string, bool) {
	path := filepath.Join(root, ".git")
	if isDirectory(path) {
		return path, true
	}
	text, err := readShort(path)
	if err != nil {
		return "", false
	}
	place, ok := strings.CutPrefix(text, "gitdir:")
	if !ok {
		return "", false
	}
	return from(root, strings.Trim(place, " \t\r\n")), true
}

// gitSearch collects places.
type gitSearch struct {
	root, home string
	configs    int
	found      []gitPlace
}

func (g *gitSearch) read(config string, depth int) {
	if g.configs++; depth > maxGitIncludes || g.configs > maxGitConfigs {
		return
	}
	for _, s := range readGitConfig(config) {
		value := s.value
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			if g.home == "" {
				continue
			}
			value = filepath.Join(g.home, rest)
		}
		switch {
		case value == "":
		case s.key == "core.hookspath":
			g.found = append(g.found, gitPlace{path: helpersOf(from(g.root, value)), dir: true})
		case s.key == "core.fsmonitor" && strings.ContainsRune(value, '/'):
			g.found = append(g.found, gitPlace{path: from(g.root, value)})
		case s.key == "include.path", strings.HasPrefix(s.key, "includeif.") && strings.HasSuffix(s.key, ".path"):
			included := from(filepath.Dir(config), value)
			g.found = append(g.found, gitPlace{path: included})
			g.read(included, depth+1)
		}
	}
}

// helpersOf widens a directory of hooks to that of the helper whose hooks call
// what lies beside them.
func helpersOf(hooks string) string {
	for dir := hooks; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if name := filepath.Base(dir); name == ".husky" || name == ".githooks" {
			return dir
		}
	}
	if filepath.Base(hooks) == "_" { // husky's, in another place
		return filepath.Dir(hooks)
	}
	return hooks
}

// linkedFrom returns where links in a directory of hooks lead: what is started is
// the file there.
func linkedFrom(hooks string) []string {
	const most = 1000
	f, err := os.Open(hooks)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(most)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(filepath.Join(hooks, e.Name())); err == nil {
			out = append(out, target)
		}
	}
	return out
}

// from returns path, starting at dir unless it is absolute.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readShort reads a small regular file.
func readShort(path string) (string, error) {
	const most = 8 << 10
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", os.ErrInvalid
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// globalGitConfigs are the configurations that hold in every repository of this
// user, as far as the environment of git does not name others.
func globalGitConfigs() (home string, paths []string) {
	paths = []string{"/etc/gitconfig"}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", paths
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return home, append(paths, filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig"))
}
