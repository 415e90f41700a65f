package blackbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// args are the arguments of a tool call.
type args = map[string]any

// box is a house whose server runs.
type box struct {
	*house
	c      *client
	status args   // of the last job
	report string // its text
}

const development = "sandbox:\n  workspace: { root: ./project }\n  execution: { entries: [ { alias: sh, path: /bin/sh } ] }\n"

// open makes a house with the given sandbox part ("" for the usual one), lets
// prepare furnish it, applies, and serves. extra is appended to agent.yaml.
func open(t *testing.T, sandbox, extra string, prepare func(h *house)) *box {
	t.Helper()
	h := newHouse(t, extra)
	if sandbox != "" {
		h.configure(sandbox)
	}
	if prepare != nil {
		prepare(h)
	}
	h.apply()
	return &box{house: h, c: h.serve()}
}

// run is one case as a subtest.
func (b *box) run(t *testing.T, id string, test func(t *testing.T)) {
	t.Helper()
	before := b.t
	b.is(t)
	t.Run(id, func(t *testing.T) {
		b.is(t)
		test(t)
	})
	b.is(before)
}

func (b *box) is(t *testing.T) { b.t, b.c.t, b.model.t = t, t, t }

// answer is what the model was told of one call.
type answer struct {
	head          args
	text          string
	ok            bool
	code          string // "" when ok
	message, hint string
	raw           string
}

func parse(t *testing.T, raw string) answer {
	t.Helper()
	a := answer{raw: raw}
	var first string
	first, a.text, _ = strings.Cut(raw, "\n")
	if err := json.Unmarshal([]byte(first), &a.head); err != nil {
		t.Fatalf("the first line is no JSON object: %q", raw)
	}
	a.ok, _ = a.head["ok"].(bool)
	e, _ := a.head["error"].(args)
	a.code, _ = e["code"].(string)
	a.message, _ = e["message"].(string)
	a.hint, _ = e["hint"].(string)
	if a.ok != (a.code == "") {
		t.Errorf("ok and code do not fit: %s", first)
	}
	return a
}

// play runs one job with these turns and returns what was told of each call.
func (b *box) play(effect string, turns ...turn) []string {
	b.t.Helper()
	b.model.play(effect, turns...)
	b.status, b.report = b.c.job("Do what is needed.")
	b.model.mu.Lock()
	defer b.model.mu.Unlock()
	return append([]string(nil), b.model.answers...)
}

// tries runs one job with these turns; every call must have been answered.
func (b *box) tries(turns ...turn) []answer {
	b.t.Helper()
	calls := 0
	for _, turn := range turns {
		calls += len(turn.calls)
	}
	raw := b.play("none", turns...)
	if len(raw) != calls {
		b.t.Fatalf("%d answers to %d calls; %v\n%s", len(raw), calls, b.status, b.report)
	}
	out := make([]answer, len(raw))
	for i := range raw {
		out[i] = parse(b.t, raw[i])
	}
	return out
}

func (b *box) try(tool string, a args) answer {
	b.t.Helper()
	return b.tries(do(tool, a))[0]
}

// must is try for what has to succeed.
func (b *box) must(tool string, a args) answer {
	b.t.Helper()
	got := b.try(tool, a)
	if !got.ok {
		b.t.Errorf("%s %v: %s", tool, a, got.raw)
	}
	return got
}

// refuse is try for what has to be refused with one of codes.
func (b *box) refuse(tool string, a args, codes ...string) answer {
	b.t.Helper()
	got := b.try(tool, a)
	b.refused(fmt.Sprintf("%s %v", tool, a), got, codes...)
	return got
}

func (b *box) refused(what string, got answer, codes ...string) {
	b.t.Helper()
	for _, code := range codes {
		if got.code == code {
			if got.message == "" {
				b.t.Errorf("%s: no message: %s", what, got.raw)
			}
			return
		}
	}
	b.t.Errorf("%s: want %v, got %s", what, codes, clip(got.raw))
}

// shell runs a command line; its exit code is -1 when it did not end by itself.
func (b *box) shell(command string) (answer, int) {
	b.t.Helper()
	got := b.try("run_command", args{"command": command})
	return got, got.exit()
}

func (a answer) exit() int {
	code, ok := a.head["exit_code"].(float64)
	if !ok {
		return -1
	}
	return int(code)
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

// has fails when text lacks one of parts.
func (b *box) has(what, text string, parts ...string) {
	b.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s lacks %q: %s", what, part, clip(text))
		}
	}
}

// holds fails when a file of the workspace has another content.
func (b *box) holds(path, want string) {
	b.t.Helper()
	if got := b.read(path); got != want {
		b.t.Errorf("%s = %q, want %q", path, clip(got), clip(want))
	}
}
