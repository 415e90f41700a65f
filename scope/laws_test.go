package scope

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func law(t *testing.T, check func(t *rapid.T, rs rules, s *Scope, path string)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		rs := someRules.Draw(t, "rules")
		check(t, rs, compile(t, rs), somePath.Draw(t, "path"))
	})
}

// Covers: S0-13, S0-14, S0-15, S0-16, S0-17, S0-30, S0-38, S0-39, S0-40, S0-41, S0-42, S0-43, S0-66, S0-67, S0-85, SD-03, SD-04, SD-07, NFR-02, C-02, C-03, C-04
func TestScopeAgreesWithTheDocument(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		want := rs.permission(path)
		if got := s.PermissionAt(path); got != want {
			t.Fatalf("PermissionAt(%s) = %v, the document says %v", path, got, want)
		}
		if got := s.IsReadable(path); got != (want >= Read) {
			t.Fatalf("IsReadable(%s) = %v at %v", path, got, want)
		}
		if got := s.IsWritable(path); got != (want >= Write) {
			t.Fatalf("IsWritable(%s) = %v at %v", path, got, want)
		}
		if got, want := s.CapabilityAt(path), rs.capability(path); got != want {
			t.Fatalf("CapabilityAt(%s) = %v, the decision says %v", path, got, want)
		}
	})
}

// Covers: S0-18, S0-85, SD-06
func TestOrderAndRepetitionOfRulesChangeNothing(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		shuffled := rules{slices.Clone(rs.allow), slices.Clone(rs.deny)}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for _, list := range [][]Rule{shuffled.allow, shuffled.deny} {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		twice := rules{slices.Concat(rs.allow, shuffled.allow), slices.Concat(shuffled.deny, rs.deny)}
		want := s.CapabilityAt(path)
		if got := compile(t, shuffled).CapabilityAt(path); got != want {
			t.Fatalf("in another order: %v, was %v", got, want)
		}
		if got := compile(t, twice).CapabilityAt(path); got != want {
			t.Fatalf("every rule twice: %v, was %v", got, want)
		}
	})
}

// Covers: SD-06
func TestAddingARuleIsMonotone(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		before := s.CapabilityAt(path)
		denied := compile(t, rules{rs.allow, append(slices.Clone(rs.deny), denyRule.Draw(t, "deny"))}).CapabilityAt(path)
		if !before.Has(denied) {
			t.Fatalf("one more deny turned %v into %v", before, denied)
		}
		allowed := compile(t, rules{append(slices.Clone(rs.allow), allowRule.Draw(t, "allow")), rs.deny}).CapabilityAt(path)
		if !allowed.Has(before) {
			t.Fatalf("one more allow turned %v into %v", before, allowed)
		}
	})
}

// Covers: SD-18
func TestDenyBeneathFindsTheFirstTarget(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		var want *Rule
		for i, r := range rs.deny {
			beneath := covers(Rule{Target: path, Recursive: true}, r.Target) && r.Target != path
			if beneath && (want == nil || r.Target < want.Target) {
				want = &rs.deny[i]
			}
		}
		got, ok := s.DenyBeneath(path)
		if ok != (want != nil) || ok && got.Target != want.Target {
			t.Fatalf("DenyBeneath(%s) = %+v, %v, want %+v", path, got, ok, want)
		}
	})
}

// Covers: S0-87
func TestAllowBeneath(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		want := slices.ContainsFunc(rs.allow, func(r Rule) bool {
			return r.Target != path && covers(Rule{Target: path, Recursive: true}, r.Target)
		})
		if got := s.AllowBeneath(path); got != want {
			t.Fatalf("AllowBeneath(%s) = %v, want %v", path, got, want)
		}
	})
}

// A Scope gives back the rules it was made of; a Scope of them is the same one.
//
// Covers: S0-06, S0-37
func TestRulesAreGivenBack(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		allow, deny := s.Rules()
		if len(allow) != len(rs.allow) || len(deny) != len(rs.deny) {
			t.Fatalf("%d and %d rules came back, made of %d and %d", len(allow), len(deny), len(rs.allow), len(rs.deny))
		}
		for i := range allow {
			if !slices.Contains(rs.allow, allow[i]) || i > 0 && allow[i-1].Target > allow[i].Target {
				t.Fatalf("%+v", allow)
			}
		}
		again := compile(t, rules{allow, deny})
		if got, want := again.CapabilityAt(path), s.CapabilityAt(path); got != want {
			t.Fatalf("the Scope made of them gives %v, was %v", got, want)
		}
		if len(allow) > 0 { // copies
			allow[0].Permission = None
			if again, _ := s.Rules(); again[0].Permission == None {
				t.Fatal("a caller can change the rules")
			}
		}
	})
	if allow, deny := (*Scope)(nil).Rules(); allow != nil || deny != nil {
		t.Error("a nil Scope has rules")
	}
}

func TestExplainNamesWhatDecides(t *testing.T) {
	law(t, func(t *rapid.T, rs rules, s *Scope, path string) {
		e := s.Explain(path)
		sum := rules{e.Allow, e.Deny}
		if got, want := sum.capability(path), rs.capability(path); got != want {
			t.Fatalf("the explaining rules alone give %v, all give %v", got, want)
		}
		for _, r := range slices.Concat(e.Allow, e.Deny) {
			if !covers(r, path) {
				t.Fatalf("%+v does not cover %s", r, path)
			}
		}
		head := rules{e.Allow[:min(1, len(e.Allow))], e.Deny[:min(1, len(e.Deny))]}
		if got, want := head.permission(path), rs.permission(path); got != want {
			t.Fatalf("the first rules alone give %v, all give %v", got, want)
		}
	})
}
