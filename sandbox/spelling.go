package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"sunaba/fault"
	"sunaba/internal/spelling"
	"sunaba/policy"
	"sunaba/scope"
)

// maxSpellings bounds how many spellings of one name are covered.
const maxSpellings = 64

// respelled returns e with every name that exists and differs from a denied or
// protected one in spelling alone denied or protected as well: mounts go by the
// bytes of a name, and a rule may have been written in others than the file was
// (C-69). What is made under another spelling later is another file.
func respelled(e policy.Effective) (policy.Effective, error) {
	s := speller{listed: map[string][]string{}}
	e.Protected = append([]policy.Protected(nil), e.Protected...)
	for _, p := range e.Protected {
		others, err := s.others(&e, p.Path)
		if err != nil {
			return e, tooManySpellings(err, p.Path, p.Source)
		}
		for _, o := range others {
			q := p
			q.Path = o
			e.Protected = append(e.Protected, q)
		}
	}
	if e.Scope == nil {
		return e, nil
	}
	n := *e.Scope
	n.Deny = append([]scope.Rule(nil), n.Deny...)
	e.Scope = &n
	for _, r := range n.Deny {
		others, err := s.others(&e, r.Target)
		if err != nil {
			return e, tooManySpellings(err, r.Target, r.Source)
		}
		for _, o := range others {
			r.Target = o
			n.Deny = append(n.Deny, r)
		}
	}
	return e, nil
}

func tooManySpellings(err error, path, source string) error {
	return fault.Wrap(err, fault.PlatformUnsupported, "sandbox", "what", "protecting every spelling of a name", "source", source, "path", path)
}

// speller finds spellings; it lists each directory once.
type speller struct{ listed map[string][]string }

// others returns the existing paths that differ from p in spelling alone.
func (s *speller) others(e *policy.Effective, p string) ([]string, error) {
	root := filesRoot(e, p).Path
	if root == "" || root == p {
		return nil, nil
	}
	at := []string{root}
	for name := range strings.SplitSeq(strings.TrimPrefix(p[len(root):], "/"), "/") {
		var next []string
		folded := spelling.Fold(name)
		for _, dir := range at {
			names, err := s.list(dir)
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				if n == name || spelling.Fold(n) == folded {
					next = append(next, path.Join(dir, n))
				}
			}
		}
		if len(next) > maxSpellings {
			return nil, errors.New("too many spellings")
		}
		at = next
	}
	out := at[:0]
	for _, found := range at {
		if found != p {
			out = append(out, found)
		}
	}
	return out, nil
}

// list returns the names in dir; none where there is no directory or where this
// user may not look, and so no command.
func (s *speller) list(dir string) ([]string, error) {
	if names, ok := s.listed[dir]; ok {
		return names, nil
	}
	var names []string
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		f, err := os.Open(dir)
		if err == nil {
			names, err = f.Readdirnames(-1)
			f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	s.listed[dir] = names
	return names, nil
}
