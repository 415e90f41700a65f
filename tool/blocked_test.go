package tool

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// SBX-001: a refusal by the sandbox is told apart from a failure that a file's
// mode or absence explains; the policy decides, not the program's words.
// Covers: C-69
func TestRunCommandNamesWhatTheSandboxRefused(t *testing.T) {
	run := &recorder{}
	b := newBox(t, map[string]string{"f": "x", "../shown/f": "x", "../kept/f": "x", "closed/f": "x", "sec/f": "x"}, func(e *Env) {
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
		root := e.Policy.Workspace.Root
		beside := filepath.Dir(root)
		for name, c := range map[string]scope.Capability{"shown": scope.R, "kept": scope.R | scope.W} {
			e.Policy.Roots = append(e.Policy.Roots, policy.Root{Path: filepath.Join(beside, name), Kind: policy.RootMount, Capability: c, Source: "agent.yaml:2"})
		}
		e.Policy.Scope = &policy.Narrowing{Deny: []scope.Rule{{Target: filepath.Join(root, "sec"), Permission: scope.Read, Recursive: true}}}
	})
	if err := os.Chmod(filepath.Join(b.root, "closed/f"), 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		output    string
		code      int
		operation any // nil: not marked
		path      string
	}{
		{"/bin/sh: 1: cannot create /opt/y: Directory nonexistent\n", 2, "access", "/opt/y"},
		{"sh: cannot create /etc/y: Read-only file system\n", 2, "write", "/etc/y"},
		{"cat: /home/me/.netrc: No such file or directory\n", 1, "access", "/home/me/.netrc"},
		{"PermissionError: [Errno 13] Permission denied: '/opt/x'\n", 1, "access", "/opt/x"},
		{"open /var/lib/x: permission denied\nmore\n", 1, "access", "/var/lib/x"},
		{"sh: 1: cannot create ../shown/f: Permission denied\n", 1, "write", "../shown/f"},
		{"touch: cannot touch ‘../shown/new’: Read-only file system\n", 1, "write", "../shown/new"},
		{"rm: cannot remove '../kept/f': Permission denied\n", 1, "delete", "../kept/f"},
		{"cat: sec/f: Permission denied\n", 1, "read", "sec/f"},
		{"connect: Network is unreachable\n", 1, "network", ""},
		{"curl: (6) Could not resolve host: example.com\n", 6, "network", ""},

		{"cannot create /etc/y: Read-only file system\n", 0, nil, ""}, // it went well all the same
		{"rm: cannot remove 'f': Permission denied\n", 1, nil, ""},
		{"sh: 1: cannot create ../kept/f: Permission denied\n", 1, nil, ""},
		{"cat: nothing: No such file or directory\n", 1, nil, ""},
		{"cat: ../shown/nothing: No such file or directory\n", 1, nil, ""},
		{"cat: /usr/share/nothing: No such file or directory\n", 1, nil, ""},
		{"cat: /tmp/nothing: No such file or directory\n", 1, nil, ""},
		{"Permission denied\n", 1, nil, ""},
		{": Permission denied\n", 1, nil, ""},
		{"", 1, nil, ""},
	} {
		run.outcome = sandbox.Outcome{Ended: true, ExitCode: c.code, Output: sandbox.Capture{Head: []byte(c.output)}}
		r := b.ok(RunCommand, args{"argv": []string{"x"}})
		var path any
		if c.path != "" {
			path = c.path
			if !filepath.IsAbs(c.path) {
				path = filepath.Join(b.root, c.path)
			}
		}
		if field(r, "blocked") != c.operation || field(r, "blocked_path") != path || (c.operation != nil) != (r.Hint != "") {
			t.Errorf("%q: %v, hint %q", c.output, r.Fields, r.Hint)
		}
	}
	if os.Geteuid() != 0 { // root reads whatever the mode
		run.outcome = sandbox.Outcome{Ended: true, ExitCode: 1, Output: sandbox.Capture{Head: []byte("sh: cannot open closed/f: Permission denied\n")}}
		if r := b.ok(RunCommand, args{"argv": []string{"x"}}); field(r, "blocked") != nil {
			t.Errorf("a file's mode: %v", r.Fields)
		}
	}
}

