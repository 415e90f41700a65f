package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/scope"
)

// sample is a development policy with one of everything.
func sample() *Effective {
	return &Effective{
		Profile: "development",
		Roots: []Root{
			{Path: "/w/p", Logical: "/home/me/p", Kind: RootWorkspace, Capability: scope.All, Source: "agent.yaml:3"},
			{Path: "/m/ro", Logical: "/m/ro", Kind: RootMount, Capability: scope.R, Source: "agent.yaml:10"},
			{Path: "/m/rw", Logical: "/home/me/p/data", Kind: RootMount, Capability: scope.R | scope.W, Source: "agent.yaml:11"},
			{Path: "/m/rwd", Logical: "/m/rwd", Kind: RootMount, Capability: scope.R | scope.W | scope.D, Source: "agent.yaml:12"},
			{Path: "/opt/py", Logical: "/opt/python", Kind: RootRuntime, Capability: scope.All, Source: "agent.yaml:20"},
			{Path: "/w/p/.venv", Logical: "/w/p/.venv", Kind: RootRuntime, Capability: scope.All, Source: "agent.yaml:21"},
			{Path: "/usr/bin/git", Logical: "/usr/bin/git", Kind: RootExecutable, Capability: scope.R | scope.X, Source: "agent.yaml:22"},
		},
		Protected: []Protected{
			{Path: "/w/p/agent.yaml", Why: "config", Source: "agent.yaml:1"},
			{Path: "/w/p/.git/hooks", Why: "host_tool", Source: "agent.yaml:4"},
			{Path: "/w/p/.venv", Why: "entry", Source: "agent.yaml:21"},
			{Path: "/w/p/state", Hidden: true, Why: "state", Source: ""},
		},
	}
}

