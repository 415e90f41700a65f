package tool

import (
	"errors"
	"path/filepath"
	"strings"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// blockedTail is how much of the end of an output is looked at for refusals.
const blockedTail = 8 << 10

// What programs print when the system says no, in the language they run in.
var (
	refusals = pattern.Lazy(`(?i)permission denied|read-only file system|operation not permitted|no such file or directory|(?:directory )?nonexistent`)
	offline  = pattern.Lazy(`(?i)network is (?:unreachable|down)|could not resolve|couldn't resolve|name resolution|no such host|name or service not known`)
	removal  = pattern.Lazy(`(?i)remov|unlink|delet|renam|\bmov`)
	quotes   = pattern.Lazy("'([^']+)'|‘([^’]+)’|\"([^\"]+)\"|`([^'`]+)['`]")
)

// blocked finds out what the sandbox refused to a command that failed, so that
// the model does not take it for a mistake of its own: the operation, "" for
// none, and the path. A program's words only say where to look; the policy
// decides. What a file's mode or absence alone explains is none.
func (e *Env) blocked(c sandbox.Capture, dir string) (operation, path string) {
	end := append(c.Head[:len(c.Head):len(c.Head)], c.Tail...)
	end = end[max(0, len(end)-blockedTail):]
	for line := range strings.Lines(string(end)) {
		line = strings.TrimRight(line, "\r\n")
		if offline().MatchString(line) && e.Policy.Network.Mode != "restricted" {
			return "network", ""
		}
		at := refusals().FindStringIndex(line)
		if at == nil {
			continue
		}
		said := strings.ToLower(line[at[0]:at[1]])
		for _, named := range namedPaths(line, line[:at[0]]) {
			if !filepath.IsAbs(named) {
				named = filepath.Join(dir, named)
			}
			named = filepath.Clean(named)
			if operation := e.lacks(named, said, removal().MatchString(line)); operation != "" {
				return operation, named
			}
		}
	}
	return "", ""
}

// namedPaths returns what of a message may be the path it is about: everything
// in quotes, else the last word before the system's own words.
func namedPaths(line, before string) []string {
	var named []string
	for _, m := range quotes().FindAllStringSubmatch(line, -1) {
		named = append(named, m[1]+m[2]+m[3]+m[4]) // exactly one is not empty
	}
	if named != nil {
		return named
	}
	before = strings.TrimRight(before, ": \t")
	last := before[strings.LastIndex(before, ": ")+1:]
	words := strings.Fields(last)
	if len(words) == 0 {
		return nil
	}
	return []string{words[len(words)-1]}
}

// lacks returns the operation on path that the policy does not grant and that
// therefore failed with the words said, "" when the policy explains nothing.
func (e *Env) lacks(path, said string, removing bool) string {
	absent := said == "no such file or directory" || strings.HasSuffix(said, "nonexistent")
	readOnly := said == "read-only file system"
	switch err := e.FS.Allows(path, scope.R); {
	case errors.Is(err, &fault.Error{Code: fault.FSOutsideWorkspace}):
		switch {
		case readOnly:
			return "write"
		case e.visible(path): // there it is the system's own doing
			return ""
		}
		return "access"
	case errors.Is(err, &fault.Error{Code: fault.FSOutOfScope}):
		return "read"
	case err != nil || absent:
		return ""
	}
	if removing && e.FS.Allows(path, scope.R|scope.D) != nil {
		return "delete"
	}
	info, _, err := e.FS.Stat(path)
	if err == nil && info.Mode().IsRegular() {
		f, _, err := e.FS.OpenFile(path)
		if err != nil {
			return "" // its mode
		}
		f.Close()
	}
	switch {
	case e.FS.Allows(path, scope.R|scope.W) != nil:
		return "write"
	case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && e.FS.Allows(path, scope.R|scope.X) != nil:
		return "execute"
	}
	return ""
}

// visible reports whether a command sees path although no file tool reaches it.
func (e *Env) visible(path string) bool {
	for _, r := range e.Policy.Roots {
		if (r.Kind == policy.RootRuntime || r.Kind == policy.RootExecutable) && within(path, r.Path) {
			return true
		}
	}
	for _, own := range []string{"/usr", "/bin", "/lib", "/lib64", "/tmp", "/proc", "/dev", "/sys"} {
		if within(path, own) {
			return true
		}
	}
	return false
}