// TestBlockedNamesTheRule: the result says which setting took what a command
// tried, and where it stands.
func TestBlockedNamesTheRule(t *testing.T) {
	run := &recorder{}
	b := newBox(t, map[string]string{"f": "x", "sec/f": "x", "frozen/f": "x", "flat/f": "x", "../shown/f": "x"}, func(e *Env) {
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
		root := e.Policy.Workspace.Root
		e.Policy.Roots = append(e.Policy.Roots, policy.Root{Path: filepath.Join(filepath.Dir(root), "shown"), Kind: policy.RootMount, Capability: scope.R, Source: "agent.yaml:2"})
		e.Policy.Scope = &policy.Narrowing{
			Allow: []scope.Rule{
				{Target: filepath.Dir(root), Permission: scope.Read, Recursive: true, Source: "agent.yaml:5"},
				{Target: filepath.Join(root, "flat"), Permission: scope.Write, Delete: true, Source: "agent.yaml:6"},
				{Target: filepath.Join(root, "sub"), Permission: scope.Write, Recursive: true, Delete: true, Source: "agent.yaml:7"},
			},
			Deny: []scope.Rule{
				{Target: filepath.Join(root, "sec"), Permission: scope.Read, Recursive: true, Source: "agent.yaml:8"},
				{Target: filepath.Join(root, "sub/deep/frozen"), Permission: scope.Write, Recursive: true, Source: "agent.yaml:9"},
			},
		}
	})
	for output, want := range map[string][2]any{
		"cat: sec/f: Permission denied\n":                               {"read", "sandbox.scope.deny[0] (agent.yaml:8)"},
		"sh: cannot create f: Read-only file system\n":                  {"write", "sandbox.scope.allow[0] (agent.yaml:5)"},
		"sh: cannot create ../shown/f: Permission denied\n":             {"write", "sandbox.mounts[0] (read_only) (agent.yaml:2)"},
		"sh: cannot create flat/new: Permission denied\n":               {"create", "sandbox.scope.allow[1], recursive: false (agent.yaml:6)"},
		"rm: cannot remove 'flat/f': Permission denied\n":               {"create", "sandbox.scope.allow[1], recursive: false (agent.yaml:6)"},
		"mv: cannot move 'sub/deep' to 'x': Device or resource busy\n":  {"move", "sandbox.scope.deny[1] (agent.yaml:9)"},
		"cat: sub/f: Permission denied\n":                               {nil, nil},
		"mv: cannot move 'sub/x' to 'sub/y': Device or resource busy\n": {nil, nil},
	} {
		run.outcome = sandbox.Outcome{Ended: true, ExitCode: 1, Output: sandbox.Capture{Head: []byte(output)}}
		r := b.ok(RunCommand, args{"argv": []string{"x"}})
		if field(r, "blocked") != want[0] || field(r, "blocked_rule") != want[1] {
			t.Errorf("%q: %v", output, r.Fields)
		}
	}
}

// A name that is not found is told as a refusal where only some endpoints can
// be reached, and with what can be; a listed one that fails is not.
// Covers: C-69
func TestRunCommandNamesUnlistedHosts(t *testing.T) {
	open := policy.Endpoint{Host: "db.example", Port: 443}
	closed := policy.Endpoint{Host: "gone.example", Port: 443, Closed: policy.ClosedUnresolved}
	restricted := policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{open, closed}}
	local := policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: 5432}}}
	for _, c := range []struct {
		network policy.Network
		output  string
		hint    string
	}{
		{policy.Network{Mode: "none"}, "curl: (6) Could not resolve host: db.example\n", "blocked_network"},
		{local, "curl: (6) Could not resolve host: db.example\n", "blocked_endpoint"},
		{restricted, "curl: (6) Could not resolve host: other.example\n", "blocked_endpoint"},
		{restricted, "dial tcp: lookup sub.db.example: no such host\n", "blocked_endpoint"},
		{restricted, "curl: (6) Could not resolve host: gone.example\n", "blocked_endpoint"},
		{restricted, "curl: (6) Could not resolve host: DB.example.\n", ""},
		{restricted, "dial tcp: lookup db.example:443: no such host\n", ""},
	} {
		b := newBox(t, nil, func(e *Env) {
			e.Runner = &recorder{outcome: sandbox.Outcome{Ended: true, ExitCode: 6, Output: sandbox.Capture{Head: []byte(c.output)}}}
			e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
			e.Policy.Network = c.network
		})
		r := b.call(RunCommand, map[string]any{"argv": []string{"x"}})
		if r.Hint != c.hint {
			t.Errorf("%s %q: hint %q, want %q", c.network.Mode, c.output, r.Hint, c.hint)
		}
	}
}
