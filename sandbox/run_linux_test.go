package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sunaba/policy"
)

// TestPosture compares what a command finds itself to be with one expected
// value.
//
// Covers: AT-12, SEC-INV-03, SEC-INV-08, S1-161, S1-190, S1-025, C-20, C-42, C-76, C-78
func TestPosture(t *testing.T) {
	f := newFixture(t, nil)
	f.p.Environment = nil
	r := f.sh(`
grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\t ' ' '
for i in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$i ] && echo "open: $i"; done
echo "names: $(env | cut -d= -f1 | sort | tr '\n' ' ')"
echo "core: $(ulimit -c) files: $(ulimit -n)"
echo "root: $([ $(id -u) = 0 ] && echo yes || echo no)"
echo "pwd: $(pwd)"
echo "host: $(cat /proc/sys/kernel/hostname)"
echo "links: $(ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev)"
echo "init: $(cat /proc/1/cmdline | tr '\0' ' ')"
echo "session: $(cut -d' ' -f6 /proc/self/stat | grep -qx $$ && echo own)"
cat /dev/tty 2>/dev/null || echo "tty: none"
echo x > /dev/null && echo "null: yes"
touch /dev/x /etc/x /x /usr/x 2>/dev/null || echo "skeleton: read-only"
touch $TMPDIR/x $HOME/x && echo "scratch: writable"
`)
	want := `CapInh: 0000000000000000
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
Seccomp: 2
names: HOME LANG NO_COLOR PATH PWD TERM TMPDIR 
core: 0 files: 4096
root: no
pwd: ` + f.root + `
host: sandbox
links: 1
init: sunaba-worker 
session: own
tty: none
null: yes
skeleton: read-only
scratch: writable
`
	if diff := cmp.Diff(want, r.Out); diff != "" {
		t.Errorf("posture (-want +got):\n%s", diff)
	}
}

// TestNamespacesAreFresh: nothing of the host's namespaces is shared.
func TestNamespacesAreFresh(t *testing.T) {
	f := newFixture(t, nil)
	for _, ns := range []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup"} {
		host, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			t.Fatal(err)
		}
		inside := strings.TrimSpace(f.sh("readlink /proc/self/ns/" + ns).Out)
		if inside == "" || inside == host {
			t.Errorf("%s: inside %q, host %q", ns, inside, host)
		}
	}
}

// TestExitCodes: the status of the command itself arrives, whatever else ends
// at the same time (trap 16).
func TestExitCodes(t *testing.T) {
	f := newFixture(t, nil)
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143,
		"(sleep 0.01; exit 9) & exit 3":              3,
		"for i in 1 2 3 4 5; do true & done; exit 4": 4,
	} {
		if r := f.sh(script); r.ExitCode != want || !r.Ended {
			t.Errorf("%s: exit %d, ended %v; want %d", script, r.ExitCode, r.Ended, want)
		}
	}
}

// TestNothingSurvives: when a command has ended, so has everything it started,
// by whatever route it tried to stay (C-76).
//
// Covers: PRC-07, PRC-08, REC-02, C-76
func TestNothingSurvives(t *testing.T) {
	f := newFixture(t, nil)
	for _, script := range []string{
		"sleep 1000 & exit 0",
		"(setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 0",
		"nohup sleep 1000 >/dev/null 2>&1 & exit 0",
	} {
		if r := f.sh(script); r.ExitCode != 0 || !r.Ended {
			t.Errorf("%s: %+v", script, r.Outcome)
		}
		if left := f.sh("ls /proc | grep -c '^[0-9]'"); strings.TrimSpace(left.Out) != "4" { // init, sh, ls, grep
			t.Errorf("%s: processes afterwards: %s", script, left.Out)
		}
	}
}

