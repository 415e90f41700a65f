package blackbox

import (
	"strings"
	"testing"
)

// The answer names what commands left for programs outside to execute or
// follow, also when the job is a claim that all is well.
// Covers: C-85
func TestLeftovers(t *testing.T) {
	h := newHouse(t, "")
	h.apply()
	c := h.serve()
	h.model.play("execute", do("run_command", map[string]any{
		"command": "mkdir -p sub/.vscode && echo x > sub/.vscode/tasks.json && ln -s /etc/passwd sub/out && echo x > plain",
	}))
	_, answer := c.job("tidy up")
	for _, want := range []string{"sub/.vscode/tasks.json", "sub/out", "/etc/passwd"} {
		if !strings.Contains(answer, want) {
			t.Errorf("%s is not named in\n%s", want, answer)
		}
	}
	h.model.play("execute", do("run_command", map[string]any{"command": "echo y > plain"})) // the twin
	if _, answer := c.job("tidy up"); strings.Contains(answer, "A command made") {
		t.Errorf("something harmless or old is named in\n%s", answer)
	}
}
