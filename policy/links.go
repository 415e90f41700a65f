package policy

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxLinks is how many links one path may pass through, as in the kernel.
const maxLinks = 40

// linkError says why a path could not be resolved. Reason is a word of the
// locale keys policy.why.unresolvable_*; At is the component where it happened.
type linkError struct{ Reason, At string }

func (e *linkError) Error() string { return e.Reason + " at " + e.At }

// resolve returns path with every link in it replaced (FS-02). Every component
// must exist.
func resolve(path string) (string, *linkError) {
	resolved, rest, err := walk(path, nil)
	if err == nil && rest != "" {
		err = &linkError{"missing", filepath.Join(resolved, strings.SplitN(rest, separator, 2)[0])}
	}
	if err != nil {
		return "", err
	}
	return resolved, nil
}

// resolveExisting is resolve for a path whose end may not exist yet: what
// exists is resolved, the rest is kept as spelled.
func resolveExisting(path string) (string, *linkError) {
	resolved, rest, err := walk(path, nil)
	if err != nil {
		return "", err
	}
	return filepath.Join(resolved, rest), nil
}

// linksOn returns where the links lie that path passes through.
func linksOn(path string) []string {
	var links []string
	_, _, _ = walk(path, func(link string) { links = append(links, link) }) // what failed has been reported
	return links
}

const separator = string(filepath.Separator)

// walk resolves as much of path as exists and returns the rest as spelled. A
// link whose target does not exist is an error, never a missing rest: the rest
// would then lie somewhere else than it seems to. Met, when not nil, is called
// with the place of each link.
//
// A path that is no UTF-8 is an error too: the policy travels as JSON, which
// would make another path of it.
func walk(path string, met func(link string)) (resolved, rest string, err *linkError) {
	if !utf8.ValidString(path) {
		return "", "", &linkError{"encoding", path}
	}
	volume := filepath.VolumeName(path)
	resolved = volume + separator
	rest = strings.TrimLeft(path[len(volume):], separator)

	// A component with at least spelled bytes after it comes from a link's
	// target, not from path itself.
	spelled, lastLink := math.MaxInt, ""
	links, seen := 0, map[string]bool{}
	for rest != "" {
		name, tail, _ := strings.Cut(rest, separator)
		switch name {
		case "", ".":
			rest = tail
			continue
		case "..": // only within a link's target
			resolved, rest = filepath.Dir(resolved), tail
			continue
		}
		next := filepath.Join(resolved, name)
		info, statErr := os.Lstat(next)
		switch {
		case errors.Is(statErr, fs.ErrNotExist) && len(tail) >= spelled:
			return "", "", &linkError{"dangling", lastLink}
		case errors.Is(statErr, fs.ErrNotExist):
			return resolved, rest, nil
		case errors.Is(statErr, fs.ErrPermission):
			return "", "", &linkError{"permission", next}
		case statErr != nil:
			return "", "", &linkError{"unreadable", next}
		case info.Mode()&fs.ModeSymlink == 0:
			if tail != "" && !info.IsDir() {
				return "", "", &linkError{"not_directory", next}
			}
			resolved, rest = next, tail
			continue
		}
		target, readErr := os.Readlink(next)
		switch {
		case readErr != nil:
			return "", "", &linkError{"unreadable", next}
		case !utf8.ValidString(target):
			return "", "", &linkError{"encoding", next}
		}
		step := next + "\x00" + tail
		if links++; links > maxLinks || seen[step] {
			return "", "", &linkError{"cycle", next}
		}
		seen[step] = true
		if met != nil {
			met(next)
		}
		if len(tail) < spelled {
			spelled, lastLink = len(tail), next
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			resolved, target = volume+separator, target[len(volume):]
		}
		rest = strings.TrimLeft(target+separator+tail, separator)
	}
	return resolved, "", nil
}
