package blackbox

import (
	"fmt"
	"strings"
	"testing"
)

// TestNoNamespaces starts the server where no namespaces can be made: inside a
// Task of another server. It must refuse with exit 2, name what is missing and
// the remedy, and not serve; outside, the same files serve (every other test
// is the twin).
//
// Covers: SD-27, S1-095, S1-096, SEC-INV-13
func TestNoNamespaces(t *testing.T) {
	h := newHouse(t, "")
	h.configure(fmt.Sprintf("sandbox:\n  workspace: { root: ./project }\n  execution: { entries: [ { alias: sh, path: /bin/sh }, { alias: self, path: %q } ] }\n", program))
	h.write("inner/agent.yaml", "schema_version: 2\nsandbox:\n  workspace: { root: ./project }\n")
	h.mkdir(h.path("inner/project"))
	h.apply()
	c := h.serve()
	h.model.play("none", do("run_command", map[string]any{
		"command": fmt.Sprintf("%[1]s apply --yes inner/agent.yaml >/dev/null && echo applied && %[1]s inner/agent.yaml </dev/null; echo code $?", program),
	}))
	c.job("try")
	head, text := h.model.result(0)
	if head["exit_code"] != 0.0 || !strings.Contains(text, "applied\n") || !strings.Contains(text, "code 2\n") {
		t.Errorf("%v\n%s", head, text)
	}
	if !strings.Contains(text, "platform.unavailable") || !strings.Contains(text, "user namespaces") {
		t.Errorf("the refusal does not name what is missing:\n%s", text)
	}
}

// TestNoWordMakesAWorker: the Worker is recognised by what it inherits; the
// word is a path of a configuration like any other (trap 18 of the design).
func TestNoWordMakesAWorker(t *testing.T) {
	h := newHouse(t, "")
	if code, out, errs := h.agent("worker"); code != 2 || out != "" || !strings.Contains(errs, "config.unreadable") {
		t.Errorf("agent-mcp worker: exit %d\n%s%s", code, out, errs)
	}
	h.apply()
	h.write(h.dir+"/worker", h.read(h.config))
	if code, _, errs := h.agent("apply", "--yes", "worker"); code != 0 { // the twin: it is a configuration
		t.Errorf("apply worker: exit %d\n%s", code, errs)
	}
}
