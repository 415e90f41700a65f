package blackbox

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestCasesWindow: the window is kept by us, oldest results first.
//
// Covers: S1-112
func TestCasesWindow(t *testing.T) {
	h := newHouse(t, "")
	h.write(h.config, strings.Replace(h.read(h.config), "model: outsider,", "model: outsider, options: { num_ctx: 8192 },", 1))
	for i := range 30 {
		h.write(fmt.Sprintf("big%d.txt", i), fmt.Sprintf("marker-%d\n", i)+strings.Repeat("some words that fill\n", 380))
	}
	h.apply()
	b := &box{house: h, c: h.serve()}
	b.run(t, "LLM-004", func(t *testing.T) {
		b.play("none", repeat(110, func(i int) turn {
			return do("read_file", args{"path": fmt.Sprintf("big%d.txt", i%30), "limit": 400 - i})
		})...)
		b.ended("completed")
		for n, body := range b.model.bodies {
			calls, request := 0, false
			for i, m := range messages(t, body) {
				request = request || m.Role == "user" && strings.Contains(m.Content, "Do what is needed.")
				if m.Role == "tool" && calls == 0 {
					t.Fatalf("request %d: result without its call", n)
				}
				switch m.Role {
				case "tool":
					calls--
				case "assistant":
					calls = len(m.ToolCalls)
				}
				if i == 0 && m.Role != "system" {
					t.Errorf("request %d begins with %s", n, m.Role)
				}
			}
			if !request {
				t.Errorf("request %d: the person's request is gone", n)
			}
			if len(body) > 8192*4 { // what this model takes for its window
				t.Errorf("request %d has %d bytes", n, len(body))
			}
		}
		last := b.model.bodies[len(b.model.bodies)-1]
		if !strings.Contains(last, "marker-19") || strings.Contains(last, "marker-1\\n") {
			t.Error("not the oldest results went first")
		}
	})
}

// TestCasesServer: a model that cannot do it, is not there, or breaks off.
func TestCasesServer(t *testing.T) {
	for lang, words := range map[string]string{"en": "model", "ja": "モデル"} {
		b := open(t, "", "application: { language: "+lang+" }\n", nil)
		fails := func(status int, body string) func(w http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			}
		}
		b.run(t, "LLM-016 "+lang, func(t *testing.T) {
			for _, c := range []struct {
				name string
				raw  func(w http.ResponseWriter)
				code string
				max  int
			}{
				{"no tools", fails(400, `{"error":"registry.ollama.ai/library/outsider:latest does not support tools"}`), "llm.no_tools", 1},
				{"missing", fails(404, `{"error":"model 'outsider' not found"}`), "llm.model_missing", 1},
				{"cut stream", func(w http.ResponseWriter) {
					fmt.Fprintln(w, `{"model":"outsider","message":{"role":"assistant","content":"I begin"},"done":false}`)
				}, "llm.unavailable llm.bad_output", 4},
				{"in-stream error", func(w http.ResponseWriter) { fmt.Fprintln(w, `{"error":"out of memory"}`) }, "llm.unavailable llm.failed llm.bad_output", 4},
				{"busy", fails(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), "llm.unavailable llm.rate_limited", 4},
				{"not JSON", fails(200, `<html>`), "llm.unavailable llm.bad_output llm.failed", 4},
				{"quota", fails(429, `{"error":"usage limit"}`), "llm.rate_limited", 4},
			} {
				n := b.requests(func() { b.play("none", repeat(20, func(int) turn { return turn{raw: c.raw} })...) })
				b.ended("failed", strings.Split(c.code, " ")...)
				if n > c.max || n == 0 {
					t.Errorf("%s: %d requests", c.name, n)
				}
				if e, _ := b.status["error"].(args); c.max == 1 && (!strings.Contains(fmt.Sprint(e["message"]), words) || !strings.Contains(b.report, "outsider") || lang == "en" && strings.Contains(b.report, "registry.ollama")) {
					t.Errorf("%s: %v\n%s", c.name, e, b.report)
				}
			}
			if b.play("none"); b.status["status"] != "completed" {
				t.Errorf("afterwards: %v", b.status)
			}
		})
	}
	// apply looks at the model too, warns, and never needs it (C-92).
	h := newHouse(t, "")
	h.model.show = `{"capabilities":["completion"],"model_info":{}}`
	code, out, errs := h.agent("apply", "--yes", h.config)
	if code != 0 || !strings.Contains(out+errs, "tools") {
		t.Errorf("apply with a model without tools: exit %d\n%s%s", code, out, errs)
	}
	h.model.server.Close()
	h.write(h.config, h.read(h.config)+"logging: { level: warn }\n")
	began := time.Now()
	if code, out, errs := h.agent("apply", "--yes", h.config); code != 0 || !strings.Contains(out+errs, "Ollama") || time.Since(began) > 30*time.Second {
		t.Errorf("apply without a server: exit %d\n%s%s", code, out, errs)
	}
}

// TestCasesPlan: a plan that does not hold together is refused as a whole, and
// small work stays one task.
//
// Covers: PLN-01
func TestCasesPlan(t *testing.T) {
	b := open(t, "", "", nil)
	task := func(id string, more string) string {
		return fmt.Sprintf(`{"id":%q,"title":"T","instructions":"Do it.","effect":"none","optimistic_tokens":400,"most_likely_tokens":900,"pessimistic_tokens":2500,"token_budget":"4K","depends_on":[%s]}`, id, more)
	}
	plan := func(tasks ...string) string {
		return `{"tasks":[` + strings.Join(tasks, ",") + `],"skills":[]}`
	}
	b.run(t, "PLAN-002", func(t *testing.T) {
		for name, c := range map[string]struct {
			plan string
			says []string
		}{
			"all at once":   {plan(task("t1", ""), task("t1", ""), task("t2", `"tX"`), task(" T1 ", "")), []string{"t1", "tX"}},
			"empty id":      {plan(task("", "")), nil},
			"blank id":      {plan(task("  ", "")), nil},
			"a circle":      {plan(task("a", `"b"`), task("b", `"a"`)), []string{"a", "b"}},
			"itself":        {plan(task("a", `"a"`)), []string{"a"}},
			"nothing":       {plan(), nil},
			"too many":      {plan(strings.Split(strings.Repeat(task("x", "")+"\n", 40), "\n")[:40]...), nil},
			"wrong figures": {strings.Replace(plan(task("a", "")), "400", "4000", 1), []string{"4000"}},
			"another shape": {`{"steps":["do it"]}`, nil},
		} {
			b.model.mu.Lock()
			b.model.plans = []string{c.plan}
			from := len(b.model.bodies)
			b.model.mu.Unlock()
			b.play("none")
			b.ended("completed") // with the plan that came when it was asked again
			second := ""
			if bodies := b.model.bodies[from:]; len(bodies) > 1 {
				second = bodies[1]
			}
			b.has(name+": the second request", second, append(c.says, "cannot be used")...)
			if progress, _ := b.status["progress"].(args); progress["total"] != 1.0 {
				t.Errorf("%s: %v", name, progress)
			}
		}
	})
	b.run(t, "PLAN-004", func(t *testing.T) {
		b.play("none")
		if progress, _ := b.status["progress"].(args); progress["total"] != 1.0 || progress["completed"] != 1.0 {
			t.Errorf("%v", progress)
		}
		first := b.model.bodies[len(b.model.bodies)-2]
		b.has("the planning request", first, "as few tasks as possible")
	})
}
