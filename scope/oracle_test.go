package scope

import (
	"path/filepath"
	"strings"

	"pgregory.net/rapid"
)

// rules is a Scope as a document states it: two lists, read rule by rule.
type rules struct{ allow, deny []Rule }

// covers reads S0-30 and SD-07 word for word.
func covers(r Rule, path string) bool {
	if path == r.Target {
		return true
	}
	if r.Recursive {
		return strings.HasPrefix(path, strings.TrimSuffix(r.Target, sep)+sep)
	}
	return filepath.Dir(path) == r.Target
}

// permission reads S0-41..43 step by step.
func (rs rules) permission(path string) Permission {
	level := None
	for _, r := range rs.allow {
		if covers(r, path) && r.Permission > level {
			level = r.Permission
		}
	}
	if level == None {
		return None
	}
	lowest := Write + 1
	for _, r := range rs.deny {
		if covers(r, path) && r.Permission < lowest {
			lowest = r.Permission
		}
	}
	if cap := lowest - 1; level > cap {
		return cap
	}
	return level
}

// capability reads C-04: start from all rights another layer might grant.
func (rs rules) capability(path string) Capability {
	var c Capability
	for _, r := range rs.allow {
		if !covers(r, path) {
			continue
		}
		c |= R | X
		if r.Permission == Write {
			c |= W
		}
		if r.Delete {
			c |= D
		}
	}
	for _, r := range rs.deny {
		if !covers(r, path) {
			continue
		}
		if r.Permission == Write {
			c &^= W | D
		} else {
			c = 0
		}
	}
	return c
}

const sep = string(filepath.Separator)

// abs turns the slash paths of the tests into absolute ones of this system.
func abs(path string) string {
	if filepath.VolumeName(`C:\`) != "" {
		return `C:` + filepath.FromSlash(path)
	}
	return path
}

var (
	level    = rapid.SampledFrom([]Permission{Read, Write})
	somePath = rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 5).Draw(t, "names")
		return abs("/" + strings.Join(names, "/"))
	})
	denyRule = rapid.Custom(func(t *rapid.T) Rule {
		return Rule{Target: somePath.Draw(t, "target"), Permission: level.Draw(t, "level"), Recursive: rapid.Bool().Draw(t, "recursive")}
	})
	allowRule = rapid.Custom(func(t *rapid.T) Rule {
		r := denyRule.Draw(t, "rule")
		r.Delete = r.Permission == Write && rapid.Bool().Draw(t, "delete")
		return r
	})
	someRules = rapid.Custom(func(t *rapid.T) rules {
		return rules{rapid.SliceOfN(allowRule, 0, 6).Draw(t, "allow"), rapid.SliceOfN(denyRule, 0, 5).Draw(t, "deny")}
	})
)

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func compile(t failer, rs rules) *Scope {
	t.Helper()
	s, err := New(rs.allow, rs.deny)
	if err != nil {
		t.Fatalf("New(%+v): %v", rs, err)
	}
	return s
}
