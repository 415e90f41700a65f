package broker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sunaba/policy"
	"sunaba/scope"
	"sunaba/tool"
)

// Bounds of the random matrix: a number of policies, and no new one after a time.
const (
	randomPolicies = 24
	randomBound    = 20 * time.Second
	seedVariable   = "SUNABA_SEED" // another seed than the usual one
)

// TestRandomPoliciesAgree makes policies of random profiles, mounts, areas in
// areas, and scopes with recursion and without; on every directory it compares
// what file tools can do, what commands can do, and what the policy says
// (C-69). Commands may do less in two cases: making, removing and renaming under
// a rule without recursion (C-73), and renaming where delete is not granted
// (C-77). They may never do more.
//
// Covers: C-69, SD-01, SD-03, SD-19
func TestRandomPoliciesAgree(t *testing.T) {
	seed := uint64(1)
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	began := time.Now()
	for i := range uint64(randomPolicies) {
		if time.Since(began) > randomBound {
			t.Logf("stopped after %d policies", i)
			break
		}
		t.Run(strconv.FormatUint(i, 10), func(t *testing.T) { randomPolicy(t, rand.New(rand.NewPCG(seed, i))) })
	}
}

// drawn are the directories that rules and areas are drawn from.
var drawn = []string{".", "a", "a/b", "a/b/c", "a/d", "e", "e/g", "../m", "../m/n", "../m/n/o"}

