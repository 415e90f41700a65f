package scope

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
)

func rule(target string, p Permission) Rule {
	return Rule{Target: abs(target), Permission: p, Recursive: true}
}

func flat(r Rule) Rule { r.Recursive = false; return r }

func deletable(r Rule) Rule { r.Delete = true; return r }

// The manifest of D0, with its relative targets joined to either base.
//
// Covers: S0-01, S0-03, S0-04, S0-22, S0-23, S0-24
func TestTheDocumentsExample(t *testing.T) {
	example := func(base string) *Scope {
		return compile(t, rules{
			allow: []Rule{rule(base+"/src", Write), rule(base+"/docs", Read)},
			deny:  []Rule{rule(base+"/src/secrets.rs", Write), rule(base+"/src/.env", Read)},
		})
	}
	for _, c := range []struct{ name, base, pwd string }{
		{"relative to the manifest", "/p", "/p/src"},
		{"relative to pwd", "/p/src", "/p/src"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := example(c.base)
			for path, want := range map[string]Permission{
				"/src":               Write,
				"/src/main.rs":       Write,
				"/src/deep/er/x":     Write,
				"/docs/guide.md":     Read,
				"/src/secrets.rs":    Read,
				"/src/.env":          None,
				"/src/.env/x":        None,
				"/src/secrets.rs.go": Write, // names are compared whole
				"/src-archive/x":     None,  // never by prefix (PATH-013)
				"":                   None,
				"/Cargo.toml":        None,
			} {
				if got := s.PermissionAt(abs(c.base + path)); got != want {
					t.Errorf("%s%s: %v, want %v", c.base, path, got, want)
				}
			}
			// Only the manifest's directory as base covers pwd: C-01.
			if got, want := s.IsReadable(abs(c.pwd)), c.base == "/p"; got != want {
				t.Errorf("pwd readable: %v, want %v", got, want)
			}
		})
	}
}

func TestPermissionAt(t *testing.T) {
	cases := []struct {
		name        string
		allow, deny []Rule
		want        map[string]Permission
	}{
		{"no rule, no access", nil, nil, map[string]Permission{"/": None, "/a": None}},
		{"deny alone grants nothing", nil, []Rule{rule("/a", Write)}, map[string]Permission{"/a": None}},
		{"the whole file system", []Rule{rule("/", Read)}, nil, map[string]Permission{"/": Read, "/a/b": Read}},
		{"flat covers itself and its children", []Rule{flat(rule("/a", Write))}, nil,
			map[string]Permission{"/": None, "/a": Write, "/a/b": Write, "/a/b/c": None, "/ab": None}},
		{"flat root", []Rule{flat(rule("/", Read))}, nil, map[string]Permission{"/": Read, "/a": Read, "/a/b": None}},
		{"flat deny leaves the depth", []Rule{rule("/a", Write)}, []Rule{flat(rule("/a", Read))},
			map[string]Permission{"/a": None, "/a/b": None, "/a/b/c": Write}},
		{"a stronger allow inside", []Rule{rule("/a", Read), rule("/a/b", Write)}, nil,
			map[string]Permission{"/a": Read, "/a/x": Read, "/a/b": Write, "/a/b/c": Write}},
		{"a weaker allow inside does not narrow", []Rule{rule("/a", Write), rule("/a/b", Read)}, nil,
			map[string]Permission{"/a/b/c": Write}},
		{"no allow pierces a deny", []Rule{rule("/a", Write), rule("/a/b/c", Write)}, []Rule{rule("/a/b", Read)},
			map[string]Permission{"/a": Write, "/a/b": None, "/a/b/c": None}},
		{"deny write keeps read", []Rule{rule("/a", Write)}, []Rule{rule("/a/b", Write)},
			map[string]Permission{"/a/b": Read, "/a/b/c": Read, "/a/c": Write}},
		{"the lower deny wins", []Rule{rule("/a", Write)}, []Rule{rule("/a/b", Read), rule("/a/b", Write)},
			map[string]Permission{"/a/b": None}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := compile(t, rules{c.allow, c.deny})
			for path, want := range c.want {
				if got := s.PermissionAt(abs(path)); got != want {
					t.Errorf("%s: %v, want %v", path, got, want)
				}
			}
		})
	}
}

