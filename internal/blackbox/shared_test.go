package blackbox

import (
	"strings"
	"testing"
	"time"
)

// TestTwoServersOneWorkspace: Tasks of two servers on one configuration do not
// work in the workspace at the same time, so that neither takes the other's
// placeholders away; the second waits for its turn and is protected as well.
//
// Covers: S1-073, C-75
func TestTwoServersOneWorkspace(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	first, second := h.serve(), h.serve()
	h.model.play("execute",
		do("run_command", map[string]any{"command": "touch begun; while [ ! -e go ]; do :; done; touch ended"}),
		do("run_command", map[string]any{"command": "ls ended; mkdir .vscode/x || echo refused; mv .vscode v || echo refused"}),
		do("finish_task", map[string]any{"summary": "one", "outcome": "done"}))
	a, _ := first.tool("agent_run", map[string]any{"request": "first"})
	h.await("begun")
	b, _ := second.tool("agent_run", map[string]any{"request": "second"})
	for range 200 { // until the second's command would have begun
		status, _ := second.tool("agent_status", map[string]any{"task_id": b["task_id"]})
		if status["status"] == "running" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.write("go", "")
	for server, id := range map[*client]any{first: a["task_id"], second: b["task_id"]} {
		status, _ := server.end(id)
		if status["status"] != "completed" {
			t.Fatalf("%v", status)
		}
	}
	waited := false
	for _, body := range h.model.bodies { // what `ls` and the refusals printed, as JSON
		waited = waited || strings.Contains(body, `ended\nmkdir`) && strings.Count(body, `refused\n`) == 2
	}
	if !waited {
		t.Errorf("the second did not wait, or was not protected:\n%s", strings.Join(h.model.bodies, "\n"))
	}
	if left := h.hidden(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
