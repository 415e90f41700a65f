package blackbox

import (
	"fmt"
	"strings"
	"testing"
)

// TestCasesTimeout: every command ends.
//
// Covers: C-87
func TestCasesTimeout(t *testing.T) {
	t.Parallel()
	b := open(t, development+"  resources: { timeout_seconds: 1 }\n", "", nil)

	// A limit holds whatever the model asks for.
	b.run(t, "EXEC-007", func(t *testing.T) {
		sleep := args{"argv": []string{"sh", "-c", "sleep 100000"}}
		with := func(v any) turn {
			a := args{"timeout_seconds": v}
			for k, v := range sleep {
				a[k] = v
			}
			return do("run_command", a)
		}
		for i, got := range b.tries(do("run_command", sleep), with(-1), with(1e12)) {
			b.refused(fmt.Sprint("call ", i), got, "exec.timeout")
			b.has("the refusal", got.message, "1")
		}
		for _, v := range []any{"60s", 0.5, []int{1}, true, "1e400"} {
			b.refused(fmt.Sprint(v), b.tries(with(v))[0], "tool.arguments")
		}
		if _, out, _ := b.agent("show", b.config); !strings.Contains(out, "timeout") {
			t.Error("show does not tell the limit")
		}
	})
}

// TestCasesAllowed: a list of commands lets single commands through, no line.
//
// Covers: SD-20, C-25
func TestCasesAllowed(t *testing.T) {
	tails := []string{"; touch p1", " && touch p1", " | tee p1", " > p1", "\ntouch p1", " & touch p1", " $(touch p1)", " `touch p1`", " || touch p1", "\r\ntouch p1", " <(touch p1)", " ${x:-`touch p1`}"}
	for name, sandbox := range map[string]string{
		"argv only":        "sandbox:\n  workspace: { root: ./project }\n  execution: { entries: [ { alias: echo, path: /bin/echo } ] }\n",
		"a list":           "sandbox:\n  workspace: { root: ./project, properties: { allowed_commands: [echo] } }\n  execution: { entries: [ { alias: echo, path: /bin/echo }, { alias: sh, path: /bin/sh } ] }\n",
		"a list of a path": "sandbox:\n  workspace: { root: ./project, properties: { allowed_commands: [/bin/echo] } }\n  execution: { entries: [ { alias: sh, path: /bin/sh } ] }\n",
	} {
		b := open(t, sandbox, "", nil)
		b.run(t, "EXEC-001 "+name, func(t *testing.T) {
			var turns []turn
			for _, tail := range tails {
				turns = append(turns, do("run_command", args{"command": "echo log" + tail}), do("run_command", args{"argv": []string{"echo log" + tail}}))
			}
			for i, got := range b.tries(turns...) {
				b.refused(fmt.Sprint("call ", i), got, "exec.not_allowed", "exec.shell_not_approved", "exec.unknown_alias", "exec.not_approved", "fs.not_found")
			}
			for _, argv := range [][]string{{"sh", "-c", "touch p1"}, {"/bin/sh", "-c", "touch p1"}, {"touch", "p1"}, {"/usr/bin/touch", "p1"}, {"env", "touch", "p1"}} {
				if got := b.try("run_command", args{"argv": argv}); got.ok {
					t.Errorf("%v: %s", argv, got.raw)
				}
			}
			if name == "argv only" {
				got := b.must("run_command", args{"argv": []string{"echo", "log; touch p1"}})
				if got.text != "log; touch p1\n" {
					t.Errorf("not literal: %s", got.raw)
				}
			}
			b.holds("p1", "<missing>")
		})
	}
}
