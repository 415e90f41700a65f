package tool

import (
	"testing"

	"sunaba/policy"
	"sunaba/sandbox"
)

// A limit that refuses instead of stopping is named to the model, where the
// command failed and tells of it.
func TestRunCommandNamesTheLimitThatRefused(t *testing.T) {
	run := &recorder{}
	b := newBox(t, nil, func(e *Env) {
		e.Runner = run
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
	})
	for _, c := range []struct {
		output string
		code   int
		limit  any // nil: not marked
	}{
		{"dd: error writing '/tmp/x': No space left on device\n", 1, "space"},
		{"OSError: [Errno 24] Too many open files: 'f'\n", 1, "open_files"},
		{"dd: error writing 'x': File too large\n", 1, "file_size"},
		{"bash: fork: Resource temporarily unavailable\n", 254, "processes"},
		{"/bin/sh: 1: Cannot fork\n", 2, "processes"},
		{"RuntimeError: can't start new thread\n", 1, "processes"},
		{"dd: error writing '/tmp/x': No space left on device\n", 0, nil}, // it went well all the same
		{"read: Resource temporarily unavailable\n", 1, nil},
		{"", 1, nil},
	} {
		run.outcome = sandbox.Outcome{Ended: true, ExitCode: c.code, Output: sandbox.Capture{Head: []byte(c.output)}}
		r := b.ok(RunCommand, args{"argv": []string{"x"}})
		var limit any
		for _, f := range r.Fields {
			if f.Name == "limit" {
				limit = f.Value
			}
		}
		hint := ""
		if c.limit != nil {
			hint = "limit_" + c.limit.(string)
		}
		if limit != c.limit || r.Hint != hint {
			t.Errorf("%q, exit %d: limit %v, hint %q", c.output, c.code, limit, r.Hint)
		}
	}
}
