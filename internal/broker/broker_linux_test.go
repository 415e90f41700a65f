package broker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/audit"
	"sunaba/internal/journal"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
	"sunaba/tool"
)

func TestMain(m *testing.M) {
	if sandbox.InWorker() {
		_ = sandbox.Serve(NewWorker)
		os.Exit(1)
	}
	if len(os.Args) == 3 && os.Args[1] == dialWord {
		os.Exit(dial(os.Args[2]))
	}
	os.Exit(m.Run())
}

// memory is an audit in memory that can be made to fail.
type memory struct {
	mu      sync.Mutex
	records []audit.Record
	failAt  int // the number of the record that fails, from 1; 0: none
}

var errFull = errors.New("no space left")

func (m *memory) Append(r audit.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAt != 0 && len(m.records)+1 >= m.failAt {
		return errFull
	}
	m.records = append(m.records, r)
	return nil
}

func (m *memory) events() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, r := range m.records {
		out = append(out, r.Event)
	}
	return out
}

// fixture is one Task over a workspace with a shell and a copied program.
type fixture struct {
	t       *testing.T
	root    string
	program string
	audit   *memory
	box     *Box
}

func newFixture(t *testing.T, change func(*policy.Effective)) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, root: filepath.Join(base, "ws"), program: filepath.Join(base, "program"), audit: &memory{}}
	if err := os.Mkdir(f.root, 0o755); err != nil {
		t.Fatal(err)
	}
	f.write(f.program, "#!/bin/sh\necho approved\n")
	e := policy.Effective{
		Profile:   "development",
		Workspace: policy.Workspace{Root: f.root, Logical: f.root, Name: "workspace", Policy: "deny_outside"},
		Roots: []policy.Root{
			{Path: f.root, Logical: f.root, Kind: policy.RootWorkspace, Capability: scope.All},
			{Path: f.program, Logical: f.program, Kind: policy.RootExecutable, Capability: scope.R | scope.X},
		},
		Protected: []policy.Protected{{Path: filepath.Join(f.root, "agent.local.yaml"), Why: "local"}},
		Entries: []policy.Entry{
			{Alias: "program", Logical: f.program, Path: f.program, Identity: identify(t, f.program)},
		},
		Network:   policy.Network{Mode: "none", UnixSockets: "none"},
		Resources: policy.Resources{Profile: "normal", MemoryMiB: 1024, Processes: 16, Timeout: 30 * time.Second},
	}
	if change != nil {
		change(&e)
	}
	run, err := journal.OpenRun(filepath.Join(base, "state"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{
		Policy: e, Settings: Settings{Limits: tool.DefaultLimits()}, Audit: f.audit, Run: run, Log: slog.New(slog.DiscardHandler),
		Machine: func() ([]netip.Prefix, error) { return nil, nil }, // names lead to the tests' servers
	})
	if err != nil {
		t.Fatal(err)
	}
	f.box = b.Open(t.Context(), "session", "task")
	t.Cleanup(func() {
		if err := errors.Join(f.box.Close(), run.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func identify(t *testing.T, path string) policy.Identity {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	id, err := policy.Identify(file)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (f *fixture) write(path, content string) {
	f.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) call(name string, args any) (tool.Result, error) {
	f.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.box.Call(context.Background(), agent.Call{PlanTask: "t1", Name: name, Arguments: raw})
}

func codeOf(r tool.Result) fault.Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// TestRecords: every call is recorded before it acts, with its effects after
// it, correlated, marked as told by the Worker, and without its content.
//
// Covers: S1-227, S1-228, S1-229, NFR-07
func TestRecords(t *testing.T) {
	f := newFixture(t, nil)
	f.write(filepath.Join(f.root, "artifact"), "#!/bin/sh\nexec sleep ${1:-0}\n")
	for _, step := range []struct {
		name string
		args map[string]any
		want []string
		code fault.Code
	}{
		{tool.WriteFile, map[string]any{"path": "a", "content": "body"}, []string{"tool.call", "file.write"}, ""},
		{tool.ReadFile, map[string]any{"path": "a"}, []string{"tool.call"}, ""},
		{tool.RunCommand, map[string]any{"argv": []string{"program"}}, []string{"tool.call", "process.start", "process.exit"}, ""},
		{tool.RemovePath, map[string]any{"path": "a"}, []string{"tool.call", "file.delete"}, ""},
		{tool.ReadFile, map[string]any{"path": "/etc/passwd"}, []string{"tool.call", "tool.denied"}, fault.FSOutsideWorkspace},
		{tool.RunCommand, map[string]any{"argv": []string{"rm"}}, []string{"tool.call", "tool.denied"}, fault.ExecUnknownAlias},
		{tool.RunCommand, map[string]any{"argv": []string{"./artifact"}}, []string{"tool.call", "process.start", "process.exit"}, ""},
		{tool.RunCommand, map[string]any{"argv": []string{"./artifact", "1000"}, "timeout_seconds": 1}, []string{"tool.call", "process.start", "process.exit"}, fault.ExecTimeout},
		{tool.ReadFile, map[string]any{"path": "missing"}, []string{"tool.call"}, fault.FSNotFound},
		{tool.ReadFile, map[string]any{"colour": "red"}, nil, fault.ToolArguments},
	} {
		f.audit.records = nil
		r, err := f.call(step.name, step.args)
		if err != nil || codeOf(r) != step.code {
			t.Fatalf("%s %v: %+v, %v", step.name, step.args, r, err)
		}
		if diff := cmp.Diff(step.want, f.audit.events()); diff != "" {
			t.Errorf("%s %v: events (-want +got):\n%s", step.name, step.args, diff)
		}
		for _, rec := range f.audit.records {
			line, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			if rec.TaskID != "task" || rec.SessionID != "session" || rec.PlanTask != "t1" || rec.Tool != step.name {
				t.Errorf("not correlated: %s", line)
			}
			told := slices.Contains([]string{"file.write", "file.delete", "process.exit"}, rec.Event) ||
				rec.Event == "process.start" && rec.Argv0 != f.program
			if rec.Reported != told {
				t.Errorf("reported = %v: %s", rec.Reported, line)
			}
			if slices.Contains([]string{"body", "red"}, string(line)) {
				t.Errorf("content in the audit: %s", line)
			}
		}
	}
}

// TestLimitIsRecorded: the audit names the limit that stopped a command.
//
// Covers: S1-227
func TestLimitIsRecorded(t *testing.T) {
	f := newFixture(t, nil)
	f.write(filepath.Join(f.root, "many"), "#!/bin/sh\ni=0; while [ $i -lt 200 ]; do sleep 20 & i=$((i+1)); done; wait\n")
	f.write(filepath.Join(f.root, "one"), "#!/bin/sh\nsleep 0 & wait\n")
	for program, want := range map[string]string{"./many": "processes", "./one": ""} {
		f.audit.records = nil
		r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{program}})
		if err != nil || (codeOf(r) == fault.ExecLimit) != (want != "") {
			t.Fatalf("%s: %+v, %v", program, r, err)
		}
		last := f.audit.records[len(f.audit.records)-1]
		if last.Event != "process.exit" || last.Limit != want || last.Code != codeOf(r) || !last.Reported {
			t.Errorf("%s: %+v", program, last)
		}
	}
}

// TestUnrecordedIsNotDone: when a record cannot be written, the act does not
// happen, and the Task ends.
func TestUnrecordedIsNotDone(t *testing.T) {
	f := newFixture(t, nil)
	f.audit.failAt = 1
	if _, err := f.call(tool.WriteFile, map[string]any{"path": "a", "content": "x"}); fault.CodeOf(err) != fault.PlatformAudit {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.root, "a")); err == nil {
		t.Error("written without a record")
	}
	f.audit.failAt = 0
	f.box = f.box.broker.Open(t.Context(), "session", "task")                                               // the failure has ended the Task
	if r, err := f.call(tool.WriteFile, map[string]any{"path": "a", "content": "x"}); err != nil || !r.OK { // the twin
		t.Errorf("%+v, %v", r, err)
	}
}

// TestChangedExecutable: bytes that are not the approved ones are not started,
// whichever way they came there; the same bytes in another inode are.
//
// Covers: PRC-01, PRC-02, SEC-INV-05, AT-09, SD-34, S1-248, C-44
func TestChangedExecutable(t *testing.T) {
	original := "#!/bin/sh\necho approved\n"
	for name, change := range map[string]func(f *fixture){
		"overwritten, same length": func(f *fixture) { f.write(f.program, "#!/bin/sh\necho replaced\n"[:len(original)]) },
		"renamed over": func(f *fixture) {
			f.write(f.program+".new", "#!/bin/sh\necho replaced\n")
			if err := os.Rename(f.program+".new", f.program); err != nil {
				f.t.Fatal(err)
			}
		},
		"link": func(f *fixture) {
			f.write(f.program+".real", original)
			if err := errors.Join(os.Remove(f.program), os.Symlink(f.program+".real", f.program)); err != nil {
				f.t.Fatal(err)
			}
		},
		"gone": func(f *fixture) {
			if err := os.Remove(f.program); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			change(f)
			r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"program"}})
			if err != nil || r.OK || !Denial(codeOf(r)) {
				t.Errorf("%+v, %v", r, err)
			}
			if events := f.audit.events(); slices.Contains(events, "process.start") {
				t.Errorf("started: %v", events)
			}
		})
	}
	t.Run("same bytes again", func(t *testing.T) {
		f := newFixture(t, nil)
		f.write(f.program+".new", original)
		if err := os.Rename(f.program+".new", f.program); err != nil {
			t.Fatal(err)
		}
		if r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"program"}}); err != nil || r.Text != "approved\n" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestOutsideNeedsAPerson: with approve_outside and nobody to ask, a reach