func randomPolicy(t *testing.T, r *rand.Rand) {
	var e policy.Effective
	f := newFixture(t, func(p *policy.Effective) {
		for _, dir := range drawn {
			if err := os.MkdirAll(filepath.Join(p.Workspace.Root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		drawPolicy(r, p)
		withShell(t, p)
		e = *p
	})
	rules, err := e.Rules()
	if err != nil {
		t.Fatal(err)
	}
	deep := e // without what holds for direct children only
	if e.Scope != nil && e.Scope.Allow != nil {
		deep.Scope = &policy.Narrowing{Allow: []scope.Rule{}, Deny: e.Scope.Deny}
		for _, rule := range e.Scope.Allow {
			if rule.Recursive {
				deep.Scope.Allow = append(deep.Scope.Allow, rule)
			}
		}
		if len(deep.Scope.Allow) == 0 { // an empty list would allow everything
			deep.Roots = nil
		}
	}
	recursive, err := deep.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range drawn {
		at := filepath.Join(f.root, dir)
		f.fill(at)
		tools := f.toolActs(at)
		f.fill(at)
		commands := f.commandActs(at)
		for _, a := range acts {
			if strings.Contains(a.also, "command") {
				continue // not for tools
			}
			if want := a.may(rules, at); tools[a.name] != want {
				t.Errorf("%s %s: the policy says %v, file tools %v\n%s", a.name, dir, want, tools[a.name], describe(&e))
			}
		}
		for _, a := range acts {
			want, must := a.may(rules, at), a.may(recursive, at) || !a.makes
			switch got := commands[a.name]; {
			case got && !want, want && must && !got && !strings.Contains(a.also, "less"):
				t.Errorf("%s %s: the policy says %v, commands %v\n%s", a.name, dir, want, got, describe(&e))
			}
		}
	}
}

// drawPolicy gives e mounts, a profile and a scope.
func drawPolicy(r *rand.Rand, e *policy.Effective) {
	at := func(p string) string { return filepath.Join(e.Workspace.Root, p) }
	mount := func(p string, c scope.Capability) {
		e.Roots = append(e.Roots, policy.Root{Path: at(p), Logical: at(p), Kind: policy.RootMount, Capability: c})
	}
	const write, remove = scope.R | scope.W, scope.R | scope.W | scope.D
	outer := []scope.Capability{scope.R, write, remove}[r.IntN(3)]
	mount("../m", outer)
	if r.IntN(2) == 0 {
		inner := []scope.Capability{scope.R, remove, write}[r.IntN(3)]
		if inner == write && outer == remove { // refused at apply
			inner = remove
		}
		mount("../m/n", inner)
	}
	if r.IntN(2) == 0 {
		mount([]string{"a/b", "e", "a/b/c"}[r.IntN(3)], []scope.Capability{scope.R, remove}[r.IntN(2)])
	}
	if r.IntN(5) == 0 {
		e.Profile = "readonly"
	}
	if r.IntN(3) == 0 {
		e.Protected = append(e.Protected, policy.Protected{Path: at(drawn[1+r.IntN(len(drawn)-1)]), Why: "host_tool", Dir: true, Hidden: r.IntN(2) == 0})
	}
	n := &policy.Narrowing{Deny: []scope.Rule{}}
	rule := func(deny bool) scope.Rule {
		x := scope.Rule{Target: at(drawn[r.IntN(len(drawn))]), Permission: scope.Permission(1 + r.IntN(2)), Recursive: r.IntN(2) == 0}
		x.Delete = !deny && x.Permission == scope.Write && r.IntN(2) == 0
		return x
	}
	if r.IntN(2) == 0 {
		n.Allow = []scope.Rule{{Target: at("."), Permission: scope.Read, Recursive: r.IntN(2) == 0}}
		for range 1 + r.IntN(3) {
			n.Allow = append(n.Allow, rule(false))
		}
	}
	for range r.IntN(3) {
		d := rule(true)
		if d.Permission == scope.Read {
			leaf := slices.Contains([]string{"a/b/c", "a/d", "e/g", "../m/n/o"}, strings.TrimPrefix(d.Target, e.Workspace.Root+"/"))
			d.Recursive = d.Recursive || !leaf // else refused at apply
			if d.Target == e.Workspace.Root {
				continue // nothing could be started
			}
		}
		n.Deny = append(n.Deny, d)
	}
	if n.Allow != nil || len(n.Deny) > 0 {
		e.Scope = n
	}
}

func withShell(t *testing.T, e *policy.Effective) {
	t.Helper()
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	e.Entries = append(e.Entries, policy.Entry{Alias: "sh", Logical: "/bin/sh", Path: sh, Shell: true, Identity: identify(t, sh)})
}

// describe writes e as settings, for whoever must find out why.
func describe(e *policy.Effective) string {
	rel := func(p string) string {
		out, err := filepath.Rel(e.Workspace.Root, p)
		if err != nil {
			return p
		}
		return out
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Profile)
	for _, r := range e.Roots {
		fmt.Fprintf(&b, "%s %s %s\n", r.Kind, rel(r.Path), r.Capability)
	}
	if e.Scope != nil {
		for _, r := range e.Scope.Allow {
			fmt.Fprintf(&b, "allow %s %s recursive %v delete %v\n", rel(r.Target), r.Permission, r.Recursive, r.Delete)
		}
		for _, r := range e.Scope.Deny {
			fmt.Fprintf(&b, "deny %s %s recursive %v\n", rel(r.Target), r.Permission, r.Recursive)
		}
	}
	return b.String()
}

// act is something that is done in a directory that holds what fill makes.
type act struct {
	name   string
	script string // in that directory as $D
	also   string // "command": not a file tool's act; "less": commands may do less, for it is more than one act
	makes  bool   // makes, removes or renames
	may    func(r *policy.Rules, dir string) bool
}

// needs returns a verdict: the rights on the name in the directory.
func needs(name string, c scope.Capability) func(*policy.Rules, string) bool {
	return func(r *policy.Rules, dir string) bool { return r.CapabilityAt(filepath.Join(dir, name)).Has(c) }
}

var acts = []act{
	{name: "read", script: `cat "$D/f"`, may: needs("f", scope.R)},
	{name: "list", script: `ls "$D" | grep -qx f`, may: func(r *policy.Rules, dir string) bool {
		return r.CapabilityAt(dir).Has(scope.R) && r.CapabilityAt(filepath.Join(dir, "f")).Has(scope.R)
	}},
	{name: "execute", script: `"$D/p"`, may: needs("p", scope.R|scope.X)},
	{name: "loader", script: `"$L" "$D/elf"`, also: "command", may: needs("elf", scope.R|scope.X)},
	{name: "overwrite", script: `echo x >> "$D/f"`, may: needs("f", scope.R|scope.W)},
	{name: "truncate", script: `: > "$D/t"`, also: "command", may: needs("t", scope.W)},
	{name: "create", script: `echo x > "$D/new"`, makes: true, may: needs("new", scope.W)},
	{name: "mkdir", script: `mkdir "$D/dir"`, also: "command", makes: true, may: needs("dir", scope.W)},
	{name: "symlink", script: `ln -s f "$D/soft"`, also: "command", makes: true, may: needs("soft", scope.W)},
	{name: "hard link", script: `ln "$D/t" "$D/hard"`, also: "command", makes: true, may: needs("hard", scope.R|scope.W)},
	{name: "chmod", script: `chmod 700 "$D/f"`, also: "command", may: needs("f", scope.W)},
	{name: "touch", script: `touch -d @1 "$D/f"`, also: "command", may: needs("f", scope.W)},
	{name: "rename", script: `mv "$D/t" "$D/t2"`, also: "command", makes: true, may: needs("t", scope.W|scope.D)},
	{name: "move in", script: `mv "$D/../t" "$D/in"`, also: "command, less", makes: true, may: func(r *policy.Rules, dir string) bool {
		return r.CapabilityAt(filepath.Join(dir, "in")).Has(scope.W) && r.CapabilityAt(filepath.Join(dir, "../t")).Has(scope.R|scope.D)
	}},
	{name: "delete", script: `rm "$D/f"`, makes: true, may: needs("f", scope.D)},
}

// fill puts the files in dir that the acts act on, whatever was done to them.
func (f *fixture) fill(dir string) {
	f.t.Helper()
	for _, name := range []string{"new", "soft", "hard", "dir", "t2", "in"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, name := range []string{"f", "p", "t", "../t"} {
		f.write(filepath.Join(dir, name), "#!/bin/sh\nexit 0\n")
	}
	elf, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(filepath.Join(dir, "elf"), string(elf))
}

func (f *fixture) toolActs(dir string) map[string]bool {
	done := make(map[string]bool)
	do := func(act, name string, args map[string]any) tool.Result {
		f.t.Helper()
		r, err := f.call(name, args)
		if err != nil {
			f.t.Fatal(err)
		}
		done[act] = r.OK
		return r
	}
	file := filepath.Join(dir, "f")
	do("read", tool.ReadFile, map[string]any{"path": file})
	r := do("list", tool.ListFiles, map[string]any{"path": dir})
	done["list"] = r.OK && strings.Contains("\n"+r.Text, "\nf")
	do("execute", tool.RunCommand, map[string]any{"argv": []string{filepath.Join(dir, "p")}})
	do("overwrite", tool.EditFile, map[string]any{"path": file, "old_string": "exit 0", "new_string": "exit 00"})
	do("create", tool.WriteFile, map[string]any{"path": filepath.Join(dir, "new"), "content": "x"})
	do("delete", tool.RemovePath, map[string]any{"path": file})
	return done
}

func (f *fixture) commandActs(dir string) map[string]bool {
	f.t.Helper()
	var script strings.Builder
	loader := "/lib64/ld-linux-x86-64.so.2"
	if _, err := os.Stat(loader); err != nil {
		loader = "/lib/ld-linux-aarch64.so.1"
	}
	fmt.Fprintf(&script, "cd / && L=%s D='%s'\n", loader, dir)
	for _, a := range acts {
		fmt.Fprintf(&script, "(%s) >/dev/null 2>&1 && echo '%s'\n", a.script, a.name)
	}
	script.WriteString("exit 0\n")
	r, err := f.call(tool.RunCommand, map[string]any{"command": script.String()})
	if err != nil || !r.OK {
		f.t.Fatalf("%+v %v", r, err)
	}
	done := make(map[string]bool)
	for line := range strings.Lines(r.Text) {
		done[strings.TrimSpace(line)] = true
	}
	return done
}
