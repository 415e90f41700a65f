package scope

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzMatching: for any rules and any path, however it is spelled, the index
// says what the document says read rule by rule; a path that is not absolute
// and clean is covered by none. Each line of text is a rule: a letter of
// rwRWdD (upper case: not recursive; d, D: write with delete), "-" before a
// deny, then the target.
func FuzzMatching(f *testing.F) {
	for _, seed := range [][2]string{
		{"w/p/src\nr/p/docs\n-w/p/src/s\n-r/p/src/.env", "/p/src/s"},
		{"r/\n-R/a", "/a/b"}, {"D/a\nW/a/b", "/a/b/c"}, {"w/a", "/ab"}, {"r/a", "/a/"}, {"r/a", "/a/../a"}, {"r/\xff", "/\xff"}, {"", "/"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		var rs rules
		for line := range strings.SplitSeq(text, "\n") {
			line, deny := strings.CutPrefix(line, "-")
			if line == "" || !strings.ContainsRune("rwRWdD", rune(line[0])) {
				return
			}
			r := Rule{Target: abs(line[1:]), Permission: Write, Recursive: strings.Contains("rwd", line[:1]), Delete: !deny && strings.ContainsAny(line[:1], "dD")}
			if strings.ContainsAny(line[:1], "rR") {
				r.Permission = Read
			}
			if deny {
				rs.deny = append(rs.deny, r)
			} else {
				rs.allow = append(rs.allow, r)
			}
		}
		s, err := New(rs.allow, rs.deny)
		if err != nil {
			for _, r := range append(rs.allow, rs.deny...) {
				if !filepath.IsAbs(r.Target) || filepath.Clean(r.Target) != r.Target {
					return // refused for a reason
				}
			}
			t.Fatalf("%+v refused: %v", rs, err)
		}
		path = abs(path)
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			if got := s.CapabilityAt(path); got != 0 {
				t.Fatalf("%q, which is not clean, has %v", path, got)
			}
			return
		}
		if got, want := s.CapabilityAt(path), rs.capability(path); got != want {
			t.Fatalf("%+v on %q: %v, the document says %v", rs, path, got, want)
		}
		if got, want := s.PermissionAt(path), rs.permission(path); got != want {
			t.Fatalf("%+v on %q: %v, the document says %v", rs, path, got, want)
		}
	})
}
