package tool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/suggest"
	"sunaba/policy"
)

// shells are the command interpreters that need approval wherever they lie
// outside the workspace (PRC-06, C-24).
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "ash", "cmd", "powershell", "pwsh"}

// isShell decides on the name of a resolved path, without version.
func isShell(path string) bool {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	return slices.Contains(shells, strings.TrimRight(name, "0123456789.-"))
}

// image is an executable that may be started: the handle that was judged.
type image struct {
	file  *os.File
	path  string // resolved
	argv0 string
}

// openImage classifies what name asks to start, and opens it: an approved
// entry by its alias or path, a component of an approved runtime, or an
// artifact of the workspace. dir is where relative paths start. There is no
// search path, so nothing is started because it lies somewhere.
func (e *Env) openImage(name, dir string) (image, error) {
	if !hasSlash(name) {
		for _, entry := range e.Policy.Entries {
			if entry.Alias == name {
				return openEntry(entry)
			}
		}
		return image{}, e.unknownAlias(name, dir)
	}
	path := filepath.Clean(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	runtime := false
	for _, entry := range e.Policy.Entries {
		if path == entry.Path || path == entry.Logical || resolved == entry.Path {
			return openEntry(entry)
		}
		runtime = runtime || within(resolved, entry.RuntimeRoot)
	}
	shell := isShell(resolved)
	if runtime && !e.inside(resolved) {
		if shell {
			return image{}, fault.New(fault.ExecShellNotApproved, RunCommand, "name", clip(name))
		}
		f, err := openNoLinks(resolved)
		if err != nil {
			return image{}, fault.Wrap(err, fault.FSNotFound, RunCommand, "path", clip(name))
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			f.Close()
			return image{}, fault.Wrap(err, fault.ExecNotApproved, RunCommand, "name", clip(name), "known", e.aliases())
		}
		return image{file: f, path: resolved, argv0: path}, nil
	}
	f, p, err := e.FS.OpenExec(path)
	if errors.Is(err, &fault.Error{Code: fault.FSOutsideWorkspace}) {
		if shell {
			return image{}, fault.Wrap(err, fault.ExecShellNotApproved, RunCommand, "name", clip(name))
		}
		return image{}, fault.Wrap(err, fault.ExecNotApproved, RunCommand, "name", clip(name), "known", e.aliases())
	}
	if err != nil {
		return image{}, err
	}
	return image{file: f, path: p.Canonical, argv0: path}, nil
}

func hasSlash(name string) bool {
	return strings.ContainsAny(name, "/"+string(filepath.Separator))
}

// inside reports whether path lies in the workspace or a mount.
func (e *Env) inside(path string) bool {
	for _, r := range e.Policy.Roots {
		if (r.Kind == policy.RootWorkspace || r.Kind == policy.RootMount) && within(path, r.Path) {
			return true
		}
	}
	return false
}

// openEntry opens an Approved Entry Executable: the bytes that were approved
// are the bytes that run (C-82, SD-34).
func openEntry(entry policy.Entry) (image, error) {
	f, err := entry.Open()
	if err != nil {
		return image{}, err
	}
	argv0 := entry.Path
	if entry.Logical != "" {
		if _, err := os.Stat(entry.Logical); err == nil {
			argv0 = entry.Logical
		}
	}
	return image{file: f, path: entry.Path, argv0: argv0}, nil
}

// aliases lists what may be started by name.
func (e *Env) aliases() string {
	names := make([]string, len(e.Policy.Entries))
	for i, entry := range e.Policy.Entries {
		names[i] = entry.Alias
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (e *Env) unknownAlias(name, dir string) error {
	known := e.aliases()
	pairs := []string{"name", clip(name), "known", known}
	switch near := suggest.Nearest(name, strings.Split(known, ", ")); {
	case isShell(name):
		pairs = append(pairs, Case, "shell")
	case e.isFile(filepath.Join(dir, name)):
		pairs = append(pairs, Case, "local")
	case strings.ContainsAny(name, " \t"):
		pairs = append(pairs, Case, "words")
	case near != "":
		pairs = append(pairs, Case, "near", "nearest", near)
	case known == "":
		pairs = append(pairs, Case, "none")
	}
	return fault.New(fault.ExecUnknownAlias, RunCommand, pairs...)
}

func (e *Env) isFile(path string) bool {
	info, _, err := e.FS.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// allows reports whether the extra filter of the workspace lets name start: one
// that is listed as it is, the path of an approved entry that is, or that of a
// listed name where nothing but the system and approved runtimes put programs.
func (e *Env) allows(name string) bool {
	list := e.Policy.AllowedCommands
	if list == nil || slices.Contains(list, name) {
		return true
	}
	if !filepath.IsAbs(name) {
		return false
	}
	path := filepath.Clean(name)
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	listed := func(p string) bool { return slices.Contains(list, filepath.Base(p)) }
	for _, entry := range e.Policy.Entries {
		switch {
		case path == entry.Path || path == entry.Logical || resolved == entry.Path:
			return listed(path) || slices.Contains(list, entry.Alias) || slices.Contains(list, entry.Path)
		case within(resolved, entry.RuntimeRoot) && !e.inside(resolved) && listed(path):
			return true
		}
	}
	return within(resolved, "/usr") && !e.inside(resolved) && listed(path)
}

func (e *Env) notAllowed(name string) error {
	return fault.New(fault.ExecNotAllowed, RunCommand, "name", clip(name), "allowed", strings.Join(e.Policy.AllowedCommands, ", "))
}

// shellFor returns the alias of the shell that runs command (C-25). With a
// list of allowed commands that names no shell, command must be one plain call
// of a listed one (SD-20).
func (e *Env) shellFor(command string) (alias string, err error) {
	i := slices.IndexFunc(e.Policy.Entries, func(entry policy.Entry) bool { return entry.Shell })
	if i < 0 {
		return "", fault.New(fault.ExecShellNotApproved, RunCommand, "name", "command", Case, "none", "known", e.aliases())
	}
	shell := e.Policy.Entries[i]
	listed := func(entry policy.Entry) bool {
		return entry.Shell && (e.allows(entry.Alias) || e.allows(entry.Path))
	}
	if e.Policy.AllowedCommands == nil || slices.ContainsFunc(e.Policy.Entries, listed) {
		return shell.Alias, nil
	}
	word := command
	if words := strings.Fields(command); len(words) > 0 {
		word = words[0]
	}
	switch {
	case strings.ContainsFunc(command, isShellSyntax), strings.Contains(word, "="): // VAR=value before the name
		return "", fault.New(fault.ExecNotAllowed, RunCommand, Case, "shell_syntax", "name", clip(word),
			"allowed", strings.Join(e.Policy.AllowedCommands, ", "))
	case !e.allows(word):
		return "", e.notAllowed(word)
	}
	return shell.Alias, nil
}

// isShellSyntax reports whether a shell may read more than a plain character
// in r. Letters beyond ASCII are plain, quotes are too: what they could hide
// is syntax by itself.
func isShellSyntax(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r > 0x7f:
		return false
	}
	return !strings.ContainsRune(" \t_-./:@%+,=^'\"", r)
}
