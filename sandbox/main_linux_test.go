package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sunaba/internal/attack/act"
	"sunaba/policy"
	"sunaba/scope"
)

// TestMain makes the test binary its own Worker: Start re-executes it.
func TestMain(m *testing.M) {
	if InWorker() {
		err := Serve(func(in Inside) (Handler, error) {
			if string(in.Config) == `"commands"` {
				return Commands(in)
			}
			return &shell{in}, nil
		})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == attackWord {
		os.Exit(attack(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// shell is the tests' Handler: method "run" starts a command, "read" and
// "write" act as the Worker itself, "posture" describes the Worker.
type shell struct{ in Inside }

type order struct {
	Argv    []string
	Dir     string
	Stdin   string
	Timeout time.Duration
	Head    int
	Tail    int
}

type report struct {
	Out string
	Outcome
	Err string
}

func (s *shell) Handle(ctx context.Context, method string, params []byte) ([]byte, error) {
	var o order
	if err := json.Unmarshal(params, &o); err != nil {
		return nil, err
	}
	var r report
	switch method {
	case "run":
		r = s.run(ctx, o)
	case "write":
		if err := os.WriteFile(o.Argv[0], []byte(o.Argv[1]), 0o644); err != nil {
			r.Err = err.Error()
		}
	case "read":
		b, err := os.ReadFile(o.Argv[0])
		if r.Out = string(b); err != nil {
			r.Err = err.Error()
		}
	case "act": // of the Worker itself, as if a file tool had been taken over
		var said bytes.Buffer
		r.ExitCode = act.Main(o.Argv, &said)
		r.Out = said.String()
	case "panic":
		panic("as ordered")
	default:
		return nil, fmt.Errorf("unknown method %s", method)
	}
	return json.Marshal(r)
}

func (s *shell) run(ctx context.Context, o order) (r report) {
	image, err := os.Open(o.Argv[0])
	if err != nil {
		return report{Err: err.Error()}
	}
	defer image.Close()
	if o.Dir == "" {
		o.Dir = s.in.Policy.Workspace.Root
	}
	dir, err := os.Open(o.Dir)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer dir.Close()
	magic := make([]byte, 2)
	_, _ = image.ReadAt(magic, 0)
	r.Outcome, err = s.in.Runner.Run(ctx, Command{
		Image: image, Script: string(magic) == "#!", Argv: o.Argv, Dir: dir, Stdin: o.Stdin, Timeout: o.Timeout, Output: Limit{Head: o.Head, Tail: o.Tail},
	})
	if err != nil {
		r.Err = err.Error()
	}
	r.Out = string(r.Output.Head) + string(r.Output.Tail)
	return r
}

// fixture is a workspace with a sandbox around it.
type fixture struct {
	t    testing.TB
	root string
	p    policy.Effective
	s    *Sandbox
	// notify, refuse and machine become the sandbox's.
	notify func(Notice)
	refuse func(netip.AddrPort) bool
	// machine: none of its addresses, where it is nil, so that names lead to servers
	// of the tests.
	machine func() ([]netip.Prefix, error)
}

// newFixture makes the workspace; change may edit the policy before Start.
func newFixture(t testing.TB, change func(f *fixture)) *fixture {
	t.Helper()
	f := policyOnly(t)
	if change != nil {
		change(f)
	}
	f.start()
	return f
}

// policyOnly is newFixture without the sandbox.
func policyOnly(t testing.TB) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "ws")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, root: root, p: policy.Effective{
		Profile:   "development",
		Workspace: policy.Workspace{Root: root, Logical: root, Name: "workspace", Policy: "deny_outside"},
		Roots: []policy.Root{
			{Path: root, Logical: root, Kind: policy.RootWorkspace, Capability: scope.All},
			{Path: self(), Logical: self(), Kind: policy.RootExecutable, Capability: scope.R | scope.X},
		},
		Network:   policy.Network{Mode: "none", UnixSockets: "none"},
		Resources: policy.Resources{Profile: "normal", MemoryMiB: 1024, Processes: 16, Timeout: 30 * time.Second},
	}}
}

func (f *fixture) start() {
	f.t.Helper()
	machine := f.machine
	if machine == nil {
		machine = func() ([]netip.Prefix, error) { return nil, nil }
	}
	s, err := Start(context.Background(), Options{
		Policy: f.p, Placeholders: &plainPlaceholders{}, Notify: f.notify, Refuse: f.refuse, Machine: machine,
	})
	if err != nil {
		f.t.Fatalf("Start: %v", err)
	}
	f.s = s
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.t.Errorf("Close: %v", err)
		}
	})
}

// plainPlaceholders makes placeholders without a journal.
type plainPlaceholders struct{ made []Placeholder }

func (p *plainPlaceholders) Make(want []Placeholder) ([]Placeholder, error) {
	for _, w := range want {
		var err error
		if w.Dir {
			err = os.Mkdir(w.Path, 0o755)
		} else {
			var file *os.File
			if file, err = os.OpenFile(w.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
				err = file.Close()
			}
		}
		if err != nil {
			return nil, err
		}
		p.made = append(p.made, w)
	}
	return p.made, nil
}

func (p *plainPlaceholders) Remove() error {
	for _, m := range p.made {
		if err := os.Remove(m.Path); err != nil {
			return err
		}
	}
	p.made = nil
	return nil
}

func (f *fixture) call(method string, o order) report {
	f.t.Helper()
	if o.Head == 0 && o.Tail == 0 {
		o.Head, o.Tail = 64<<10, 64<<10
	}
	params, err := json.Marshal(o)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := f.s.Call(ctx, method, params)
	if err != nil {
		f.t.Fatalf("%s: %v", method, err)
	}
	var r report
	if err := json.Unmarshal(result, &r); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// sh runs a shell script inside.
func (f *fixture) sh(script string) report {
	f.t.Helper()
	return f.call("run", order{Argv: []string{"/bin/sh", "-c", script}})
}

// write makes a file of the host, with its parents.
func (f *fixture) write(path, content string) string {
	f.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.root, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *fixture) read(path string) string {
	f.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.root, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "\n")
}
