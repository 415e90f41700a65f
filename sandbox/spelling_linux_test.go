package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// TestSpellings: a denied or protected name holds for commands in every spelling
// that a file has; other names are not touched.
//
// Covers: C-69
func TestSpellings(t *testing.T) {
	const composed, decomposed = "caf\u00e9", "cafe\u0301"
	f := newFixture(t, func(f *fixture) {
		f.write("n/"+decomposed, "secret")
		f.write("n/"+decomposed+".txt", "open")
		f.write("Keys/ID", "secret")
		f.write("tools/.VSCode/tasks.json", "kept")
		f.p.Scope = &policy.Narrowing{Deny: f.rules(
			scope.Rule{Target: "n/" + composed, Permission: scope.Read, Recursive: true},
			scope.Rule{Target: "keys/id", Permission: scope.Read, Recursive: true},
		)}
		f.p.Protected = []policy.Protected{{Path: f.root + "/tools/.vscode", Why: "host_tool", Dir: true}}
	})
	f.try([]step{
		{"cat n/" + decomposed, false},
		{"cat n/" + decomposed + ".txt", true},
		{"echo x > n/" + decomposed, false},
		{"cat Keys/ID", false},
		{"echo x > tools/.VSCode/tasks.json", false},
		{"cat tools/.VSCode/tasks.json && echo x > tools/other", true},
	})
}

// TestManySpellings: more of them than anybody needs are refused, not passed
// over.
func TestManySpellings(t *testing.T) {
	f := policyOnly(t)
	for i := range 1 << 7 {
		name := []byte(strings.Repeat("a", 7))
		for bit := range 7 {
			if i>>bit&1 == 1 {
				name[bit] = 'A'
			}
		}
		if err := os.WriteFile(filepath.Join(f.root, string(name)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: "aaaaaaa", Permission: scope.Read, Recursive: true})}
	if _, err := Start(t.Context(), Options{Policy: f.p}); fault.CodeOf(err) != fault.PlatformUnsupported {
		t.Error(fmt.Sprint(err))
	}
}
