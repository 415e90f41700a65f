package scopedfs

import (
	"path/filepath"
	"slices"

	"golang.org/x/text/unicode/norm"

	"sunaba/fault"
	"sunaba/internal/spelling"
	"sunaba/scope"
)

// FromScope returns Rules for a Scope that stands alone, as in Pod: everything
// is visible, and what no rule allows is out of scope. A nil s denies
// everything. A deny holds for every spelling that looks the same, and, on
// volumes that fold case, for every case; an allow never does (C-66).
func FromScope(s *scope.Scope) Rules {
	r := scoped{Scope: s, composed: respelled(s, norm.NFC.String), folded: respelled(s, spelling.Fold)}
	if allow, _ := s.Rules(); len(allow) > 0 {
		r.allows = allow[0].Source
	}
	return r
}

// respelled is the denies of s alone, on names as spell maps them.
func respelled(s *scope.Scope, spell func(string) string) *scope.Scope {
	_, denies := s.Rules()
	for i := range denies {
		denies[i].Target = spell(denies[i].Target)
	}
	// Cannot fail: spell leaves what is absolute and clean as it is. If it did,
	// the nil Scope would deny everything.
	compiled, _ := scope.DenyOnly(denies)
	return compiled
}

type scoped struct {
	*scope.Scope
	composed, folded *scope.Scope // the denies alone
	allows           string       // where the allow rules begin
}

func (s scoped) Locate(string) scope.Place { return scope.Within }

// LeadsOn lets a search pass through directories above what is allowed.
func (s scoped) LeadsOn(dir string) bool { return s.AllowBeneath(dir) }

// CapabilityAt holds a deny against every spelling that looks like its target.
func (s scoped) CapabilityAt(path string) scope.Capability {
	c := s.Scope.CapabilityAt(path)
	if !isASCII(path) {
		c &= s.composed.CapabilityAt(norm.NFC.String(path))
	}
	return c
}

// CapabilityFolded holds a deny against every case of its target, and against
// what may be the short name of it.
func (s scoped) CapabilityFolded(path string) scope.Capability {
	if _, hidden := s.shortOf(path); hidden {
		return 0
	}
	return s.CapabilityAt(path) & s.folded.CapabilityAt(spelling.Fold(path))
}

// shortOf returns a deny rule whose target path may be the short name of.
func (s scoped) shortOf(path string) (rule scope.Rule, hidden bool) {
	if dir, ok := spelling.Shortened(path, s.named); ok {
		return s.folded.DenyBeneath(spelling.Fold(dir))
	}
	return scope.Rule{}, false
}

// named reports whether a rule spells path out: its target, resolved, is there
// or beneath.
func (s scoped) named(path string) bool {
	found := s.Explain(path)
	isPath := func(r scope.Rule) bool { return r.Target == path }
	_, denied := s.DenyBeneath(path)
	return denied || s.AllowBeneath(path) || slices.ContainsFunc(found.Allow, isPath) || slices.ContainsFunc(found.Deny, isPath)
}

func (s scoped) Why(path string, lacking scope.Capability) fault.Args {
	why := fault.Args{"path": path, "rule": "scope.allow", "source": s.allows}
	found := s.Explain(path)
	if len(found.Deny) == 0 { // perhaps one by another spelling
		found.Deny = s.composed.Explain(norm.NFC.String(path)).Deny
	}
	if len(found.Deny) == 0 && len(found.Allow) > 0 && s.Scope.CapabilityAt(path).Has(lacking) {
		found.Deny = s.folded.Explain(spelling.Fold(path)).Deny
		if rule, hidden := s.shortOf(path); hidden && len(found.Deny) == 0 {
			found.Deny = []scope.Rule{rule}
		}
	}
	rule, kind := scope.Rule{}, ""
	switch {
	case len(found.Deny) > 0:
		rule, kind = found.Deny[0], "scope.deny"
	case len(found.Allow) > 0:
		rule, kind = found.Allow[0], "scope.allow"
	default:
		return why
	}
	why["rule"] = kind + " (" + rule.Permission.String() + " " + filepath.ToSlash(rule.Target) + ")"
	why["source"] = rule.Source
	return why
}

func (s scoped) DeniedBeneath(dir string) (target string, denied bool) {
	rule, denied := s.DenyBeneath(dir)
	if !denied && !isASCII(dir) {
		rule, denied = s.composed.DenyBeneath(norm.NFC.String(dir))
	}
	return rule.Target, denied
}

// DeniedBeneathFolded is DeniedBeneath for every case of dir.
func (s scoped) DeniedBeneathFolded(dir string) (target string, denied bool) {
	rule, denied := s.folded.DenyBeneath(spelling.Fold(dir))
	return rule.Target, denied
}
