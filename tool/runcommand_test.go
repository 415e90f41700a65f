package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// recorder is a Runner that only remembers.
type recorder struct {
	last    sandbox.Command
	image   string // content of the handle
	dir     string
	runs    int
	outcome sandbox.Outcome
	err     error
}

func (r *recorder) Run(_ context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	data := make([]byte, 64)
	n, _ := c.Image.ReadAt(data, 0)
	r.last, r.image, r.dir = c, string(data[:n]), c.Dir.Name()
	r.runs++
	return r.outcome, r.err
}

// plain runs commands with os/exec, unconfined: for tests only.
type plain struct{}

func (plain) Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Image.Name(), c.Argv[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Stdin = c.Argv[0], c.Dir.Name(), strings.NewReader(c.Stdin)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	o := sandbox.Outcome{Ended: true, Output: sandbox.Capture{Head: out.Bytes()}}
	if extra := out.Len() - c.Output.Head - c.Output.Tail; extra > 0 {
		b := out.Bytes()
		o.Output = sandbox.Capture{Head: b[:c.Output.Head], Tail: b[len(b)-c.Output.Tail:], Dropped: int64(extra)}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		o.ExitCode, err = exit.ExitCode(), nil
	}
	if ctx.Err() != nil {
		o.Ended, o.Stopped, err = false, "timeout", nil
	}
	return o, err
}

// entry makes an Approved Entry Executable of the file at path.
func entry(t *testing.T, alias, path string) policy.Entry {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Skip(alias + " is missing: " + err.Error())
	}
	f, err := os.Open(resolved)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := policy.Identify(f)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Entry{Alias: alias, Logical: path, Path: resolved, Identity: id, Source: "agent.yaml:9", Shell: isShell(resolved)}
}

