package blackbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Whom the crash matrix kills.
const (
	server = "server"
	worker = "worker" // of the job
)

// newTracedHouse is a house in whose workspace nothing may be deleted, a file
// that does not exist is denied, and so are some that tools of the host read.
// Its program has a name of its own, so that several can be looked at side by side.
func newTracedHouse(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, "")
	h.configure(development + "  scope:\n" +
		"    allow: [ { target: ., permission: write } ]\n    deny: [ { target: sub/secret, permission: read } ]\n")
	for _, file := range []string{"kept", "sub/kept", "lib/kept", "lib/deep/kept", ".mcp.json"} {
		h.write(file, file)
	}
	for _, dir := range []string{".claude", ".idea"} {
		h.mkdir(h.path(dir))
	}
	h.placed = append(h.placed, h.path("sub"))
	h.program = filepath.Join(h.dir, "agent-mcp")
	if err := os.Link(program, h.program); err != nil {
		t.Fatal(err)
	}
	h.apply()
	return h
}

// crash is one run of a server under a tracer.
type crash struct {
	house *house
	who   string // whose steps count
	*client
	working atomic.Bool // a Worker that is made now is a job's
	tracer  *tracer
}

// traced starts a server. see is told of every step of who, and of the end of
// every call.
func (h *house) traced(who string, see func(x *crash, c systemCall, what string)) *crash {
	h.t.Helper()
	x := &crash{house: h, who: who}
	stepOf := map[string]func(systemCall) string{server: h.serverStep, worker: h.workerStep}[who]
	x.tracer = &tracer{
		of: x.extent,
		see: func(c systemCall) {
			if what := stepOf(c); what != "" || c.exit {
				see(x, c, what)
			}
		},
	}
	x.client = h.begin(func(cmd *exec.Cmd) error {
		err := x.tracer.start(cmd)
		if errors.Is(err, unix.EPERM) {
			h.t.Skip("ptrace is not permitted here: ", err)
		}
		return err
	})
	x.ended = func() int {
		<-x.tracer.done
		_ = x.cmd.Wait() // it has been waited for: this closes the pipes
		return x.tracer.status.ExitStatus()
	}
	return x
}

func (x *crash) extent(_, parent int) extent {
	switch {
	case x.who == server && parent == 0, x.who == worker && parent == x.tracer.program && x.working.Load():
		return calls
	case parent == 0:
		return descendants
	}
	return nothing
}

// errand has a job done that leaves no trace of its own, as far as the server
// lives, and returns the job's last status; nil when there is none.
func (x *crash) errand() map[string]any {
	x.t.Helper()
	x.house.model.play("execute", do("run_command", args{"command": "cat kept sub/kept"}))
	if !x.initialize() {
		return nil
	}
	x.working.Store(true)
	ticket, _, ok := x.askTool("agent_run", args{"request": "look"})
	for range 20 {
		if !ok {
			return nil
		}
		var status map[string]any
		status, _, ok = x.askTool("agent_status", args{"task_id": ticket["task_id"], "wait_seconds": 25})
		switch status["status"] {
		case "completed", "failed", "cancelled":
			return status
		}
	}
	x.t.Fatalf("the job does not end\n%s", x.stderr)
	return nil
}

// steps runs an errand untouched and returns the steps of who, in order.
func (h *house) steps(who string) []step {
	h.t.Helper()
	begin := h.world()
	var steps []step
	count := map[string]int{}
	x := h.traced(who, func(_ *crash, c systemCall, what string) {
		if !c.exit {
			count[what]++
			steps = append(steps, step{what, count[what]})
		}
	})
	status := x.errand()
	if code := x.stop(); code != 0 || status["status"] != "completed" {
		h.t.Fatalf("untouched, the server ends with %d and the job with %v\n%s", code, status, x.stderr)
	}
	if left := h.settled(begin); left != "" {
		h.t.Fatalf("untouched:\n%s", left)
	}
	return steps
}

// killed runs an errand in which who is killed at a moment. reached says
// whether it came to that, once the server has been stopped.
func (h *house) killed(who string, m moment) (x *crash, status map[string]any, reached *bool) {
	h.t.Helper()
	reached = new(bool)
	n, within := 0, 0 // the thread that makes the step
	x = h.traced(who, func(x *crash, c systemCall, what string) {
		switch {
		case c.exit:
			*reached = m.after && c.tid == within
		case what == m.what:
			if n++; n == m.n {
				within, *reached = c.tid, !m.after
			}
		}
		if *reached {
			x.tracer.kill(c.pid)
		}
	})
	return x, x.errand(), reached
}

