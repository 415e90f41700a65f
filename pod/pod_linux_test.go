package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/scope"
	"sunaba/tool"
)

// script is a Model that gives its answers in order; a call is written as
// "Name {json}", everything else is text.
type script struct {
	answers []string
	seen    [][]Message // what was asked with
	tools   []string
}

func (s *script) Chat(_ context.Context, messages []Message, tools []tool.Spec) (Message, error) {
	s.seen = append(s.seen, slices.Clone(messages))
	messages[0] = Message{Content: "scribbled"} // it is forbidden, and does no harm
	s.tools = nil
	for _, t := range tools {
		s.tools = append(s.tools, t.Name)
	}
	if len(s.answers) == 0 {
		return Message{}, errors.New("the script has ended")
	}
	m := Message{Role: Assistant}
	for line := range strings.SplitSeq(s.answers[0], "\n") {
		if name, args, ok := strings.Cut(line, " {"); ok {
			m.Calls = append(m.Calls, Call{ID: fmt.Sprint(len(s.seen), len(m.Calls)), Name: name, Arguments: "{" + args})
		} else {
			m.Content += line
		}
	}
	s.answers = s.answers[1:]
	return m, nil
}

// place is a Pod in a project: src may be written, docs read, src/locked only
// read, src/hidden not seen; other is not named.
type place struct {
	t   *testing.T
	dir string
	*Pod
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

const rules = `[pod]
name = "p"
pwd = "src"
[scope]
base = "manifest"
allow = [ { target = "src", permission = "write" }, { target = "docs", permission = "read" } ]
deny = [ { target = "src/locked", permission = "write" }, { target = "src/hidden", permission = "read" } ]
`

func newPlace(t *testing.T, store Store, options []Option, answers ...string) (place, *script) {
	t.Helper()
	dir, file := project(t, rules, "src/a.go = needle A\n", "src/locked/l.go = needle L\n", "src/hidden/h.go = needle H\n",
		"docs/d.md = needle D\n", "other/o.go = needle O\n", "src/toOther -> ../other/o.go", "src/toDocs -> ../docs")
	s := &script{answers: answers}
	p, err := FromFile(file, NewWorker(s, options...), store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return place{t, dir, p}, s
}

// call calls a tool and returns the code it was refused with.
func (p place) call(name, args string) (tool.Result, fault.Code) {
	p.t.Helper()
	r := p.Call(p.t.Context(), name, json.RawMessage(args))
	if r.Scope != tool.NoScope {
		p.t.Errorf("%s %s: labelled %q, not none (C-06)", name, args, r.Scope)
	}
	if r.Error != nil {
		return r, r.Error.Code
	}
	return r, ""
}

// The five tools are there in any Pod, and decide as the document says.
//
// Covers: S0-51, S0-52, S0-53, S0-54, S0-58, S0-59, S0-60, S0-74, S0-77, S0-78, S0-79, S0-82, C-06, C-51
func TestTools(t *testing.T) {
	p, _ := newPlace(t, new(MemoryStore), nil)
	var names []string
	for _, s := range p.Tools() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{Edit, Glob, Grep, Read, Write}, names); diff != "" {
		t.Error(diff)
	}
	const (
		outOfScope = fault.FSOutOfScope
		readOnly   = fault.FSReadOnly
	)
	for _, c := range []struct {
		path                string
		read, write, edited fault.Code
	}{
		{"a.go", "", "", ""},
		{p.path("src/a.go"), "", "", ""},
		{"new/x.go", fault.FSNotFound, "", ""},
		{"locked/l.go", "", readOnly, readOnly},
		{"locked/new.go", fault.FSNotFound, readOnly, readOnly},
		{"../docs/d.md", "", readOnly, readOnly},
		{"toDocs/d.md", "", readOnly, readOnly},
		{p.path("docs/new.md"), fault.FSNotFound, readOnly, readOnly},
		{"hidden/h.go", outOfScope, outOfScope, outOfScope},
		{"hidden/new.go", outOfScope, outOfScope, outOfScope},
		{"../other/o.go", outOfScope, outOfScope, outOfScope},
		{p.path("other/new.go"), outOfScope, outOfScope, outOfScope},
		{"toOther", outOfScope, outOfScope, outOfScope},
		{p.path("pod.toml"), outOfScope, outOfScope, outOfScope},
		{p.path("src-archive/x"), outOfScope, outOfScope, outOfScope},
		{"/etc/hostname", outOfScope, outOfScope, outOfScope},
	} {
		q := func(rest string) string { return fmt.Sprintf(`{"file_path":%q%s}`, c.path, rest) }
		if _, code := p.call(Read, q("")); code != c.read {
			t.Errorf("Read %s: %q, want %q", c.path, code, c.read)
		}
		if _, code := p.call(Write, q(`,"content":"needle N\n"`)); code != c.write {
			t.Errorf("Write %s: %q, want %q", c.path, code, c.write)
		}
		r, code := p.call(Edit, q(`,"old_string":"needle","new_string":"pin"`))
		if code != c.edited {
			t.Errorf("Edit %s: %q, want %q", c.path, code, c.edited)
		}
		if code == readOnly && !strings.Contains(r.Error.Args["source"]+r.Error.Args["rule"], "scope.") {
			t.Errorf("Edit %s does not name its rule: %v", c.path, r.Error.Args)
		}
		if code == "" { // for the next spelling of the same file
			p.call(Edit, q(`,"old_string":"pin","new_string":"needle"`))
		}
	}
	for path, want := range map[string]string{"src/a.go": "needle N\n", "src/new/x.go": "needle N\n", "src/locked/l.go": "needle L\n",
		"src/hidden/h.go": "needle H\n", "docs/d.md": "needle D\n", "other/o.go": "needle O\n"} {
		if data, err := os.ReadFile(p.path(path)); string(data) != want {
			t.Errorf("%s holds %q, %v", path, data, err)
		}
	}
	// The twin: the same write of the same files without the guard.
	for _, path := range []string{"src/locked/l.go", "other/new.go"} {
		if err := os.WriteFile(p.path(path), nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	// A mistake in the arguments is told by the tool's name here.
	r, code := p.call(Read, `{}`)
	if code != fault.ToolArguments || r.Error.Args["tool"] != Read {
		t.Errorf("%v", r.Error)
	}
	r, code = p.call(Read, `{"path":"a.go","offset":-1}`)
	if code != fault.ToolArguments || r.Error.Args["tool"] != Read {
		t.Errorf("%v", r.Error)
	}
	if r, code = p.call("read_file", `{"path":"a.go"}`); code != fault.ToolUnknown || r.Error.Args["known"] != "Edit, Glob, Grep, Read, Write" {
		t.Errorf("%v", r.Error)
	}
}

// Covers: S0-07, S0-55, S0-56, S0-57, S0-75, S0-86, S0-87, S0-88, C-31
func TestSearch(t *testing.T) {
	p, _ := newPlace(t, new(MemoryStore), nil)
	if err := os.WriteFile(p.path("src/a.txt"), []byte("needle T\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := func(r tool.Result) []string {
		got := strings.Fields(strings.ReplaceAll(r.Text, p.dir, "$"))
		slices.Sort(got)
		return got
	}
	for _, c := range []struct {
		path string // "" leaves it out
		glob []string
	}{
		{"", []string{"a.go", "a.txt", "locked/l.go"}},
		{".", []string{"a.go", "a.txt", "locked/l.go"}},
		{"locked", []string{"locked/l.go"}},
		{"../docs", []string{"../docs/d.md"}},
		{"$/docs", []string{"$/docs/d.md"}},
		{"$", []string{"$/docs/d.md", "$/src/a.go", "$/src/a.txt", "$/src/locked/l.go"}},
		{"..", []string{"../docs/d.md", "../src/a.go", "../src/a.txt", "../src/locked/l.go"}},
	} {
		where := ""
		if c.path != "" {
			where = fmt.Sprintf(`,"path":%q`, strings.ReplaceAll(c.path, "$", p.dir))
		}
		r, code := p.call(Glob, `{"pattern":"**/*.{go,md,txt}"`+where+`}`)
		if diff := cmp.Diff(c.glob, lines(r)); code != "" || diff != "" {
			t.Errorf("Glob in %q: %s\n%s", c.path, code, diff)
		}
		r, code = p.call(Grep, `{"pattern":"needle","mode":"files"`+where+`}`)
		if diff := cmp.Diff(c.glob, lines(r)); code != "" || diff != "" {
			t.Errorf("Grep in %q: %s\n%s", c.path, code, diff)
		}
	}
	// Where nothing may be read and nothing leads on, even the words are refused.
	for _, path := range []string{"hidden", p.path("other"), "/etc", p.path("none"), p.path("pod.toml")} {
		if _, code := p.call(Glob, fmt.Sprintf(`{"pattern":"*","path":%q}`, path)); code != fault.FSOutOfScope {
			t.Errorf("Glob in %s: %q", path, code)
		}
		if _, code := p.call(Grep, fmt.Sprintf(`{"pattern":".","path":%q}`, path)); code != fault.FSOutOfScope {
			t.Errorf("Grep in %s: %q", path, code)
		}
	}
}

// Whatever the rules, a search from the top finds exactly the files that are
// readable, as far as directories that are readable or lead to a rule go.
func TestSearchFindsWhatIsReadable(t *testing.T) {
	dir, file := project(t, "", "a/b/c/1 = x", "a/b/2 = x", "a/3 = x", "b/c/4 = x", "b/5 = x", "pwd/6 = x")
	var files []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	target := rapid.SampledFrom([]string{".", "a", "a/b", "a/b/c", "a/b/c/1", "b", "b/c", "b/5", "missing/x"})
	level := rapid.SampledFrom([]scope.Permission{scope.Read, scope.Write})
	rule := rapid.Custom(func(t *rapid.T) ScopeRule {
		return ScopeRule{Target: target.Draw(t, "target"), Permission: level.Draw(t, "level"), Recursive: true}
	})
	rapid.Check(t, func(t *rapid.T) {
		m := &Manifest{File: file, Pod: PodMeta{Name: "n", Pwd: "pwd"}, Scope: ScopeConfig{
			Base:  BaseManifest,
			Allow: append(rapid.SliceOfN(rule, 0, 4).Draw(t, "allow"), ScopeRule{Target: "pwd", Permission: scope.Read, Recursive: true}),
			Deny:  slices.DeleteFunc(rapid.SliceOfN(rule, 0, 3).Draw(t, "deny"), func(r ScopeRule) bool { return r.Target == "." }),
		}}
		p, err := FromManifest(m, NewWorker(&script{}), new(MemoryStore))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var want []string
		for _, f := range files {
			if p.Scope().IsReadable(f) {
				want = append(want, f)
			}
		}
		r := p.Call(context.Background(), Glob, json.RawMessage(fmt.Sprintf(`{"pattern":"**","path":%q,"no_ignore":true}`, dir)))
		got := strings.Split(strings.TrimSuffix(r.Text, "\n"), "\n")
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v\n%s", r.Error, diff)
		}
	})
}

// Covers: S0-02, S0-09, S0-31, S0-32, S0-44, S0-45, S0-47, S0-48, S0-69, S0-70, S0-71, S0-72, S0-80
func TestNewNeedsEverything(t *testing.T) {
	dir, file := project(t, onManifest, "src/", "docs/", "l -> src")
	m, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	pwd, s, err := m.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	w, store := NewWorker(new(script)), new(MemoryStore)
	for name, c := range map[string]struct {
		m     *Manifest
		w     *Worker
		store Store
		pwd   string
		s     *scope.Scope
		want  fault.Code
	}{
		"everything":        {m, w, store, pwd, s, ""},
		"a link to pwd":     {m, w, store, filepath.Join(dir, "l"), s, ""},
		"no manifest":       {nil, w, store, pwd, s, fault.PodMissing},
		"no worker":         {m, nil, store, pwd, s, fault.PodMissing},
		"no model":          {m, NewWorker(nil), store, pwd, s, fault.PodMissing},
		"no store":          {m, w, nil, pwd, s, fault.PodMissing},
		"no scope":          {m, w, store, pwd, nil, fault.PodMissing},
		"an empty scope":    {m, w, store, pwd, new(scope.Scope), fault.PodPwd},
		"no pwd":            {m, w, store, "", s, fault.PodPwd},
		"a relative pwd":    {m, w, store, "src", s, fault.PodPwd},
		"a pwd outside":     {m, w, store, dir, s, fault.PodPwd},
		"a missing pwd":     {m, w, store, filepath.Join(pwd, "x"), s, fault.PodPwd},
		"a denied pwd":      {m, w, store, filepath.Join(pwd, ".env"), s, fault.PodPwd},
		"a manifest's file": {m, w, store, file, s, fault.PodPwd},
	} {
		p, err := New(c.m, c.w, c.store, c.pwd, c.s)
		is(t, name, err, c.want)
		if (p == nil) != (err != nil) {
			t.Errorf("%s: %v with %v", name, p, err)
		}
		if p == nil {
			continue
		}
		if p.Pwd() != pwd || p.Scope() != s || p.Name() != "agent-foo" || p.Session() == "" {
			t.Errorf("%s: %s in %s", name, p.Name(), p.Pwd())
		}
		p.Close()
	}
	if _, err := FromManifest(nil, w, store); fault.CodeOf(err) != fault.PodMissing {
		t.Error(err)
	}
	if _, err := FromFile(filepath.Join(dir, "none"), w, store); fault.CodeOf(err) != fault.PodManifest {
		t.Error(err)
	}
}

// The checks run when a Pod is made, not only when its manifest was loaded.
//
// Covers: S0-49, S0-50, S0-73, C-33
func TestFromManifestChecksAgain(t *testing.T) {
	_, file := project(t, onManifest, "src/", "docs/", "elsewhere/")
	m, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(filepath.Dir(file), "src")
	if err := errors.Join(os.Remove(src), os.Symlink("elsewhere", src)); err != nil {
		t.Fatal(err)
	}
	p, err := FromManifest(m, NewWorker(new(script)), new(MemoryStore))
	if err != nil || p.Pwd() != filepath.Join(filepath.Dir(file), "elsewhere") {
		t.Fatalf("a link in its place: %v", err) // pwd and target lead to the same place
	}
	p.Close()
	m.Scope.Deny = append(m.Scope.Deny, ScopeRule{Target: ".", Permission: scope.Read, Recursive: true})
	_, err = FromManifest(m, NewWorker(new(script)), new(MemoryStore))
	is(t, "denied since", err, fault.PodPwd)
	_, err = RestoreFromManifest(t.Context(), "x", m, new(script), new(MemoryStore))
	is(t, "denied since", err, fault.PodPwd)
	if err := os.Remove(src); err != nil {
		t.Fatal(err)
	}
	m.Scope.Deny = nil
	_, err = FromManifest(m, NewWorker(new(script)), new(MemoryStore))
	is(t, "gone since", err, fault.PodPwd)
}

// A manifest made by hand gets the checks of one that was read.
//
// Covers: S0-26, S0-28, S0-50, S0-65
func TestManifestMadeByHand(t *testing.T) {
	whole := ScopeRule{Target: "/", Permission: scope.Read, Recursive: true}
	for _, c := range []struct {
		name string
		m    Manifest
		want []string
	}{
		{"right", Manifest{Pod: PodMeta{"n", "/"}, Scope: ScopeConfig{Allow: []ScopeRule{whole}}}, nil},
		{"empty", Manifest{}, []string{
			"0:0 pod.manifest pod.name (missing)", "0:0 pod.manifest scope.allow (no_allow)", "0:0 pod.pwd pod.pwd (missing)"}},
		{"no rule", Manifest{Pod: PodMeta{"n", "/"}}, []string{"0:0 pod.manifest scope.allow (no_allow)"}},
		{"bad rules", Manifest{Pod: PodMeta{"a\x07", "/"}, Scope: ScopeConfig{
			Base: "cwd", Allow: []ScopeRule{{}, {Target: "x", Permission: scope.Read, Delete: true}},
			Deny: []ScopeRule{{Target: "/etc"}, {Target: "/usr", Permission: scope.Write, Delete: true}},
		}}, []string{
			"0:0 pod.manifest pod.name (control)",
			"0:0 pod.manifest scope.base (base)",
			"0:0 policy.rule_permission scope.allow[0].permission (missing_permission)",
			"0:0 policy.rule_delete scope.allow[1].delete (delete)",
			"0:0 policy.rule_permission scope.deny[0].permission (missing_permission)",
			"0:0 policy.rule_delete scope.deny[1].delete (delete)",
			"0:0 policy.rule_target scope.allow[0].target (empty)",
		}},
		{"a level that does not exist", Manifest{Pod: PodMeta{"n", "/"}, Scope: ScopeConfig{Allow: []ScopeRule{{Target: "/", Permission: 3}}}},
			[]string{"0:0 policy.rule_permission scope.allow[0].permission (missing_permission)"}},
	} {
		_, _, err := c.m.Resolve()
		if diff := cmp.Diff(c.want, problems(t, err)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
		p, err := FromManifest(&c.m, NewWorker(new(script)), new(MemoryStore))
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			p.Close()
		}
	}
}

// Rules hold at the targets of links; what cannot be resolved is refused.
func TestTargetsAreResolved(t *testing.T) {
	dir, file := project(t, "", "real/sub/f = F", "pwd/", "link -> real", "loop -> loop", "dangling -> nowhere", "file = x")
	for _, c := range []struct{ allow, deny, want string }{
		{"link", "link/sub", ""},
		{"link/new/later", "real/none", ""},
		{"loop", "", "policy.rule_target scope.allow[1].target (unresolvable)"},
		{"loop/x", "", "policy.rule_target scope.allow[1].target (unresolvable)"},
		{"dangling", "", "policy.rule_target scope.allow[1].target (dangling)"},
		{"dangling/x/y", "", "policy.rule_target scope.allow[1].target (dangling)"},
		{"file/x", "", "policy.rule_target scope.allow[1].target (unresolvable)"},
		{"real", "dangling", "policy.rule_target scope.deny[0].target (dangling)"},
		{strings.Repeat("n", 300), "", "policy.rule_target scope.allow[1].target (unresolvable)"},
	} {
		m := &Manifest{File: file, Pod: PodMeta{Name: "n", Pwd: "pwd"}, Scope: ScopeConfig{Base: BaseManifest,
			Allow: []ScopeRule{{Target: "pwd", Permission: scope.Read, Recursive: true}, {Target: c.allow, Permission: scope.Write, Recursive: true}}}}
		if c.deny != "" {
			m.Scope.Deny = []ScopeRule{{Target: c.deny, Permission: scope.Read, Recursive: true}}
		}
		_, s, err := m.Resolve()
		got := strings.TrimPrefix(strings.Join(problems(t, err), "\n"), "0:0 ")
		if got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.allow, c.deny, got, c.want)
		}
		if c.allow == "link" && err == nil {
			for path, want := range map[string]scope.Permission{"real/x": scope.Write, "real/sub/f": scope.None, "link/sub/f": scope.None, "link/x": scope.None} {
				if got := s.PermissionAt(filepath.Join(dir, path)); got != want {
					t.Errorf("%s: %v, want %v", path, got, want)
				}
			}
		}
	}
}

// A deny also holds where it was written, so that a link on the way cannot be
// replaced by a directory to get around it.
func TestDenyHoldsAsSpelled(t *testing.T) {
	p := podIn(t, "allow=[{target='.',permission='write'}]\ndeny=[{target='link/secret',permission='read'}]", "real/secret = S", "link -> real")
	for _, path := range []string{"real/secret", "link/secret"} {
		if got := p.Scope().PermissionAt(p.path(path)); got != scope.None {
			t.Errorf("%s: %v", path, got)
		}
	}
	if err := errors.Join(os.Remove(p.path("link")), os.Mkdir(p.path("link"), 0o755), os.Rename(p.path("real/secret"), p.path("link/secret"))); err != nil {
		t.Fatal(err)
	}
	if _, code := p.call(Read, `{"path":"../link/secret"}`); code != fault.FSOutOfScope {
		t.Errorf("after the link was replaced: %q", code)
	}
}