// program makes an executable file outside every workspace.
func program(t *testing.T, name, content string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func ended(code int) sandbox.Outcome { return sandbox.Outcome{Ended: true, ExitCode: code} }

// Covers: PRC-01, PRC-02, PRC-09, SD-34
func TestRunCommandStartsWhatWasApproved(t *testing.T) {
	tool, link := program(t, "tool", "\x7fELF one"), ""
	run := &recorder{outcome: ended(3)}
	b := newBox(t, map[string]string{"sub/": "", "tool": "planted"}, func(e *Env) {
		link = filepath.Join(filepath.Dir(tool), "logical")
		if err := os.Symlink(tool, link); err != nil {
			t.Fatal(err)
		}
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "tool", link)}
		e.Policy.Resources.Timeout = time.Hour
	})
	r := b.ok(RunCommand, args{"argv": []string{"tool", "-x", "a b"}, "working_dir": "sub", "stdin": "in"})
	hasFields(t, r, "exit_code=3 truncated=false")
	if want := (Effect{Kind: EffectExecute, Path: tool, Argv0: tool, ExitCode: 3}); len(r.Effects) != 1 || r.Effects[0] != want {
		t.Errorf("effects %v", r.Effects)
	}
	if got := strings.Join(run.last.Argv, "|"); got != link+"|-x|a b" || run.image != "\x7fELF one" || run.last.Script ||
		run.last.Stdin != "in" || run.dir != filepath.Join(b.root, "sub") || run.last.Timeout != defaultTimeout {
		t.Errorf("argv %q, image %q, dir %q, %+v", got, run.image, run.dir, run.last)
	}
	// The same program by either of its paths is the same entry.
	another := filepath.Join(filepath.Dir(tool), "another")
	if err := os.Symlink(tool, another); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{tool, link, another} {
		b.ok(RunCommand, args{"argv": []string{path}})
	}
	// Touched but equal: hashed again and started. Changed: refused, at once.
	now := time.Now()
	if err := os.Chtimes(tool, now, now); err != nil {
		t.Fatal(err)
	}
	b.ok(RunCommand, args{"argv": []string{"tool"}})
	runs := run.runs
	if err := os.WriteFile(tool, []byte("\x7fELF two"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := b.refused(RunCommand, args{"argv": []string{"tool"}}, "exec.hash_mismatch"); r.Error.Args["alias"] != "tool" {
		t.Errorf("%v", r.Error.Args)
	}
	b.refused(RunCommand, args{"argv": []string{link}}, "exec.hash_mismatch")
	// Replaced by a link to other bytes: refused as well.
	other := program(t, "other", "\x7fELF one")
	if err := errors.Join(os.Remove(tool), os.Symlink(other, tool)); err != nil {
		t.Fatal(err)
	}
	if r := b.call(RunCommand, args{"argv": []string{"tool"}}); r.OK {
		t.Error("a link in the place of an entry was started")
	}
	if run.runs != runs {
		t.Error("something was started")
	}
}

// EXEC-013: nothing is started because of where it lies.
// Covers: PRC-03, PRC-04, PRC-05, PRC-06a
func TestRunCommandClassifiesPaths(t *testing.T) {
	outside, shell := program(t, "tool", "x"), program(t, "bash", "x")
	root := filepath.Dir(program(t, "rt/bin/helper", "helper"))
	for _, name := range []string{"sh", "busybox1.36", "plain"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(root, "plain"), 0o755), os.Symlink("sh", filepath.Join(root, "innocent")),
		os.Symlink(outside, filepath.Join(root, "escape"))); err != nil {
		t.Fatal(err)
	}
	run := &recorder{outcome: ended(0)}
	b := newBox(t, map[string]string{
		"git": "planted", "run.sh": "#!/bin/sh\n", "bin/tool": "\x7fELF", "bin/sh": "\x7fELF", "data.txt": "x",
		"link": "-> " + outside, "shlink": "-> " + shell, "dir/": "",
	}, func(e *Env) {
		e.Runner = run
		known := entry(t, "gitt", outside)
		known.RuntimeRoot = filepath.Dir(root)
		known.Path, known.Logical = "/nowhere/gitt", "/nowhere/gitt"
		e.Policy.Entries = []policy.Entry{known}
	})
	for _, p := range []string{"git", "run.sh", "bin/tool", "bin/sh"} {
		if err := os.Chmod(filepath.Join(b.root, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	try := func(name string, more ...string) args { return args{"argv": append([]string{name}, more...)} }
	for _, tt := range []struct{ name, path, argv0 string }{
		{"./git", b.root + "/git", b.root + "/git"},
		{"run.sh/../bin/tool", b.root + "/bin/tool", b.root + "/bin/tool"},
		{"bin/sh", b.root + "/bin/sh", b.root + "/bin/sh"}, // one of the workspace's own
		{b.root + "/bin/tool", b.root + "/bin/tool", b.root + "/bin/tool"},
		{root + "/helper", root + "/helper", root + "/helper"},
	} {
		r := b.ok(RunCommand, try(tt.name))
		if r.Effects[0].Path != tt.path || run.last.Argv[0] != tt.argv0 {
			t.Errorf("%s: %v, argv[0] %s", tt.name, r.Effects, run.last.Argv[0])
		}
	}
	b.ok(RunCommand, try("./run.sh"))
	if !run.last.Script {
		t.Error("a script is not marked")
	}
	b.ok(RunCommand, args{"argv": []string{"./tool"}, "working_dir": "bin"})
	runs := run.runs
	for _, tt := range []struct{ name, code, reason string }{
		{"git", "exec.unknown_alias", "local"},
		{"git log", "exec.unknown_alias", "words"},
		{"gittt", "exec.unknown_alias", "near"},
		{"sh", "exec.unknown_alias", "shell"},
		{outside, "exec.not_approved", ""},
		{"/nowhere/else", "exec.not_approved", ""},
		{"link/", "exec.not_approved", ""},
		{"./link", "exec.not_approved", ""},
		{shell, "exec.shell_not_approved", ""},
		{"./shlink", "exec.shell_not_approved", ""},
		{root + "/sh", "exec.shell_not_approved", ""},
		{root + "/innocent", "exec.shell_not_approved", ""},
		{root + "/busybox1.36", "exec.shell_not_approved", ""},
		{root + "/escape", "exec.not_approved", ""},
		{root + "/../../" + filepath.Base(outside), "exec.not_approved", ""},
		{"./data.txt", "fs.no_execute", ""},
		{"./dir", "fs.is_directory", ""},
		{"./none", "fs.not_found", ""},
	} {
		b.refused(RunCommand, try(tt.name), fault.Code(tt.code), tt.reason)
	}
	b.refused(RunCommand, args{"argv": []string{"./git"}, "working_dir": "/etc"}, "fs.outside_workspace")
	b.refused(RunCommand, args{"argv": []string{"./git"}, "working_dir": "git"}, "fs.not_directory")
	if run.runs != runs {
		t.Error("something was started")
	}
	still := newBox(t, map[string]string{"x": ""}, func(e *Env) {
		e.Runner = run
		e.Policy.Roots[0].Capability = scope.R | scope.W
	})
	if err := os.Chmod(filepath.Join(still.root, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	still.refused(RunCommand, try("./x"), "fs.no_execute")
	still.refused(RunCommand, try("gcc"), "exec.unknown_alias", "none")
}

func TestRunCommandArguments(t *testing.T) {
	b := newBox(t, nil, func(e *Env) { e.Runner = &recorder{} })
	b.refused(RunCommand, args{}, "tool.arguments", "no_command")
	b.refused(RunCommand, args{"argv": []string{}}, "tool.arguments", "no_command")
	b.refused(RunCommand, args{"argv": []string{""}}, "tool.arguments", "no_command")
	b.refused(RunCommand, args{"argv": []string{"a"}, "command": "b"}, "tool.arguments", "both")
	b.refused(RunCommand, args{"argv": []string{"a", "b\x00c"}}, "tool.arguments", "nul")
	b.refused(RunCommand, args{"command": "ls"}, "exec.shell_not_approved", "none")
	none := newBox(t, nil)
	none.refused(RunCommand, args{"argv": []string{"a"}}, "exec.failed", "unavailable")
}

// EXEC-007: whatever the model asks for, the time is bounded.
func TestRunCommandClampsTheTime(t *testing.T) {
	run := &recorder{outcome: ended(0)}
	b := newBox(t, nil, func(e *Env) {
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
		e.Policy.Resources.Timeout = 5 * time.Minute
	})
	for asked, want := range map[any]time.Duration{
		nil: 2 * time.Minute, 0: 2 * time.Minute, -5: 2 * time.Minute, 7: 7 * time.Second, "9": 9 * time.Second, 1e12: 5 * time.Minute, 1e300: 5 * time.Minute,
	} {
		b.ok(RunCommand, args{"argv": []string{"x"}, "timeout_seconds": asked})
		if run.last.Timeout != want {
			t.Errorf("asked for %v: %v, want %v", asked, run.last.Timeout, want)
		}
	}
	b.refused(RunCommand, args{"argv": []string{"x"}, "timeout_seconds": "60s"}, "tool.arguments", "type")
}

// EXEC-001
// Covers: SD-20, PRC-06a, S3-54
func TestAllowedCommandsFilter(t *testing.T) {
	run := &recorder{outcome: ended(0)}
	allowing := func(allowed ...string) *box {
		b := newBox(t, map[string]string{"git": ""}, func(e *Env) {
			e.Runner = run
			e.Policy.Entries = []policy.Entry{entry(t, "git", program(t, "git", "x")), entry(t, "ls", program(t, "ls", "x")), entry(t, "bash", program(t, "bash", "x"))}
			e.Policy.AllowedCommands = allowed
		})
		return b
	}
	b := allowing("git")
	b.ok(RunCommand, args{"argv": []string{"git", "log; touch p1"}})
	b.refused(RunCommand, args{"argv": []string{"ls"}}, "exec.not_allowed")
	b.refused(RunCommand, args{"argv": []string{"bash", "-c", "git log"}}, "exec.not_allowed")
	b.ok(RunCommand, args{"command": `git log --format='%h' "x y"`})
	if got := strings.Join(run.last.Argv[1:], "|"); got != `-c|git log --format='%h' "x y"` {
		t.Errorf("argv %q", got)
	}
	runs := run.runs
	for _, command := range []string{"git log; touch p1", "git log && touch p1", "git log | tee p1", "git log > p1", "git log\ntouch p1",
		"git log & touch p1", "git $(touch p1)", "git `touch p1`", "git log <(touch p1)", "git log\rtouch p1", `git \$x`, "git {a,b}", "git *", "git ~", "git #x", "!git"} {
		b.refused(RunCommand, args{"command": command}, "exec.not_allowed", "shell_syntax")
	}
	b.refused(RunCommand, args{"command": "ls -l"}, "exec.not_allowed", "")
	for _, command := range []string{"A=b git log", "X=/git sh -c id", "X=/git\tsh -c id", "X= /usr/bin/git"} {
		b.refused(RunCommand, args{"command": command}, "exec.not_allowed", "shell_syntax")
	}
	// A file is not listed because its name is.
	b.put("git", "#!/bin/sh\n")
	for _, own := range []string{"./git", "git/../git", filepath.Join(b.root, "git"), "/tmp/git"} {
		b.refused(RunCommand, args{"command": own + " log"}, "exec.not_allowed", "")
		b.refused(RunCommand, args{"argv": []string{own}}, "exec.not_allowed")
	}
	b.refused(RunCommand, args{"argv": []string{b.env.Policy.Entries[1].Path}}, "exec.not_allowed")
	b.refused(RunCommand, args{"command": "'git' log"}, "exec.not_allowed", "")
	if run.runs != runs {
		t.Error("something was started")
	}
	b.ok(RunCommand, args{"argv": []string{b.env.Policy.Entries[0].Path}})
	for _, free := range []*box{allowing("git", "bash"), allowing()} {
		free.ok(RunCommand, args{"command": "git log; touch p1"})
	}
	nothing := allowing("other")
	nothing.env.Policy.AllowedCommands = []string{}
	nothing.refused(RunCommand, args{"argv": []string{"git"}}, "exec.not_allowed")
}

func TestRunCommandEndings(t *testing.T) {
	run := &recorder{}
	b := newBox(t, nil, func(e *Env) {
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
	})
	call := args{"argv": []string{"x"}, "timeout_seconds": 5}
	so := sandbox.Capture{Head: []byte("so far")}
	for _, tt := range []struct {
		name    string
		outcome sandbox.Outcome
		err     error
		code    string
		fact    string
	}{
		{"time", sandbox.Outcome{Stopped: "timeout", Output: so}, nil, "exec.timeout", "5"},
		{"processes", sandbox.Outcome{Stopped: "processes", Output: so}, nil, "exec.limit", "processes"},
		{"memory", sandbox.Outcome{Stopped: "memory", Output: so}, nil, "exec.limit", "memory"},
		{"disk", sandbox.Outcome{Stopped: "disk", Output: so}, nil, "exec.limit", "case:disk"},
		{"file size", sandbox.Outcome{Stopped: "file_size", Output: so}, nil, "exec.limit", "case:file_size"},
		{"cancel", sandbox.Outcome{Stopped: "cancelled", Output: so}, nil, "agent.cancelled", ""},
		{"lost", sandbox.Outcome{Output: so}, nil, "exec.failed", "x"},
		{"not started", sandbox.Outcome{}, errors.New("no such interpreter"), "exec.failed", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run.outcome, run.err = tt.outcome, tt.err
			r := b.refused(RunCommand, call, fault.Code(tt.code))
			if r.Text != string(tt.outcome.Output.Head) || len(r.Effects) != 0 || !strings.Contains(fmt.Sprint(r.Error.Args), tt.fact) {
				t.Errorf("%+v", r)
			}
		})
	}
	run.outcome, run.err = sandbox.Outcome{Ended: true, ExitCode: 137, Duration: 1234 * time.Millisecond}, nil
	hasFields(t, b.ok(RunCommand, call), "exit_code=137 duration_ms=1234")
}

// EDIT-006, EXEC-009: output is bounded, cut between characters, and the rest
// can be read on.
func TestRunCommandElidesOutput(t *testing.T) {
	run := &recorder{}
	b := newBox(t, nil, func(e *Env) {
		e.Runner, e.Outputs = run, new(Outputs)
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
	})
	show := func(c sandbox.Capture) Result {
		run.outcome = sandbox.Outcome{Ended: true, Output: c}
		return b.ok(RunCommand, args{"argv": []string{"x"}})
	}
	// A character that lies across head and tail is whole when nothing is lost.
	if r := show(sandbox.Capture{Head: []byte("a\xe6\x97"), Tail: []byte("\xa5b\n")}); r.Text != "a日b\n" {
		t.Errorf("%q", r.Text)
	}
	if r := show(sandbox.Capture{Head: []byte("\xc3\x28\x00")}); r.Text != "\uFFFD(\uFFFD" {
		t.Errorf("%q", r.Text)
	}
	var lines strings.Builder
	for i := range 200 {
		lines.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	r := show(sandbox.Capture{Head: []byte(lines.String())})
	if n := strings.Count(r.Text, "\n"); n != 81 || !strings.HasPrefix(r.Text, "line 0\n") || !strings.HasSuffix(r.Text, "line 199\n") {
		t.Errorf("%d lines: %q", n, r.Text)
	}
	if !strings.Contains(r.Text, "bytes left out, see output:1 …]") || field(r, "output_id") != "1" || field(r, "truncated") != true {
		t.Errorf("%q %v", r.Text, r.Fields)
	}
	if r := b.ok(ReadFile, args{"path": "output:1", "offset": 100, "limit": 1}); r.Text != "100\tline 99\n" {
		t.Errorf("%q", r.Text)
	}
	// Middle lost already, one endless line, cut amid characters.
	head, tail := []byte(strings.Repeat("日", 50_000)+"\xe6"), []byte("\x97\xa5"+strings.Repeat("本", 50_000)+"z")
	r = show(sandbox.Capture{Head: head, Tail: tail, Dropped: 1 << 40})
	if len(r.Text) > DefaultLimits().CommandBytes+200 || !utf8.ValidString(r.Text) || strings.Contains(r.Text, "\uFFFD") {
		t.Errorf("%d bytes", len(r.Text))
	}
	if !strings.Contains(r.Text, "[… 1099") {
		t.Errorf("%q", r.Text[6000:6400])
	}
	if kept, _ := b.env.Outputs.Get("2"); strings.Contains(kept, "\uFFFD") || len(kept) < 300_000 {
		t.Errorf("%d bytes are kept, or a character was cut", len(kept))
	}
	if r := b.ok(ReadFile, args{"path": "output:2"}); !strings.Contains(r.Text, "[… 1099511627776 bytes left out …]") {
		t.Errorf("%.300q", r.Text)
	}
	// What has no characters grows when it becomes text; the bound holds for that.
	for _, junk := range []string{"a\xff", "\x00a", "\x00"} {
		half := []byte(strings.Repeat(junk, 50000))
		for _, dropped := range []int64{0, 7} {
			if r := show(sandbox.Capture{Head: half, Tail: half, Dropped: dropped}); len(r.Text) > b.env.Limits.orDefault().CommandBytes+100 || strings.Contains(r.Text, "\x00") {
				t.Errorf("%q: %d bytes", junk, len(r.Text))
			}
		}
	}
}

// EXEC-015, EXEC-019: real commands, unconfined here.
func TestRunCommandRuns(t *testing.T) {
	b := newBox(t, map[string]string{"sub/": "", "in.txt": "x"}, func(e *Env) {
		e.Runner = plain{}
		e.Policy.Entries = []policy.Entry{entry(t, "sh", "/bin/sh")}
	})
	sh := func(script string, more ...any) args {
		a := args{"argv": []string{"sh", "-c", script}}
		for i := 0; i+1 < len(more); i += 2 {
			a[more[i].(string)] = more[i+1]
		}
		return a
	}
	if r := b.ok(RunCommand, sh("read x; echo got:$x")); r.Text != "got:\n" || r.Hint != "" {
		t.Errorf("%+v", r)
	}
	if r := b.ok(RunCommand, sh("read x; echo got:$x", "stdin", "me\n")); r.Text != "got:me\n" {
		t.Errorf("%+v", r)
	}
	if r := b.ok(RunCommand, args{"command": "pwd; exit 3", "working_dir": "sub"}); r.Text != filepath.Join(b.root, "sub")+"\n" || field(r, "exit_code") != 3 {
		t.Errorf("%+v", r)
	}
	r := b.ok(RunCommand, sh("i=0; while [ $i -lt 20000 ]; do echo 0123456789abcdef 1>&2; i=$((i+1)); done; echo done"))
	if !strings.HasSuffix(r.Text, "\ndone\n") || field(r, "truncated") != true {
		t.Errorf("%v …%q", r.Fields, r.Text[len(r.Text)-40:])
	}
	r = b.refused(RunCommand, sh("echo start; exec sleep 100", "timeout_seconds", 1), "exec.timeout")
	if r.Text != "start\n" || r.Error.Args["seconds"] != "1" {
		t.Errorf("%+v", r)
	}
	for script, want := range map[string]string{
		"printf 'Continue? [y/N] '": "noninteractive", "printf 'Password: '": "noninteractive", "echo 'cannot open /dev/tty'": "noninteractive",
		"echo all done": "", "printf 'a: b\\n'": "", "true": "",
	} {
		if r := b.ok(RunCommand, sh(script)); r.Hint != want {
			t.Errorf("%s: hint %q, want %q", script, r.Hint, want)
		}
	}
}