// matrix calls test for every moment, in two houses side by side; test tells
// whether the moment came, and what it does must show that it did.
func matrix(t *testing.T, moments []moment, test func(h *house, begin world, m moment) (reached bool)) {
	t.Helper()
	const lanes = 2
	var missed atomic.Int32
	t.Run("at", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				h := newTracedHouse(t)
				begin := h.world()
				for i := lane; i < len(moments) && !t.Failed(); i += lanes {
					h.forget()
					if !test(h, begin, moments[i]) {
						t.Log("not reached: ", moments[i])
						missed.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d moments, %d of them not reached", len(moments), missed.Load())
	if len(moments) < 20 || int(missed.Load()) > len(moments)/3 {
		t.Errorf("of %d moments %d were not reached: the test shows too little", len(moments), missed.Load())
	}
}

// forget throws away what is kept of earlier servers, so that each run makes
// the same steps.
func (h *house) forget() {
	h.t.Helper()
	for _, name := range []string{"run", "log", "workspace"} {
		if err := os.RemoveAll(filepath.Join(h.state, "agent-mcp", name)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestServerKilledAtEveryStep kills the server before and after each of its
// steps, from its start over a job to its end in order, and starts it twice.
// Each time, already when it begins to serve, the host is as it was, in files
// and in the kernel.
//
// Covers: AT-13, REC-03, REC-06, SEC-INV-10, SEC-INV-11, UC-09, S1-205
func TestServerKilledAtEveryStep(t *testing.T) {
	moments := serverMoments(newTracedHouse(t).steps(server))
	var left atomic.Int32
	matrix(t, moments, func(h *house, begin world, m moment) bool {
		x, _, reached := h.killed(server, m)
		x.stop()
		if !*reached {
			return false
		}
		if !slices.Equal(begin.things, h.world().things) {
			left.Add(1)
		}
		for again := range 2 {
			c := h.serve()
			if left := cmp.Diff(begin.things, h.world().things); left != "" {
				h.t.Errorf("%v, start %d serves while there is left:\n%s", m, again, left)
			}
			if code := c.stop(); code != 0 {
				h.t.Errorf("%v, start %d: exit %d\n%s", m, again, code, c.stderr)
			}
			if left := h.settled(begin); left != "" {
				h.t.Errorf("%v, after start %d:\n%s", m, again, left)
			}
		}
		return true
	})
	t.Logf("%d times something was left for the next start", left.Load())
	if int(left.Load()) < len(moments)/4 {
		t.Errorf("only %d times something was left for the next start: the test shows too little", left.Load())
	}
}

// TestWorkerKilledAtEveryStep kills a job's Worker before each kind of call it
// sets itself up with and works with: the job fails and says why, nothing is
// left, and the server serves on.
//
// Covers: REC-03, SEC-INV-10
func TestWorkerKilledAtEveryStep(t *testing.T) {
	matrix(t, workerMoments(newTracedHouse(t).steps(worker)), func(h *house, begin world, m moment) bool {
		x, status, reached := h.killed(worker, m)
		if left := cmp.Diff(begin.things, h.world().things); left != "" {
			h.t.Errorf("%v: after the job there is left:\n%s", m, left)
		}
		h.model.play("execute", do("run_command", args{"command": "cat kept"}))
		if next, text := x.job("go on"); next["status"] != "completed" {
			h.t.Errorf("%v: the next job: %v\n%s", m, next, text)
		}
		if code := x.stop(); code != 0 {
			h.t.Errorf("%v: the server ends with %d\n%s", m, code, x.stderr)
		}
		if left := h.settled(begin); left != "" {
			h.t.Errorf("%v:\n%s", m, left)
		}
		e, _ := status["error"].(args)
		failed := status["status"] == "failed" && e["code"] == "platform.worker"
		over := m.after && status["status"] == "completed" // after its last step there is nothing to miss it for
		if *reached && !failed && !over {
			h.t.Errorf("%v: the job: %v", m, status)
		}
		return *reached
	})
}

// TestCommandKilled kills a command at moments all along it: that is the
// command's end like any other, and nothing is left.
//
// Covers: SEC-INV-10
func TestCommandKilled(t *testing.T) {
	h := newTracedHouse(t)
	begin := h.world()
	inTheMiddle := 0
	for moment := range 5 {
		c := h.serve()
		h.model.play("execute", do("run_command", args{"command": "sleep 0.1; sleep 0.1"}))
		ticket, _ := c.tool("agent_run", args{"request": "wait"})
		pid := 0
		for range 400 { // for it to come; it may have gone already
			if pid = h.running(c.cmd.Process.Pid); pid != 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(moment) * 20 * time.Millisecond)
		if pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil { // it may just have ended
			inTheMiddle++
		}
		if status, text := c.end(ticket["task_id"]); status["status"] != "completed" {
			t.Errorf("killed at %d: %v\n%s", moment, status, text)
		}
		if code := c.stop(); code != 0 {
			t.Errorf("killed at %d: the server ends with %d\n%s", moment, code, c.stderr)
		}
		if left := h.settled(begin); left != "" {
			t.Fatalf("killed at %d:\n%s", moment, left)
		}
	}
	if inTheMiddle == 0 {
		t.Error("no command was ever killed: the test shows nothing")
	}
}

// running is a process that a Worker of a server runs; 0 when there is none at
// this moment.
func (h *house) running(server int) int {
	family := h.family()
	for pid, worker := range family {
		if worker != 0 && family[worker] == server {
			return pid
		}
	}
	return 0
}
