package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/scope"
)

// grow makes a tree from a text: "dir/", "file", "file*" (executable),
// "link -> target". It returns the tree's resolved root.
func grow(t *testing.T, lines ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		name, target, link := strings.Cut(line, " -> ")
		path := filepath.Join(root, strings.TrimSuffix(name, "*"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			if strings.HasPrefix(target, "ROOT") {
				target = root + strings.TrimPrefix(target, "ROOT")
			}
			if err = os.Symlink(target, path); err != nil {
				t.Skipf("no symbolic links: %v", err)
			}
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		case strings.HasSuffix(name, "*"):
			err = os.WriteFile(path, []byte("#!/bin/true "+name+"\n"), 0o700)
		default:
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Covers: FS-02, FS-03
func TestResolveLinks(t *testing.T) {
	root := grow(t, "d/e/f", "file", "up -> d/e/..", "abs -> ROOT/d/e", "chain -> up", "gone -> nowhere/x", "deep -> d/gone2/x",
		"self -> self", "a -> b", "b -> a", "grow -> grow/x", "slash -> d/e/", "d/in -> ../abs", "mid -> d")
	tests := []struct{ path, want, existing string }{
		{"d/e/f", "d/e/f", "d/e/f"},
		{"up/e", "d/e", "d/e"},
		{"abs/f", "d/e/f", "d/e/f"},
		{"chain/in/f", "d/e/f", "d/e/f"},
		{"slash/f", "d/e/f", "d/e/f"},
		{"nope", "missing nope", "nope"},
		{"d/nope/x/y", "missing d/nope", "d/nope/x/y"},
		{"mid/nope/x", "missing d/nope", "d/nope/x"},
		{"abs/nope", "missing d/e/nope", "d/e/nope"},
		{"gone", "dangling gone", "dangling gone"},
		{"gone/more", "dangling gone", "dangling gone"},
		{"deep", "dangling deep", "dangling deep"},
		{"self", "cycle self", "cycle self"},
		{"a/x", "cycle a", "cycle a"},
		{"grow", "cycle grow", "cycle grow"},
		{"file/x", "not_directory file", "not_directory file"},
	}
	say := func(path string, err *linkError) string {
		if err != nil {
			return err.Reason + " " + strings.TrimPrefix(err.At, root+"/")
		}
		return strings.TrimPrefix(path, root+"/")
	}
	for _, tt := range tests {
		got, err := resolve(filepath.Join(root, tt.path))
		if say(got, err) != tt.want {
			t.Errorf("resolve(%s) = %s, want %s", tt.path, say(got, err), tt.want)
		}
		got, err = resolveExisting(filepath.Join(root, tt.path))
		if say(got, err) != tt.existing {
			t.Errorf("resolveExisting(%s) = %s, want %s", tt.path, say(got, err), tt.existing)
		}
	}
}

// basic is an input over a tree that has project/, state/ and tool*.
func basic(root string) Input {
	return Input{
		Profile: "development",
		Workspace: WorkspaceInput{
			Root: filepath.Join(root, "project"), Name: "w", Policy: "deny_outside", Source: "agent.yaml:3:5",
		},
		Resources: Resources{Profile: "normal", MemoryMiB: 4096, Processes: 16, Timeout: time.Hour},
		Network:   Network{Mode: "none", UnixSockets: "none"},
		Own: Own{
			Config: filepath.Join(root, "agent.yaml"), Local: filepath.Join(root, "agent.local.yaml"),
			StateDir: filepath.Join(root, "state/agent-mcp"),
		},
	}
}

// verdict resolves in and returns its problems as "code reason", or nil.
func verdict(t *testing.T, in Input) []string {
	t.Helper()
	_, err := Resolve(in)
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[*Problems](err)
	if !ok {
		t.Fatalf("%T is not *Problems", err)
	}
	var out []string
	for _, p := range all.List {
		if p.Source == "" {
			t.Errorf("problem without a place: %s", p)
		}
		out = append(out, string(p.Code)+" "+p.Reason)
	}
	return out
}

// Covers: S1-157, S1-158, S1-159, FS-01, FS-08, FS-09
func TestResolve(t *testing.T) {
	root := grow(t, "real/", "project -> real", "data/", "out/", "rt/bin/py*", "tool*", "state/agent-mcp/", "agent.yaml")
	in := basic(root)
	in.Mounts = []MountInput{
		{filepath.Join(root, "data"), "read_only", "m0"}, {filepath.Join(root, "out"), "read_write_delete", "m1"},
	}
	in.Entries = []EntryInput{
		{"py", filepath.Join(root, "rt/bin/py"), filepath.Join(root, "rt"), "e0"}, {"tool", filepath.Join(root, "tool"), "", "e1"},
	}
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range r.Effective.Roots {
		got = append(got, fmt.Sprintf("%s %s %s %s", x.Kind, strings.TrimPrefix(x.Path, root), x.Capability, x.Source))
	}
	want := []string{
		"workspace /real RWDX agent.yaml:3:5", "mount /data R m0", "mount /out RWD m1",
		"runtime /rt RX e0", "executable /rt/bin/py RX e0", "executable /tool RX e1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	if w := r.Effective.Workspace; w.Root != filepath.Join(root, "real") || w.Logical != filepath.Join(root, "project") {
		t.Errorf("workspace %+v", w)
	}
	in.Profile = "readonly"
	if r, err = Resolve(in); err != nil || r.Effective.Roots[0].Capability != scope.R {
		t.Errorf("readonly: %v %v", r, err)
	}
	in.Profile = "" // a profile that nobody set must not be more than readonly
	if r, err = Resolve(in); err != nil || r.Effective.Roots[0].Capability != scope.R {
		t.Errorf("no profile: %v %v", r, err)
	}
}

// Covers: S1-160, FS-09
//
// Each row is a change of an input that resolves; without the change it does.
func TestRefused(t *testing.T) {
	tree := []string{"project/sub/rt/bin/", "project/tool*", "data/deep/", "rt/bin/py*", "tool*", "plain", "state/agent-mcp/in/",
		"home/work/", "loop -> loop", "lost -> gone", "alias -> project", "\x82\xa0dir/", "odd -> \x82\xa0dir", "project/\x82\xa0dir/"}
	mount := func(path, access string) func(*Input, string) {
		return func(in *Input, root string) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			in.Mounts = append(in.Mounts, MountInput{path, access, "m"})
		}
	}
	workspace := func(path string) func(*Input, string) {
		return func(in *Input, root string) { in.Workspace.Root = filepath.Join(root, path) }
	}
	entry := func(alias, path, runtime string) func(*Input, string) {
		return func(in *Input, root string) {
			e := EntryInput{alias, filepath.Join(root, path), "", "e"}
			if runtime != "" {
				e.RuntimeRoot = filepath.Join(root, runtime)
			}
			in.Entries = append(in.Entries, e)
		}
	}
	tests := []struct {
		name string
		do   func(in *Input, root string)
		want string
	}{
		{"workspace missing", workspace("none"), "policy.unresolvable unresolvable_missing"},
		{"workspace dangling", workspace("lost"), "policy.unresolvable unresolvable_dangling"},
		{"workspace cycle", workspace("loop"), "policy.unresolvable unresolvable_cycle"},
		{"workspace a file", workspace("plain"), "policy.unresolvable unresolvable_not_directory"},
		{"workspace holds the state", workspace("."), "policy.root root_holds_state"},
		{"workspace in the state", workspace("state/agent-mcp/in"), "policy.root root_in_state"},
		{"workspace a home", workspace("home/work"), "policy.root root_home"},
		{"workspace above a home", workspace("home"), "policy.root root_holds_home"},
		{"mount of the top", mount("/", "read_write"), "policy.root root_top"},
		{"mount twice", func(in *Input, root string) {
			mount("data", "read_only")(in, root)
			mount("data", "read_write")(in, root)
		}, "policy.root root_twice"},
		{"mount is the workspace", mount("alias", "read_only"), "policy.root root_twice"},
		{"mount is everything", mount("/", "read_only"), "policy.root mount_whole"},
		{"write without delete in the workspace", mount("project/sub", "read_write"), "policy.nested nested"},
		{"write without delete in a mount with it", func(in *Input, root string) {
			mount("data", "read_write_delete")(in, root)
			mount("data/deep", "read_write")(in, root)
		}, "policy.nested nested"},
		{"mount in a runtime root", func(in *Input, root string) {
			entry("py", "rt/bin/py", "rt")(in, root)
			mount("rt/bin", "read_only")(in, root)
		},
			"policy.entry entry_in_mount"},
		{"runtime root in the workspace", entry("py", "tool", "project/sub/rt"), "policy.runtime_writable runtime_writable"},
		{"runtime root holds the workspace", entry("py", "tool", "."), "policy.runtime_writable runtime_writable"},
		{"runtime root missing", entry("py", "tool", "none"), "policy.unresolvable unresolvable_missing"},
		{"entry missing", entry("a", "none", ""), "policy.unresolvable unresolvable_missing"},
		{"entry a directory", entry("a", "data", ""), "policy.entry entry_not_regular"},
		{"entry not executable", entry("a", "plain", ""), "policy.entry entry_not_executable"},
		{"entry in a mount", func(in *Input, root string) {
			mount("rt", "read_only")(in, root)
			entry("a", "rt/bin/py", "")(in, root)
		}, "policy.entry entry_in_mount"},
		{"alias twice", func(in *Input, root string) { entry("a", "tool", "")(in, root); entry("a", "rt/bin/py", "")(in, root) }, "policy.entry entry_twice"},
		{"alias a path", entry("a/b", "tool", ""), "policy.entry entry_alias"},
		{"alias an option", entry("-a", "tool", ""), "policy.entry entry_alias"},
		{"alias empty", entry("", "tool", ""), "policy.entry entry_alias"},
		{"scope without the root", func(in *Input, _ string) {
			in.Scope = &ScopeInput{AllowGiven: true, Allow: []RuleInput{{"sub", "write", true, false, "s"}}, Source: "s"}
		}, "policy.root scope_root"},
		{"scope denies the root", func(in *Input, _ string) {
			in.Scope = &ScopeInput{Deny: []RuleInput{{".", "read", false, false, "s"}}, Source: "s"}
		}, "policy.root scope_root"},
		{"scope allows nothing", func(in *Input, _ string) { in.Scope = &ScopeInput{AllowGiven: true, Source: "s"} }, "policy.root scope_root"},
		{"scope through a lost link", func(in *Input, root string) {
			in.Scope = &ScopeInput{Deny: []RuleInput{{filepath.Join(root, "lost"), "read", true, false, "s"}}, Source: "s"}
		}, "policy.unresolvable unresolvable_dangling"},
		{"scope of no UTF-8", func(in *Input, root string) {
			in.Scope = &ScopeInput{Deny: []RuleInput{{filepath.Join(root, "odd"), "read", true, false, "s"}}, Source: "s"}
		}, "policy.unresolvable unresolvable_encoding"},
		{"mount of no UTF-8", mount("odd", "read_only"), "policy.unresolvable unresolvable_encoding"},
		{"host tool of no UTF-8", func(in *Input, root string) {
			if err := os.Symlink("\x82\xa0dir", filepath.Join(root, "project/.vscode")); err != nil {
				panic(err)
			}
			in.Workspace.ProtectHostTools = true
		}, "policy.unresolvable unresolvable_encoding"},
		{"environment", func(in *Input, _ string) { in.Environment = []Variable{{"LD_PRELOAD", "x", "v"}} }, "policy.environment environment_loader"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := grow(t, tree...)
			t.Setenv("HOME", filepath.Join(root, "home/work"))
			in := basic(root)
			if got := verdict(t, in); got != nil {
				t.Fatalf("the unchanged input is refused: %q", got)
			}
			tt.do(&in, root)
			if got := verdict(t, in); !slices.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A path that is no UTF-8 is told so that a person can tell it from others.
func TestOddPathsAreQuoted(t *testing.T) {
	root := grow(t, "project/", "state/agent-mcp/", "agent.yaml")
	in := basic(root)
	in.Own.SkillDirs = []string{filepath.Join(root, "skills\xfe")}
	_, err := Resolve(in)
	all, ok := errors.AsType[*Problems](err)
	if !ok || len(all.List) != 1 || !strings.HasSuffix(all.List[0].Args["path"], `skills\xfe"`) {
		t.Errorf("%v", err)
	}
	in.Own.SkillDirs[0] = filepath.Join(root, "skills\u00fe")
	if got := verdict(t, in); got != nil { // the twin
		t.Error(got)
	}
}

// What is next to the refused is accepted.
func TestAccepted(t *testing.T) {
	root := grow(t, "project/sub/rt/bin/py*", "data/in/", "rt/bin/py*", "tool*", "state/agent-mcp/", "home/work/p/")
	t.Setenv("HOME", filepath.Join(root, "home/work"))
	for name, do := range map[string]func(*Input){
		"read-only home":           func(in *Input) { in.Profile = "readonly"; in.Workspace.Root = filepath.Join(root, "home/work") },
		"directory in the home":    func(in *Input) { in.Workspace.Root = filepath.Join(root, "home/work/p") },
		"workspace in a read-only": func(in *Input) { in.Mounts = []MountInput{{root, "read_only", "m"}} },
		"wider mount in a mount": func(in *Input) {
			in.Mounts = []MountInput{{filepath.Join(root, "data"), "read_only", "m"}, {filepath.Join(root, "data/in"), "read_write", "m"}}
		},
		"one runtime root for two": func(in *Input) {
			rt := filepath.Join(root, "rt")
			in.Entries = []EntryInput{{"a", filepath.Join(rt, "bin/py"), rt, "e"}, {"b", filepath.Join(root, "tool"), rt, "e"}}
		},
		"runtime root that scope closes": func(in *Input) {
			in.Scope = &ScopeInput{Deny: []RuleInput{{"sub/rt", "write", true, false, "s"}}, Source: "s"}
			rt := filepath.Join(root, "project/sub/rt")
			in.Entries = []EntryInput{{"a", filepath.Join(rt, "bin/py"), rt, "e"}}
		},
		"runtime root in a read-only workspace": func(in *Input) {
			in.Profile = "readonly"
			rt := filepath.Join(root, "project/sub/rt")
			in.Entries = []EntryInput{{"a", filepath.Join(rt, "bin/py"), rt, "e"}}
		},
	} {
		in := basic(root)
		do(&in)
		if got := verdict(t, in); got != nil {
			t.Errorf("%s: refused: %q", name, got)
		}
	}
}

// Several things that are wrong are told at once.
func TestAllProblemsAtOnce(t *testing.T) {
	root := grow(t, "state/agent-mcp/")
	in := basic(root)
	in.Mounts = []MountInput{{filepath.Join(root, "none"), "read_only", "m"}}
	in.Entries = []EntryInput{{"", filepath.Join(root, "none"), "", "e"}}
	in.Environment = []Variable{{"A_TOKEN", "", "v"}}
	if got := verdict(t, in); len(got) != 5 {
		t.Errorf("got %d problems: %q", len(got), got)
	}
}

// Covers: SD-21, C-57
func TestEnvironmentNames(t *testing.T) {
	for name, want := range map[string]string{
		"LANG": "", "GOFLAGS": "", "PYTHONPATH": "", "KEYBOARD": "", "MONKEYS_EAT": "", "PATH": "", "AUTHOR": "", "A1": "",
		"LD_PRELOAD": "loader", "ld_library_path": "loader", "LD_ANYTHING_NEW": "loader", "DYLD_INSERT_LIBRARIES": "loader",
		"BASH_ENV": "loader", "NODE_OPTIONS": "loader", "GIT_SSH_COMMAND": "loader", "GLIBC_TUNABLES": "loader",
		"GITHUB_TOKEN": "credential", "MY_SECRET": "credential", "APP_KEYS_0": "credential", "OPENAI_API_KEY": "credential",
		"SECRETS": "credential", "db_password": "credential", "SSH_AUTH_SOCK": "credential", "NPM_AUTH": "credential", "APIKEY": "credential",
		"GH_PAT": "credential", "MYSQL_PWD": "credential", "AWS_ACCESS_KEY_ID": "credential", "GOOGLE_APPLICATION_CREDENTIALS": "credential",
		"": "name", "A B": "name", "A=B": "name", "1A": "name", "A\n": "name", "É": "name",
	} {
		if want != "" {
			want = "environment_" + want
		}
		if got := judgeVariable(Variable{Name: name}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := judgeVariable(Variable{Name: "A", Value: "x\x00y"}); got != "environment_value" {
		t.Errorf("NUL in a value: %q", got)
	}
}

// Covers: S1-217
func TestShells(t *testing.T) {
	for path, want := range map[string]bool{
		"/bin/sh": true, "/bin/bash": true, "/usr/bin/dash": true, "/usr/bin/zsh-5.9": true, "/usr/bin/ksh93": true, "/bin/busybox": true,
		`/x/pwsh`: true, "/x/cmd.exe": true, "/x/PowerShell.EXE": true, "/usr/bin/fish": true,
		"/usr/bin/python3.11": false, "/usr/bin/ssh": false, "/usr/bin/git": false, "/x/sh/tool": false,
	} {
		if isShell(path) != want {
			t.Errorf("isShell(%s) = %v", path, !want)
		}
	}
}

// Covers: S1-217
//
// What decides is the resolved name: an innocent link to a shell is a shell.
func TestShellBehindALink(t *testing.T) {
	root := grow(t, "project/", "real/bash*", "helper -> real/bash", "bash -> tool", "tool*", "state/agent-mcp/")
	in := basic(root)
	in.Entries = []EntryInput{{"h", filepath.Join(root, "helper"), "", "e"}, {"b", filepath.Join(root, "bash"), "", "e"}}
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Effective.Entries; !e[0].Shell || e[1].Shell || e[0].Logical != filepath.Join(root, "helper") {
		t.Errorf("entries %+v", e)
	}
}

func TestRunnersAreWarnedOf(t *testing.T) {
	root := grow(t, "project/", "python3.11*", "py -> python3.11", "lint*", "find*", "state/agent-mcp/")
	in := basic(root)
	for _, name := range []string{"py", "lint", "find"} {
		in.Entries = append(in.Entries, EntryInput{name, filepath.Join(root, name), "", "e"})
	}
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Reason+" "+w.Args["alias"]+" "+w.Args["name"])
	}
	if want := []string{"entry_runner py python", "entry_runner find find"}; !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

func TestScope(t *testing.T) {
	root := grow(t, "project/src/", "project/secret", "project/link -> secret", "elsewhere/", "state/agent-mcp/")
	in := basic(root)
	in.Scope = &ScopeInput{Source: "s", Deny: []RuleInput{
		{"link", "read", true, false, "d0"}, {"not/yet", "write", false, false, "d1"}, {filepath.Join(root, "elsewhere"), "read", true, false, "d2"},
	}}
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(root, "project")
	want := []scope.Rule{
		{Target: p + "/secret", Permission: scope.Read, Recursive: true, Source: "d0"},
		{Target: p + "/link", Permission: scope.Read, Recursive: true, Source: "d0"},
		{Target: p + "/not/yet", Permission: scope.Write, Source: "d1"},
		{Target: filepath.Join(root, "elsewhere"), Permission: scope.Read, Recursive: true, Source: "d2"},
	}
	if diff := cmp.Diff(want, r.Effective.Scope.Deny); diff != "" {
		t.Errorf("deny (-want +got):\n%s", diff)
	}
	if r.Effective.Scope.Allow != nil {
		t.Error("an absent allow list became a given one")
	}
	var reasons []string
	for _, w := range r.Warnings {
		reasons = append(reasons, w.Reason)
	}
	if want := []string{"scope_single_file", "scope_outside"}; !slices.Equal(reasons, want) {
		t.Errorf("warnings %q, want %q", reasons, want)
	}
	in.Scope = &ScopeInput{Source: "s", AllowGiven: true, Allow: []RuleInput{{".", "read", true, false, "a0"}, {"src", "write", true, true, "a1"}}}
	r, err = Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Effective.Scope.Allow; len(a) != 2 || !a[1].Delete || a[0].Delete || a[0].Target != p {
		t.Errorf("allow %+v", a)
	}
}

// Covers: SD-12
func TestProtected(t *testing.T) {
	root := grow(t, "project/.git/", "conf/agent.yaml", "agent.yaml -> project/hop", "project/hop -> ../conf/agent.yaml", "rt/bin/py*", "py -> rt/bin/py",
		"state/agent-mcp/", "exe", "prompt.md")
	in := basic(root)
	in.Own.Executable, in.Own.LocaleDirs = filepath.Join(root, "exe"), []string{filepath.Join(root, "locales")}
	in.Own.UserSystemPrompt, in.Own.SkillDirs = filepath.Join(root, "prompt.md"), []string{filepath.Join(root, "skills")}
	in.Workspace.ProtectHostTools = true
	in.Entries = []EntryInput{{"py", filepath.Join(root, "py"), filepath.Join(root, "rt"), "e"}}
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Effective.Protected {
		line := strings.TrimPrefix(p.Path, root+"/") + " " + p.Why
		if p.Hidden {
			line += " hidden"
		}
		if p.Dir {
			line += " dir"
		}
		if p.Source == "" {
			t.Errorf("%s has no source", p.Path)
		}
		got = append(got, line)
	}
	want := []string{
		"agent.yaml config", "project/hop config", "conf/agent.yaml config", "agent.local.yaml local", "exe executable", "locales locales dir",
		"prompt.md prompt", "skills skills dir", "py entry", "rt/bin/py entry", "rt entry dir", "state/agent-mcp state hidden dir",
		"project/.git/hooks host_tool dir", "project/.git/config host_tool", "project/.git/config.worktree host_tool", "project/.git/commondir host_tool",
		"project/.envrc host_tool", "project/.vscode host_tool dir",
		"project/.idea host_tool dir", "project/.mcp.json host_tool", "project/.claude host_tool dir",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("protected (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(root, "project/.git")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "project/.git"), []byte("gitdir: /x"), 0o600); err != nil {
		t.Fatal(err)
	}
	has := func() bool {
		r, err := Resolve(in)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(r.Effective.Protected, func(p Protected) bool { return p.Path == filepath.Join(root, "project/.git") })
	}
	if !has() {
		t.Error("a gitfile is not protected")
	}
	if in.Workspace.ProtectHostTools = false; has() {
		t.Error("protect_host_tools: false protects a gitfile")
	}
}

// TestProtectedDanglingLink: what a broken link would lead to must not come
// into being either, nor anything on the way there.
func TestProtectedDanglingLink(t *testing.T) {
	root := grow(t, "project/.envrc -> gone/x", "project/.git -> repo", "project/.mcp.json -> ROOT/project/hop/m", "project/real/", "project/hop -> real",
		"agent.yaml", "state/agent-mcp/")
	in := basic(root)
	in.Workspace.ProtectHostTools = true
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	for path, dir := range map[string]bool{".envrc": false, "gone/x": false, ".git": true, "repo": true, ".mcp.json": false, "hop/m": false, "real/m": false} {
		found := slices.ContainsFunc(r.Effective.Protected, func(p Protected) bool {
			return p.Path == filepath.Join(root, "project", path) && p.Dir == dir && p.Why == "host_tool"
		})
		if !found {
			t.Errorf("%s is not protected", path)
		}
	}
}

// Covers: SD-22
func TestLowerLimitWins(t *testing.T) {
	root := grow(t, "project/", "state/agent-mcp/")
	for _, tt := range [][3]int64{{0, 0, 0}, {5, 0, 5}, {0, 7, 7}, {5, 7, 5}, {7, 5, 5}} {
		in := basic(root)
		in.MaxFileBytes, in.Resources.FileSizeBytes = tt[0], tt[1]
		r, err := Resolve(in)
		if err != nil || r.Effective.MaxFileBytes != tt[2] || r.Effective.Resources.FileSizeBytes != tt[2] {
			t.Errorf("%v: %+v %v", tt, r, err)
		}
	}
}

func TestPasswdHomes(t *testing.T) {
	const database = "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/usr/sbin:/x\nann:x:1000:1000::/home/ann:/bin/sh\n" +
		"broken\nnobody:x:65534:65534::/nonexistent:/x\nsvc:x:500:500::/srv/svc:/x\n\nodd:x:abc:1::/odd:/x\n"
	if runtimeHomes == nil {
		t.Skip("no user database on this system")
	}
	if got, want := runtimeHomes(strings.NewReader(database), 500), []string{"/root", "/home/ann", "/srv/svc"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
