package blackbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKilledServer kills the server with no warning while a command runs:
// every process of the Task ends, the next start removes what remained before
// it serves, the interrupted Task is known as failed and is not run again.
//
// Covers: AT-13, UC-09, REC-03, REC-06, MCP-2026-07, S1-204, SEC-INV-10, SEC-INV-11
func TestKilledServer(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	c := h.serve()
	h.model.play("execute", do("run_command", map[string]any{"command": "echo line >> lines; while :; do touch alive; done"}))
	ticket, _ := c.tool("agent_run", map[string]any{"request": "wait"})
	h.await("lines")
	if len(h.hidden()) == 0 {
		t.Fatal("no placeholder during the Task: the test shows nothing")
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	for gone := false; !gone; gone = h.read("alive") == "<missing>" {
		_ = os.Remove(h.path("alive")) // it comes back as long as the command lives
		time.Sleep(50 * time.Millisecond)
	}

	c = h.serve()
	if left := h.hidden(); len(left) != 0 {
		t.Errorf("left after recovery: %v", left)
	}
	status, text := c.tool("agent_status", map[string]any{"task_id": ticket["task_id"]})
	e, _ := status["error"].(map[string]any)
	if status["status"] != "failed" || e["code"] != "agent.server_restarted" {
		t.Errorf("the interrupted Task: %v\n%s", status, text)
	}
	if got := h.read("lines"); got != "line\n" {
		t.Errorf("lines = %q: run again?", got)
	}
	h.model.play("none")
	if status, text := c.job("still working?"); status["status"] != "completed" {
		t.Errorf("afterwards: %v\n%s", status, text)
	}
	recovered := false
	for _, r := range h.audit() {
		recovered = recovered || strings.HasPrefix(r["event"].(string), "recovery.")
	}
	if !recovered {
		t.Error("the audit does not tell of the recovery")
	}
}

// TestEndOfInput: when the client goes away, its Task is stopped and nothing
// remains.
//
// Covers: REC-04, S1-070, C-36
func TestEndOfInput(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	c := h.serve()
	h.model.play("execute", do("run_command", map[string]any{"command": "touch begun; sleep 1000"}))
	c.tool("agent_run", map[string]any{"request": "wait"})
	h.await("begun")
	if code := c.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, c.stderr)
	}
	if left := h.hidden(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	last := ""
	for _, r := range h.audit() {
		last += r["event"].(string) + " "
	}
	if !strings.HasSuffix(last, "task.cancelled server.stop ") {
		t.Errorf("events: %s", last)
	}
}

// TestCancel: cancel on agent_status stops a running command, and the server
// goes on.
//
// Covers: SD-24, S1-067
func TestCancel(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	c := h.serve()
	h.model.play("execute", do("run_command", map[string]any{"command": "touch begun; sleep 1000"}))
	ticket, _ := c.tool("agent_run", map[string]any{"request": "wait"})
	h.await("begun")
	c.tool("agent_status", map[string]any{"task_id": ticket["task_id"], "cancel": true})
	status, _ := c.end(ticket["task_id"])
	if status["status"] != "cancelled" {
		t.Errorf("%v", status)
	}
	h.model.play("none")
	if status, _ := c.job("again"); status["status"] != "completed" {
		t.Errorf("afterwards: %v", status)
	}
}

// await waits until a file of the workspace exists.
func (h *house) await(path string) {
	h.t.Helper()
	for range 600 {
		if h.read(path) != "<missing>" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Fatalf("%s does not appear", path)
}

// hidden lists the workspace's dot names: placeholders, or what is left of them.
func (h *house) hidden() []string {
	left, err := filepath.Glob(filepath.Join(h.ws, ".*"))
	if err != nil {
		h.t.Fatal(err)
	}
	return left
}
