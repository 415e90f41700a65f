package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// TestOnlyWhatCanBeCarried: JSON would make another path of one that is not
// UTF-8, and what it names would be left open; such a policy does not start.
func TestOnlyWhatCanBeCarried(t *testing.T) {
	const odd = "\x82\xa0dir"
	for name, change := range map[string]func(f *fixture){
		"deny": func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: odd, Permission: scope.Read, Recursive: true})}
		},
		"allow": func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Allow: f.rules(scope.Rule{Target: odd, Permission: scope.Read, Recursive: true})}
		},
		"protected": func(f *fixture) {
			f.p.Protected = []policy.Protected{{Path: filepath.Join(f.root, odd), Why: "host_tool", Dir: true}}
		},
		"root as spelled": func(f *fixture) { f.p.Roots[0].Logical = "/" + odd },
		"root": func(f *fixture) {
			f.p.Roots = append(f.p.Roots, policy.Root{Path: filepath.Join(f.root, odd), Kind: policy.RootMount, Capability: scope.R})
		},
		"found in another spelling": func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: "\ufffd\ufffddir", Permission: scope.Read, Recursive: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := policyOnly(t)
			if err := os.Mkdir(filepath.Join(f.root, odd), 0o755); err != nil {
				t.Fatal(err)
			}
			change(f)
			if _, err := Start(t.Context(), Options{Policy: f.p, Placeholders: &plainPlaceholders{}}); fault.CodeOf(err) != fault.PlatformUnsupported {
				t.Error(err)
			}
		})
	}
	f := newFixture(t, func(f *fixture) { // a name that no rule is about is nobody's business
		f.write(odd+"/file", "here")
		f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: "dir", Permission: scope.Read, Recursive: true})}
	})
	if r := f.sh("cat *dir/file"); r.Out != "here" {
		t.Errorf("%+v", r)
	}
}

// TestSystemTrees: rules that take something from a workspace within the system's
// trees, which can be read whole, or around them, are refused; elsewhere they hold,
// and so does a deny there. Where everybody may write there is no root.
func TestSystemTrees(t *testing.T) {
	for _, row := range []struct {
		root    string
		narrow  policy.Narrowing
		refused bool
	}{
		{"/usr/local/src/x", policy.Narrowing{Allow: []scope.Rule{{Target: "/usr/local/src/x", Permission: scope.Read}}}, true},
		{"/usr/local/src/x", policy.Narrowing{Deny: []scope.Rule{{Target: "/usr/local/src/x/a", Permission: scope.Read, Recursive: true}}}, false},
		{"/usr/local/src/x", policy.Narrowing{}, false},
		{"/etc/x", policy.Narrowing{Allow: []scope.Rule{{Target: "/etc/x", Permission: scope.Read}}}, true},
		{"/etc/x", policy.Narrowing{}, false},
		{"/", policy.Narrowing{Allow: []scope.Rule{{Target: "/", Permission: scope.Read}}}, true},
		{"/", policy.Narrowing{}, false},
		{"/dev/shm/x", policy.Narrowing{}, true},
		{"/proc/1", policy.Narrowing{}, true},
		{"/tmp/.scratch/x", policy.Narrowing{}, true},
		{"/tmp/.scratched/x", policy.Narrowing{Allow: []scope.Rule{{Target: "/tmp/.scratched/x", Permission: scope.Read}}}, false},
		{"/tmp", policy.Narrowing{}, false},
		{"/usrx", policy.Narrowing{Allow: []scope.Rule{{Target: "/usrx", Permission: scope.Read}}}, false},
	} {
		e := policy.Effective{
			Scope: &row.narrow, Roots: []policy.Root{{Path: row.root, Kind: policy.RootWorkspace, Capability: scope.R}},
			Network: policy.Network{Mode: "none", UnixSockets: "none"},
		}
		if err := Check(&e); (fault.CodeOf(err) == fault.PlatformUnsupported) != row.refused {
			t.Errorf("%s: %v", row.root, err)
		}
	}
}