func compiled(t *testing.T, e *Effective) *Rules {
	t.Helper()
	r, err := e.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Covers: S1-165, S1-166, S1-167, S1-168, FS-01, FS-08b, FS-09a, FS-09b
func TestCapabilityAt(t *testing.T) {
	r := compiled(t, sample())
	for path, want := range map[string]string{
		"/w/p":                 "RWDX",
		"/w/p/a/b":             "RWDX",
		"/w/p-archive/x":       "-", // never a byte prefix
		"/w":                   "-",
		"/":                    "-",
		"/m/ro/x":              "R",
		"/m/rw/x":              "RW",
		"/m/rwd/x":             "RWD",
		"/m/rwdx":              "-",
		"/opt/py/bin/python3":  "RX",
		"/usr/bin/git":         "RX",
		"/usr/bin/git2":        "-",
		"/w/p/agent.yaml":      "RX",
		"/w/p/agent.yaml/x":    "RX",
		"/w/p/agent.yaml.bak":  "RWDX",
		"/w/p/.git":            "RWDX",
		"/w/p/.git/hooks":      "RX",
		"/w/p/.git/hooks/pre":  "RX",
		"/w/p/.venv/bin/pip":   "RX",
		"/w/p/state":           "-",
		"/w/p/state/audit.log": "-",
		"/etc/passwd":          "-",
		"relative":             "-",
		"":                     "-",
	} {
		if got := r.CapabilityAt(path).String(); got != want {
			t.Errorf("CapabilityAt(%q) = %s, want %s", path, got, want)
		}
	}
}

// Covers: SD-01, SD-03, SD-04
func TestScopeNarrows(t *testing.T) {
	allow := func(target string, level scope.Permission, recursive, del bool) scope.Rule {
		return scope.Rule{Target: target, Permission: level, Recursive: recursive, Delete: del, Source: "agent.yaml:30"}
	}
	deny := func(target string, level scope.Permission) scope.Rule {
		return scope.Rule{Target: target, Permission: level, Recursive: true, Source: "agent.yaml:40"}
	}
	denies := []scope.Rule{deny("/w/p/sec", scope.Read), deny("/w/p/gen", scope.Write), deny("/opt/py/secret", scope.Read)}
	for _, c := range []struct {
		name   string
		scope  *Narrowing
		expect string // path=capability …
	}{
		{"absent", nil, "/w/p/sec/k=RWDX /w/p/gen/g=RWDX /m/rw/x=RW"},
		{"empty", &Narrowing{}, "/w/p/x=RWDX /m/rw/x=RW /opt/py/x=RX"},
		{"deny only", &Narrowing{Deny: denies},
			"/w/p/x=RWDX /w/p/sec=- /w/p/sec/k=- /w/p/gen=RX /w/p/gen/g=RX /m/ro/x=R /m/rw/x=RW /opt/py/secret/x=- /opt/py/x=RX"},
		{"allow", &Narrowing{Deny: denies, Allow: []scope.Rule{
			allow("/w/p", scope.Read, true, false), allow("/w/p/src", scope.Write, true, false), allow("/w/p/out", scope.Write, true, true),
			allow("/m/rwd", scope.Read, false, false)}},
			"/w/p/x=RX /w/p/src/x=RWX /w/p/out/x=RWDX /w/p/sec/k=- /w/p/gen=RX /m/rw/x=- /m/rwd/x=R /m/rwd/x/y=- /opt/py/x=RX /opt/py/secret/x=- /usr/bin/git=RX /w/p/.venv/x=RX /w/p/agent.yaml=RX"},
		{"allow elsewhere", &Narrowing{Allow: []scope.Rule{allow("/w/p/src", scope.Write, true, true), allow("/etc", scope.Write, true, true)}},
			"/w/p=- /w/p/x=- /w/p/src/x=RWDX /etc/passwd=- /w/p/.venv/x=RX"},
	} {
		e := sample()
		e.Scope = c.scope
		r := compiled(t, e)
		for pair := range strings.FieldsSeq(c.expect) {
			path, want, _ := strings.Cut(pair, "=")
			if got := r.CapabilityAt(path).String(); got != want {
				t.Errorf("%s: CapabilityAt(%s) = %s, want %s", c.name, path, got, want)
			}
		}
	}
}

// Covers: FS-08a
func TestOnlyDevelopmentWrites(t *testing.T) {
	for _, profile := range []string{"readonly", "", "Development", "unknown"} {
		e := sample()
		e.Profile = profile
		r := compiled(t, e)
		for path, want := range map[string]string{"/w/p/x": "R", "/m/rwd/x": "R", "/opt/py/x": "RX", "/w/p/.venv/x": "RX"} {
			if got := r.CapabilityAt(path).String(); got != want {
				t.Errorf("profile %q: CapabilityAt(%s) = %s, want %s", profile, path, got, want)
			}
		}
		if why := r.Why("/w/p/x", scope.W); why["rule"] != "sandbox.profile: readonly" {
			t.Errorf("profile %q: %v", profile, why)
		}
	}
}

func TestZeroPolicyAllowsNothing(t *testing.T) {
	r := compiled(t, new(Effective))
	for _, path := range []string{"/", "/etc/passwd", "", "."} {
		if r.Locate(path) != scope.Outside || r.CapabilityAt(path) != 0 {
			t.Errorf("%q: %v, %v", path, r.Locate(path), r.CapabilityAt(path))
		}
		if why := r.Why(path, scope.R); why["rule"] != "sandbox.workspace" {
			t.Errorf("Why(%q) = %v", path, why)
		}
	}
}

func TestLocate(t *testing.T) {
	r := compiled(t, sample())
	for path, want := range map[string]scope.Place{
		"/": scope.Above, "/w": scope.Above, "/w/p": scope.Within, "/w/p/x": scope.Within, "/w/pp": scope.Outside, "/w/q": scope.Outside,
		"/m": scope.Above, "/m/ro": scope.Within, "/m/r": scope.Outside, "/opt": scope.Outside, "/opt/py": scope.Outside, "/usr/bin/git": scope.Outside, "": scope.Outside,
	} {
		if got := r.Locate(path); got != want {
			t.Errorf("Locate(%q) = %v, want %v", path, got, want)
		}
	}
	wide := r.Executables()
	for path, want := range map[string]scope.Place{"/opt": scope.Above, "/opt/py/bin": scope.Within, "/usr/bin/git": scope.Within, "/usr/bin/sh": scope.Outside, "/w/p": scope.Within} {
		if got := wide.Locate(path); got != want {
			t.Errorf("with executables: Locate(%q) = %v, want %v", path, got, want)
		}
	}
	everything := compiled(t, &Effective{Profile: "development", Roots: []Root{{Path: "/", Kind: RootMount, Capability: scope.R}}})
	if everything.Locate("/etc/hostname") != scope.Within || everything.Locate("/") != scope.Within || everything.CapabilityAt("/etc/hostname") != scope.R {
		t.Error("a root / does not hold what lies beneath")
	}
}

func TestWhy(t *testing.T) {
	e := sample()
	e.Scope = &Narrowing{
		Allow: []scope.Rule{
			{Target: "/w/p", Permission: scope.Read, Recursive: true, Source: "agent.yaml:30"},
			{Target: "/w/p/src", Permission: scope.Write, Recursive: true, Source: "agent.yaml:31"},
			{Target: "/m/rw", Permission: scope.Write, Recursive: true, Source: "agent.yaml:32"},
		},
		Deny: []scope.Rule{
			{Target: "/w/p/src/gen", Permission: scope.Write, Recursive: true, Source: "agent.yaml:40"},
			{Target: "/w/p/sec", Permission: scope.Read, Recursive: true, Source: "agent.yaml:41"},
		},
	}
	r := compiled(t, e)
	for _, c := range []struct {
		path         string
		lacking      scope.Capability
		rule, source string
	}{
		{"/etc/passwd", scope.R, "sandbox.workspace", "agent.yaml:3"},
		{"/w/p/agent.yaml", scope.W, "protected: config", "agent.yaml:1"},
		{"/w/p/.git/hooks/x", scope.D, "sandbox.workspace.protect_host_tools", "agent.yaml:4"},
		{"/w/p/state/x", scope.R, "protected: state", ""},
		{"/w/p/src/gen/x", scope.W, "sandbox.scope.deny[0]", "agent.yaml:40"},
		{"/w/p/sec/x", scope.R, "sandbox.scope.deny[1]", "agent.yaml:41"},
		{"/w/p/x", scope.W, "sandbox.scope.allow[0]", "agent.yaml:30"},
		{"/w/p/src/x", scope.D, "sandbox.scope.allow[1]", "agent.yaml:31"},
		{"/m/rwd/x", scope.R, "sandbox.scope.allow", "agent.yaml:30"},
		{"/m/ro/x", scope.W, "sandbox.mounts[0] (read_only)", "agent.yaml:10"},
		{"/m/rw/x", scope.D, "sandbox.mounts[1] (read_write)", "agent.yaml:11"},
		{"/m/rw/x", scope.X, "sandbox.mounts[1] (read_write)", "agent.yaml:11"},
		{"/m/rwd/x", scope.X, "sandbox.mounts[2] (read_write_delete)", "agent.yaml:12"},
		{"/opt/py/x", scope.W, "sandbox.execution: /opt/py", "agent.yaml:20"},
	} {
		want := fault.Args{"path": c.path, "rule": c.rule, "source": c.source}
		if strings.HasPrefix(c.rule, "protected: ") {
			want["case"] = "protected"
		}
		if diff := cmp.Diff(want, r.Why(c.path, c.lacking)); diff != "" {
			t.Errorf("%s lacks %v: %s", c.path, c.lacking, diff)
		}
		if r.CapabilityAt(c.path)&c.lacking != 0 {
			t.Errorf("%s does not lack %v", c.path, c.lacking)
		}
	}
}

// Covers: SD-18
func TestDeniedBeneath(t *testing.T) {
	e := sample()
	e.Scope = &Narrowing{Deny: []scope.Rule{{Target: "/w/p/a/b/か\u3099", Permission: scope.Write, Recursive: true}}}
	r := compiled(t, e)
	for dir, want := range map[string]bool{
		"/w/p/a": true, "/w/p/a/b": true, "/w/p/a/b/が": false, "/w/p/.git": true, "/w/p/.git/hooks": false, "/w/p/a/bc": false,
		"/w/p": true, "/w": true, "/m/rw": true, "/m/rw/x": false, "/w/p/x": false, "/w/p/.venv": true,
	} {
		target, got := r.DeniedBeneath(dir)
		if got != want || got && !contains(dir, target) {
			t.Errorf("DeniedBeneath(%s) = %q, %v, want %v", dir, target, got, want)
		}
	}
}

func TestLogical(t *testing.T) {
	r := compiled(t, sample())
	for path, want := range map[string]string{
		"/home/me/p": "/w/p", "/home/me/p/src/a.go": "/w/p/src/a.go", "/home/me/p2/a": "/home/me/p2/a", "/home/me": "/home/me",
		"/home/me/p/data/x": "/m/rw/x", "/home/me/p/database": "/w/p/database", "/opt/python/bin": "/opt/py/bin", "/w/p/x": "/w/p/x", "rel": "rel",
	} {
		if got := r.Logical(path); got != want {
			t.Errorf("Logical(%s) = %s, want %s", path, got, want)
		}
	}
}

// Names that look the same, and on folding volumes names that are the same.
func TestDenyHoldsForOtherSpellings(t *testing.T) {
	e := sample()
	e.Scope = &Narrowing{Deny: []scope.Rule{
		{Target: "/w/p/が", Permission: scope.Read, Recursive: true}, {Target: "/w/p/Cfg", Permission: scope.Write, Recursive: true},
		{Target: "/w/p/か\u3099x", Permission: scope.Read, Recursive: true},
	}}
	r := compiled(t, e)
	for path, want := range map[string][2]string{
		"/w/p/が/x":          {"-", "-"},
		"/w/p/か\u3099/x":    {"-", "-"},
		"/w/p/がx":           {"-", "-"},
		"/w/p/か/x":          {"RWDX", "RWDX"},
		"/w/p/Cfg/x":        {"RX", "RX"},
		"/w/p/cFG/x":        {"RWDX", "RX"},
		"/w/p/AGENT.yaml":   {"RWDX", "RX"},
		"/w/p/STATE/x":      {"RWDX", "-"},
		"/W/P/x":            {"-", "-"}, // an allow never folds
		"/w/p/\xff\xfe/Cfg": {"RWDX", "RWDX"},
	} {
		if got := [2]string{r.CapabilityAt(path).String(), r.CapabilityFolded(path).String()}; got != want {
			t.Errorf("%q: exact and folded %v, want %v", path, got, want)
		}
	}
	if why := r.Why("/w/p/か\u3099/x", scope.R); why["rule"] != "sandbox.scope.deny[0]" {
		t.Errorf("another spelling: %v", why)
	}
}

func TestRulesRefusesWhatIsNotClean(t *testing.T) {
	for _, path := range []string{"", "w", "/w/", "/w/../x", "/w//x"} {
		e := sample()
		e.Roots[1].Path = path
		if _, err := e.Rules(); fault.CodeOf(err) != fault.PolicyRoot {
			t.Errorf("root %q: %v", path, err)
		}
		e = sample()
		e.Protected[0].Path = path
		if _, err := e.Rules(); err == nil {
			t.Errorf("protected %q was accepted", path)
		}
	}
}

// A layer can only narrow: whatever is added to scope.deny or to the protected
// paths, no path gains a right; and what is out of the roots has none.
//
// Covers: SD-01, SD-06
func TestLayersOnlyNarrow(t *testing.T) {
	names := []string{"w", "p", "a", "b", "が", "m", "ro", ".git"}
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(t, "names"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		rule := func(allow bool) scope.Rule {
			r := scope.Rule{
				Target:     path.Draw(t, "target"),
				Permission: rapid.SampledFrom([]scope.Permission{scope.Read, scope.Write}).Draw(t, "level"),
				Recursive:  rapid.Bool().Draw(t, "recursive"),
			}
			r.Delete = allow && r.Permission == scope.Write && rapid.Bool().Draw(t, "delete")
			return r
		}
		wide := sample()
		narrow := sample()
		narrow.Scope = &Narrowing{}
		for range rapid.IntRange(0, 3).Draw(t, "allows") {
			narrow.Scope.Allow = append(narrow.Scope.Allow, rule(true))
		}
		for range rapid.IntRange(0, 3).Draw(t, "denies") {
			narrow.Scope.Deny = append(narrow.Scope.Deny, rule(false))
		}
		if rapid.Bool().Draw(t, "protect") {
			narrow.Protected = append(narrow.Protected, Protected{Path: path.Draw(t, "protected"), Hidden: rapid.Bool().Draw(t, "hidden")})
		}
		w, err := wide.Rules()
		if err != nil {
			t.Fatal(err)
		}
		n, err := narrow.Rules()
		if err != nil {
			t.Fatal(err)
		}
		at := path.Draw(t, "path")
		if rapid.Bool().Draw(t, "inside") {
			at = filepath.Join("/w/p", at)
		}
		if gained := n.CapabilityAt(at) &^ w.CapabilityAt(at); gained != 0 {
			t.Fatalf("%s gained %v", at, gained)
		}
		if gained := n.CapabilityFolded(at) &^ n.CapabilityAt(at); gained != 0 {
			t.Fatalf("folding gave %s %v", at, gained)
		}
		if n.Locate(at) != scope.Within && n.CapabilityAt(at).Has(scope.W) {
			t.Fatalf("%s is writable and not within", at)
		}
		if lost := w.CapabilityAt(at) &^ n.CapabilityAt(at); lost != 0 && n.Why(at, lost)["rule"] == "sandbox.workspace" && contains("/w/p", at) {
			t.Fatalf("%s lost %v, explained by %v", at, lost, n.Why(at, lost))
		}
	})
}

// TestDeniedBeneathInAnyCase: on a volume that folds case, a directory is held
// in place under each of its spellings; on others each is a name of its own.
func TestDeniedBeneathInAnyCase(t *testing.T) {
	e := Effective{
		Profile: "development",
		Roots:   []Root{{Path: "/w", Logical: "/w", Kind: RootWorkspace, Capability: scope.All}},
		Scope:   &Narrowing{Deny: []scope.Rule{{Target: "/w/cfg/.secret", Permission: scope.Read, Recursive: true}}},
	}
	r, err := e.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]struct{ exact, folded bool }{
		"/w/cfg": {true, true}, "/w/CFG": {false, true}, "/w/cfgs": {false, false},
	} {
		_, exact := r.DeniedBeneath(dir)
		_, folded := r.DeniedBeneathFolded(dir)
		if exact != want.exact || folded != want.folded {
			t.Errorf("%s: exact %v, folded %v, want %+v", dir, exact, folded, want)
		}
	}
}
