package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOtherNames: a denied or protected file with another name in reach is
// refused; where that name is out of reach, denied as well, or a copy, it is not.
//
// Covers: SD-19, C-63, C-82
func TestOtherNames(t *testing.T) {
	root := grow(t, "project/sub/in/", "project/key", "project/free", "project/own/py*", "project/own/lib/b.py", "outside/skills/one",
		"project/.git/hooks/pre-commit", "project/.claude/worktrees/a/b.js", "data/", "state/agent-mcp/log", "agent.yaml", "tool*", "rt/bin/py*", "rt/lib/deep/a.py")
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
	entry := func(in Input, path, runtime string) Input {
		e := EntryInput{"e", at(path), "", "e"}
		if runtime != "" {
			e.RuntimeRoot = at(runtime)
		}
		in.Entries = append(in.Entries, e)
		return in
	}
	mount := func(in Input, access string) Input {
		in.Mounts = append(in.Mounts, MountInput{at("data"), access, "m"})
		return in
	}
	owning := func(skills, profile string) Input {
		in := basic(root)
		in.Own.SkillDirs, in.Profile = []string{at(skills)}, profile
		return in
	}
	tools := func() Input {
		in := basic(root)
		in.Workspace.ProtectHostTools = true
		return in
	}
	narrow := basic(root)
	narrow.Scope = &ScopeInput{AllowGiven: true, Source: "s", Allow: []RuleInput{
		{Target: ".", Permission: "read", Recursive: true, Source: "a"}, {Target: "sub/in", Permission: "write", Recursive: true, Source: "a"},
	}}
	runtime := entry(basic(root), "rt/bin/py", "rt")
	inside := entry(deny("own", "write"), "project/own/py", "project/own")
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
		{"an entry", "tool", "project/sub/other", entry(basic(root), "tool", ""), refused},
		{"an entry in the workspace", "project/own/py", "project/sub/other", entry(basic(root), "project/own/py", ""), refused},
		{"of a runtime root", "rt/lib/deep/a.py", "project/sub/other", runtime, refused},
		{"of a runtime root, in a mount", "rt/lib/deep/a.py", "data/other", mount(runtime, "read_write"), refused},
		{"of a runtime root, only read", "rt/lib/deep/a.py", "data/other", mount(runtime, "read_only"), nil},
		{"of a runtime root, denied", "rt/lib/deep/a.py", "project/sub/other", entry(deny("sub", "write"), "rt/bin/py", "rt"), nil},
		{"of a runtime root, out of reach", "rt/lib/deep/a.py", "outside/other", runtime, nil},
		{"within a runtime root", "rt/lib/deep/a.py", "rt/lib/other", runtime, nil},
		{"within one in the workspace", "project/own/lib/b.py", "project/own/other", inside, nil},
		{"out of one in the workspace", "project/own/lib/b.py", "project/sub/other", inside, refused},
		{"where nothing is allowed", "rt/lib/deep/a.py", "project/sub/other", entry(narrow, "rt/bin/py", "rt"), nil},
		{"where some is allowed", "rt/lib/deep/a.py", "project/sub/in/other", entry(narrow, "rt/bin/py", "rt"), refused},
		{"of the skills", "outside/skills/one", "project/sub/other", owning("outside/skills", "development"), refused},
		{"of the skills, only read", "outside/skills/one", "project/sub/other", owning("outside/skills", "readonly"), nil},
		{"of a host tool", "project/.git/hooks/pre-commit", "project/sub/other", tools(), refused},
		{"of a host tool that is not protected", "project/.git/hooks/pre-commit", "project/sub/other", basic(root), nil},
		{"of a checkout beside", "project/.claude/worktrees/a/b.js", "project/sub/other", tools(), nil},
		{"of the logs", "state/agent-mcp/log", "project/sub/other", basic(root), refused},
		{"of the logs, only read", "state/agent-mcp/log", "project/sub/other", owning("outside/skills", "readonly"), refused},
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

// TestManyNames: of a tree with many other names one is told; where not all names
// can be looked at, that is said, unless one side holds no file with several.
func TestManyNames(t *testing.T) {
	root := grow(t, "project/a", "project/b", "project/c", "rt/bin/py*", "rt/bin/a", "rt/bin/b", "state/agent-mcp/", "agent.yaml", "spare")
	link := func(from, to string) {
		if err := os.Link(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	in := basic(root)
	in.Entries = []EntryInput{{"py", filepath.Join(root, "rt/bin/py"), filepath.Join(root, "rt"), "e0"}}
	judge := func(names int) (out []string) {
		r := &resolver{in: in, names: names}
		r.all()
		for _, p := range append(r.problems, r.warnings...) {
			if p.Reason != "entry_runner" {
				out = append(out, p.Reason)
			}
		}
		return out
	}
	const all, some, few = 100, 25, 5
	if got := judge(few); got != nil {
		t.Errorf("no name, few: %v", got)
	}
	link("spare", "rt/other") // the runtime root alone
	if got := judge(all); got != nil {
		t.Errorf("one side: %v", got)
	}
	for i := range some {
		if err := os.WriteFile(filepath.Join(root, "project", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := judge(some); !slices.Equal(got, []string{"scope_hard_link_unknown"}) {
		t.Errorf("one side, and some of the other: %v", got)
	}
	link("project/a", "project/d") // and the workspace, of another file
	if got := judge(all); got != nil {
		t.Errorf("both sides: %v", got)
	}
	if got := judge(few); !slices.Equal(got, []string{"scope_hard_link_many"}) {
		t.Errorf("both sides, few: %v", got)
	}
	link("rt/bin/a", "project/x")
	link("rt/bin/a", "project/y")
	link("rt/bin/b", "project/z")
	if got := judge(all); !slices.Equal(got, []string{"scope_hard_link"}) {
		t.Errorf("three names: %v", got)
	}
}