// Covers: SD-03, SD-04, FS-04, C-04, C-05
func TestCapabilityAt(t *testing.T) {
	s := compile(t, rules{
		allow: []Rule{rule("/r", Read), rule("/w", Write), deletable(rule("/d", Write))},
		deny:  []Rule{rule("/d/nowrite", Write), rule("/d/noread", Read)},
	})
	for path, want := range map[string]Capability{
		"/r/x":         R | X,
		"/w/x":         R | W | X,
		"/d/x":         R | W | D | X,
		"/d/nowrite/x": R | X,
		"/d/noread/x":  0,
		"/elsewhere":   0,
	} {
		if got := s.CapabilityAt(abs(path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestDenyOnlyLeavesTheRestToOtherLayers(t *testing.T) {
	s, err := DenyOnly([]Rule{rule("/a/b", Write), rule("/a/c", Read)})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Capability{"/": All, "/z/y": All, "/a": All, "/a/b/x": R | X, "/a/c/x": 0} {
		if got := s.CapabilityAt(abs(path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if _, err := DenyOnly([]Rule{{Target: "a", Permission: Read}}); fault.CodeOf(err) != fault.PolicyRuleTarget {
		t.Errorf("a relative target: %v", err)
	}
}

func TestOtherSpellingsAreDenied(t *testing.T) {
	s := compile(t, rules{allow: []Rule{rule("/", Write)}})
	if !s.IsWritable(abs("/a/b")) {
		t.Fatal("the clean spelling is not writable; the cases below show nothing")
	}
	for _, path := range []string{"", "a", "a/b", "./a", abs("/a") + sep, abs("/a") + sep + sep + "b", abs("/a/../b"), abs("/a/./b"), abs("/..")} {
		if got := s.PermissionAt(path); got != None {
			t.Errorf("PermissionAt(%q) = %v", path, got)
		}
		if e := s.Explain(path); e.Allow != nil {
			t.Errorf("Explain(%q) = %+v", path, e)
		}
	}
}

func TestZeroAndNilDeny(t *testing.T) {
	for name, s := range map[string]*Scope{"nil": nil, "zero": {}} {
		path := abs("/a")
		_, beneath := s.DenyBeneath(path)
		if s.PermissionAt(path) != None || s.IsReadable(path) || s.IsWritable(path) || s.CapabilityAt(path) != 0 ||
			beneath || s.Explain(path).Allow != nil {
			t.Errorf("the %s Scope grants something", name)
		}
	}
}

func TestNewKeepsNoAliasOfItsInput(t *testing.T) {
	allow := []Rule{rule("/a", Write)}
	s := compile(t, rules{allow: allow})
	allow[0] = rule("/b", Write)
	if e := s.Explain(abs("/a")); len(e.Allow) != 1 || e.Allow[0].Target != abs("/a") {
		t.Errorf("Explain follows the caller's slice: %+v", e)
	}
}

// Covers: S0-28, S0-36, SD-04
func TestNewRefusesEveryBadRule(t *testing.T) {
	allow := []Rule{
		{Target: "relative", Permission: Read},
		{Target: abs("/a") + sep, Permission: Read},
		{Target: abs("/a/../b"), Permission: Read},
		{Target: "", Permission: Read},
		{Target: abs(strings.Repeat("/a", maxTarget)), Permission: Read},
		{Target: abs("/a")},
		{Target: abs("/a"), Permission: Write + 1},
		deletable(rule("/a", Read)),
	}
	deny := []Rule{{Target: abs("/d")}, deletable(rule("/d", Write))}
	s, err := New(allow, deny)
	if s != nil {
		t.Error("a Scope came with the error")
	}
	var got []fault.Code
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		got = append(got, fault.CodeOf(e))
	}
	want := []fault.Code{
		fault.PolicyRuleTarget, fault.PolicyRuleTarget, fault.PolicyRuleTarget, fault.PolicyRuleTarget, fault.PolicyRuleTarget,
		fault.PolicyRulePermission, fault.PolicyRulePermission, fault.PolicyRuleDelete,
		fault.PolicyRulePermission, fault.PolicyRuleDelete,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if !errors.Is(err, &fault.Error{Code: fault.PolicyRuleTarget}) {
		t.Errorf("errors.Is does not find the first fault in %v", err)
	}
}

// Covers: S0-10, S0-11, S0-12, S0-28, S0-29, S0-35, S0-36, S0-90
func TestRuleAsJSON(t *testing.T) {
	cases := []struct {
		name, text string
		want       Rule
		code       fault.Code // "" and broken: another error
		broken     bool
	}{
		{"recursive by default", `{"target":"/a","permission":"read"}`, Rule{Target: "/a", Permission: Read, Recursive: true}, "", false},
		{"recursive said", `{"target":"/a","permission":"write","recursive":true}`, Rule{Target: "/a", Permission: Write, Recursive: true}, "", false},
		{"flat", `{"target":"/a","permission":"write","recursive":false,"delete":true}`, Rule{Target: "/a", Permission: Write, Delete: true}, "", false},
		{"capital", `{"target":"/a","permission":"Read"}`, Rule{}, fault.PolicyRulePermission, true},
		{"a number", `{"target":"/a","permission":2}`, Rule{}, "", true},
		{"another level", `{"target":"/a","permission":"execute"}`, Rule{}, fault.PolicyRulePermission, true},
		{"an unknown key", `{"target":"/a","permission":"read","recurse":true}`, Rule{}, "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got Rule
			err := json.Unmarshal([]byte(c.text), &got)
			if (err != nil) != c.broken || fault.CodeOf(err) != c.code {
				t.Fatalf("error %v, want code %q", err, c.code)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var again Rule
			if err := json.Unmarshal(text, &again); err != nil || again != got {
				t.Errorf("through %s: %+v, %v", text, again, err)
			}
		})
	}
	if _, err := json.Marshal(Rule{Target: "/a"}); err == nil {
		t.Error("a rule without a level was written")
	}
}

func TestPermissionWords(t *testing.T) {
	for p, word := range map[Permission]string{None: "none", Read: "read", Write: "write", Write + 1: "none"} {
		if got := p.String(); got != word {
			t.Errorf("%d.String() = %q, want %q", p, got, word)
		}
	}
	if !(None < Read && Read < Write) {
		t.Error("the levels are not ordered")
	}
}

func TestExplainOrder(t *testing.T) {
	wide, near := rule("/a", Write), rule("/a/b", Write)
	weak, kept := rule("/a/b", Read), deletable(rule("/a", Write))
	s := compile(t, rules{
		allow: []Rule{weak, wide, near, kept},
		deny:  []Rule{rule("/a", Write), rule("/a/b/c", Write), rule("/a/b", Read), rule("/other", Read)},
	})
	got := s.Explain(abs("/a/b/c"))
	want := Explanation{
		Allow: []Rule{kept, near, wide, weak},
		Deny:  []Rule{rule("/a/b", Read), rule("/a/b/c", Write), rule("/a", Write)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Covers: SD-18
func TestDenyBeneath(t *testing.T) {
	s := compile(t, rules{allow: []Rule{rule("/a", Write)}, deny: []Rule{rule("/a/b/c", Read), rule("/a/z", Write)}})
	for dir, want := range map[string]string{"/": "/a/b/c", "/a": "/a/b/c", "/a/b": "/a/b/c", "/a/b/c": "", "/a/z": "", "/a/bb": "", "/q": ""} {
		got, ok := s.DenyBeneath(abs(dir))
		if ok != (want != "") || ok && got.Target != abs(want) {
			t.Errorf("%s: %q, want %q", dir, got.Target, want)
		}
	}
}