// TestStops: time, limits and cancel end the whole tree and are named.
//
// Covers: S1-176, S1-177, S1-178, SD-28, REC-02, C-45
func TestStops(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.p.Resources.MemoryMiB = 64 })
	t.Run("timeout", func(t *testing.T) {
		r := f.call("run", order{Argv: []string{"/bin/sh", "-c", "echo before; trap '' TERM; sleep 1000 & sleep 1000"}, Timeout: 200 * time.Millisecond})
		if r.Stopped != "timeout" || r.Ended || r.Out != "before\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("processes", func(t *testing.T) {
		r := f.sh("i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; wait")
		if r.Stopped != "processes" {
			t.Errorf("%+v", r.Outcome)
		}
	})
	t.Run("fork bomb", func(t *testing.T) {
		r := f.sh("b() { b | b & }; b; sleep 1000")
		if r.Stopped != "processes" {
			t.Errorf("%+v", r.Outcome)
		}
	})
	t.Run("threads are no processes", func(t *testing.T) {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "thread-many", "100"}}); r.Stopped != "" || r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("memory", func(t *testing.T) {
		r := f.sh("dd if=/dev/zero bs=200M count=1 | sleep 1000")
		if r.Stopped != "memory" {
			t.Errorf("%+v", r.Outcome)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		params, err := json.Marshal(order{Argv: []string{"/bin/sh", "-c", "touch begun; sleep 1000"}, Head: 1, Tail: 1})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				if _, err := os.Stat(f.root + "/begun"); err == nil {
					cancel()
					return
				}
			}
		}()
		result, err := f.s.Call(ctx, "run", params)
		if err != nil {
			t.Fatal(err)
		}
		var r report
		if err := json.Unmarshal(result, &r); err != nil || r.Stopped != "cancelled" {
			t.Errorf("%s, %v", result, err)
		}
	})
	if r := f.sh("echo usable"); r.Out != "usable\n" {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestOutputIsBounded: an endless producer costs bounded memory and both
// streams are drained at once.
func TestOutputIsBounded(t *testing.T) {
	f := newFixture(t, nil)
	r := f.call("run", order{Argv: []string{"/bin/sh", "-c", "yes | head -c 30000000; echo end >&2"}, Head: 100, Tail: 50})
	if len(r.Output.Head) != 100 || len(r.Output.Tail) != 50 || r.Output.Dropped != 30000000+4-150 || !strings.HasSuffix(r.Out, "y\nend\n") {
		t.Errorf("head %d, tail %d %q, dropped %d", len(r.Output.Head), len(r.Output.Tail), r.Output.Tail, r.Output.Dropped)
	}
	r = f.sh("i=0; while [ $i -lt 20000 ]; do echo 0123456789abcdef 1>&2; i=$((i+1)); done; echo done")
	if r.ExitCode != 0 || !strings.HasSuffix(r.Out, "done\n") {
		t.Errorf("%+v", r.Outcome.ExitCode)
	}
}

// TestInput: a command reads what it is given, and nothing waits for a keyboard.
func TestInput(t *testing.T) {
	f := newFixture(t, nil)
	if r := f.sh("read x; echo got:$x"); r.Out != "got:\n" {
		t.Errorf("%q", r.Out)
	}
	big := strings.Repeat("0123456789", 100000)
	if r := f.call("run", order{Argv: []string{"/bin/sh", "-c", "wc -c"}, Stdin: big}); strings.TrimSpace(r.Out) != "1000000" {
		t.Errorf("%q", r.Out)
	}
	if r := f.call("run", order{Argv: []string{"/bin/sh", "-c", "exit 5"}, Stdin: big}); r.ExitCode != 5 {
		t.Errorf("unread input: %+v", r.Outcome)
	}
}

// TestGoBuildsBesideAPlaceholder: the placeholder for a .git that does not
// exist must not break the builds of a language that looks for one.
func TestGoBuildsBesideAPlaceholder(t *testing.T) {
	plain := newFixture(t, nil)
	covered := newFixture(t, func(f *fixture) {
		f.p.Protected = []policy.Protected{{Path: f.root + "/.git/hooks", Dir: true}}
	})
	if got := plain.sh("echo $GOFLAGS").Out; got != "\n" {
		t.Errorf("without a placeholder: %q", got)
	}
	if got := covered.sh("ls -d .git; echo $GOFLAGS").Out; got != ".git\n-buildvcs=false\n" {
		t.Errorf("with a placeholder: %q", got)
	}
}

// TestScripts: a script is started by its judged handle.
func TestScripts(t *testing.T) {
	f := newFixture(t, nil)
	script := f.write("s.sh", "#!/bin/sh\necho \"$1\"; exit 6\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := f.call("run", order{Argv: []string{script, "hello"}}); r.Out != "hello\n" || r.ExitCode != 6 {
		t.Errorf("%+v %s", r, r.Err)
	}
}

// TestWorkerDiesWithItsBroker: when the broker's end of the socket closes,
// nothing of the Task stays (REC-03).
//
// Covers: REC-03, S1-203, SEC-INV-10
func TestWorkerDiesWithItsBroker(t *testing.T) {
	f := newFixture(t, nil)
	pid := f.s.cmd.Process.Pid
	begun := make(chan struct{})
	go func() {
		params, _ := json.Marshal(order{Argv: []string{"/bin/sh", "-c", "touch begun; sleep 1000"}, Head: 1, Tail: 1})
		_, _ = f.s.Call(context.Background(), "run", params)
		close(begun)
	}()
	for {
		if _, err := os.Stat(f.root + "/begun"); err == nil {
			break
		}
	}
	if err := f.s.socket.Close(); err != nil { // as the kernel does for a killed broker
		t.Fatal(err)
	}
	<-begun
	_ = f.s.cmd.Wait()
	if err := unix.Kill(pid, 0); err == nil {
		t.Error("the Worker lives on")
	}
}

// TestPanicInWorker: a mistake inside ends the sandbox with its reason, not in
// silence.
func TestPanicInWorker(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.s.Call(t.Context(), "panic", []byte("{}"))
	if err == nil || !strings.Contains(err.Error(), "as ordered") {
		t.Errorf("got %v", err)
	}
	if _, err := f.s.Call(t.Context(), "run", []byte("{}")); err == nil {
		t.Error("a lost sandbox still answers")
	}
}