// outside is refused at once, and never waits.
//
// Covers: SD-10
func TestOutsideNeedsAPerson(t *testing.T) {
	f := newFixture(t, func(e *policy.Effective) { e.Workspace.Policy = "approve_outside" })
	r, err := f.call(tool.ReadFile, map[string]any{"path": "/etc/passwd"})
	if err != nil || codeOf(r) != fault.ApprovalUnavailable {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := f.call(tool.ListFiles, map[string]any{}); err != nil || !r.OK {
		t.Errorf("inside: %+v, %v", r, err)
	}
}

// TestHugeArguments: what does not fit into a message is a refusal, not the
// end of the Task.
func TestHugeArguments(t *testing.T) {
	f := newFixture(t, nil)
	for size, want := range map[int]fault.Code{maxArguments - 100: "", maxArguments + 1: fault.FSTooLarge} {
		r, err := f.call(tool.WriteFile, map[string]any{"path": "big", "content": strings.Repeat("x", size)})
		if err != nil || codeOf(r) != want {
			t.Errorf("%d bytes: %s, %v", size, codeOf(r), err)
		}
		if err := os.Remove(filepath.Join(f.root, "big")); want == "" && err != nil {
			t.Error(err)
		}
	}
}

// TestNothingRemains: a closed Box leaves no placeholder in the workspace,
// whether it was used, or closed before its sandbox stood.
//
// Covers: S1-203, SEC-INV-10, SD-19
func TestNothingRemains(t *testing.T) {
	f := newFixture(t, nil)
	for range 5 {
		if err := f.box.broker.Open(t.Context(), "session", "unused").Close(); err != nil {
			t.Error(err)
		}
	}
	if r, err := f.call(tool.WriteFile, map[string]any{"path": "agent.local.yaml", "content": "x"}); err != nil || r.OK {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Lstat(filepath.Join(f.root, "agent.local.yaml")); err != nil {
		t.Errorf("no placeholder during the Task: %v", err)
	}
	for name, args := range map[string]map[string]any{
		tool.ListFiles: {}, tool.FindFiles: {"pattern": "**"}, tool.SearchFile: {"pattern": ".", "mode": "files"},
	} { // the model is not shown what is not the person's
		if r, err := f.call(name, args); err != nil || strings.Contains(r.Text, "agent.local.yaml") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if err := f.box.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(f.root)
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
