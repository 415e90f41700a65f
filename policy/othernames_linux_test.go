package policy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOtherNames: a denied or protected file with another name in reach is
// refused; where that name is out of reach, denied as well, or a copy, it is not.
//
// Covers: SD-19, C-63
func TestOtherNames(t *testing.T) {
	root := grow(t, "project/sub/", "project/key", "project/free", "outside/", "data/", "state/agent-mcp/", "agent.yaml")
	at := func(p string) string { return filepath.Join(root, p) }
	link := func(from, to string) func() {
		if err := os.Link(at(from), at(to)); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.Remove(at(to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	deny := func(rules ...string) Input {
		in := basic(root)
		in.Scope = &ScopeInput{Source: "s"}
		for i := 0; i < len(rules); i += 2 {
			in.Scope.Deny = append(in.Scope.Deny, RuleInput{Target: rules[i], Permission: rules[i+1], Recursive: true, Source: "d"})
		}
		return in
	}
	refused := []string{"policy.root scope_hard_link"}
	for _, row := range []struct {
		name, from, to string
		in             Input
		want           []string
	}{
		{"read, another name", "project/key", "project/sub/other", deny("key", "read"), refused},
		{"write, another name", "project/key", "project/sub/other", deny("key", "write"), refused},
		{"protected", "agent.yaml", "project/sub/other", deny("key", "read"), refused},
		{"out of reach", "project/key", "outside/other", deny("key", "read"), nil},
		{"denied as well", "project/key", "project/sub/other", deny("key", "read", "sub", "read"), nil},
		{"another file's", "project/free", "project/sub/other", deny("key", "read"), nil},
	} {
		undo := link(row.from, row.to)
		if got := verdict(t, row.in); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v", row.name, got)
		}
		undo()
		if got := verdict(t, row.in); got != nil { // the twin
			t.Errorf("%s: without the link: %v", row.name, got)
		}
	}
}
