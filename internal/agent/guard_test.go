package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/tool"
)

// Covers: S1-109, S1-110, S1-111
func TestADeniedCallIsNotExecutedAgain(t *testing.T) {
	bad := `{"path":"x","content":""}`
	s := newStage(
		planned("t1 write"),
		calls(call(tool.WriteFile, bad)),
		calls(call(tool.WriteFile, `{"content":"","path":"x"}`)), // the order of the members does not matter
		calls(call(tool.WriteFile, bad)),
		planned("t2 write"),
		calls(call(tool.WriteFile, `{"path":"y","content":""}`), finish("y instead")),
	)
	s.box.results[tool.WriteFile] = func(args json.RawMessage) tool.Result {
		if subject(args) == "x" {
			return refuse(fault.FSReadOnly, "path", "/w/x")(args)
		}
		return usual(tool.WriteFile, args)
	}
	o := s.run(t)
	wantEnd(t, o, "")
	if len(s.box.executed) != 2 || o.Progress.Replans != 1 {
		t.Errorf("executed %v, %d replans", s.box.executed, o.Progress.Replans)
	}
	if told := s.model.requests[3].Messages; !strings.Contains(told[len(told)-1].Content, deniedAgain) {
		t.Errorf("the first repeat is told %q", told[len(told)-1].Content)
	}
	if !strings.HasPrefix(o.Result, "y instead") || !strings.Contains(o.Result, "<report.refused code=fs.read_only path=x>") {
		t.Errorf("result:\n%s", o.Result)
	}
	refused := 0
	for _, e := range s.diary.events {
		if e.Kind == "task.tool_refused" {
			refused++
			if e.Tool != tool.WriteFile || e.Code != fault.FSReadOnly || e.PlanTask != "t1" {
				t.Errorf("event %+v", e)
			}
		}
	}
	if refused != 3 {
		t.Errorf("%d refusals were recorded", refused)
	}
}

// Covers: S1-111
func TestDenialsEndTheTask(t *testing.T) {
	write := calls(call(tool.WriteFile, `{"path":"x","content":""}`))
	for _, code := range []fault.Code{fault.FSReadOnly, fault.FSOutOfScope, fault.FSOutsideWorkspace, fault.ApprovalRejected, fault.ApprovalTimeout, fault.ApprovalUnavailable} {
		for _, test := range []struct {
			name    string
			plans   []step // what the planner says after each stuck attempt
			replans int
		}{
			{"unchanged plan", []step{planned("t1 write")}, 1},
			{"no plan", []step{text("no")}, 1},
		} {
			t.Run(string(code)+"/"+test.name, func(t *testing.T) {
				s := newStage(append([]step{planned("t1 write"), write, write, write}, test.plans...)...)
				s.box.results[tool.WriteFile] = refuse(code, "path", "/w/x")
				o := s.run(t)
				wantEnd(t, o, fault.AgentDenied)
				if o.Err.Args["code"] != string(code) || len(s.box.executed) != 1 || o.Progress.Replans != test.replans {
					t.Errorf("%v, executed %v, %d replans", o.Err, s.box.executed, o.Progress.Replans)
				}
			})
		}
	}
	t.Run("the limit of replans", func(t *testing.T) {
		s := newStage(planned("t1 write"), write, write, write,
			planned("t2 write"), write, planned("t3 write"), write, planned("t4 write"), write)
		s.box.results[tool.WriteFile] = refuse(fault.FSReadOnly, "path", "/w/x")
		o := s.run(t)
		wantEnd(t, o, fault.AgentDenied)
		if o.Progress.Replans != DefaultReplans || len(s.box.executed) != 1 {
			t.Errorf("%d replans, executed %v", o.Progress.Replans, s.box.executed)
		}
	})
	t.Run("given up after a denial", func(t *testing.T) {
		s := newStage(planned("t1 write"), write, calls(giveUp("not permitted")), planned("t1 write"))
		s.box.results[tool.WriteFile] = refuse(fault.FSReadOnly, "path", "/w/x")
		wantEnd(t, s.run(t), fault.AgentDenied)
	})
}

// Probing several paths is no repetition: the model may go on (C-72).
func TestDenialsAloneUseUpNoReplan(t *testing.T) {
	s := newStage(planned("t1 read"),
		calls(call(tool.ReadFile, `{"path":"a"}`)), calls(call(tool.ReadFile, `{"path":"b"}`)), calls(call(tool.ReadFile, `{"path":"c"}`)),
		calls(call(tool.ReadFile, `{"path":"d"}`)), calls(call(tool.ReadFile, `{"path":"e"}`)), calls(call(tool.ReadFile, `{"path":"f"}`)),
		calls(call(tool.ListFiles, `{}`), finish("end")))
	s.box.results[tool.ReadFile] = func(args json.RawMessage) tool.Result {
		return refuse(fault.FSOutOfScope, "path", "/w/"+subject(args))(args)
	}
	o := s.run(t)
	wantEnd(t, o, "")
	if o.Progress.Replans != 0 || len(s.box.executed) != 7 {
		t.Errorf("%d replans, executed %v", o.Progress.Replans, s.box.executed)
	}
}

// Covers: AGT-03
func TestRepeatedFailuresOfOneCause(t *testing.T) {
	pattern := 0
	regex := func(ChatRequest) (Reply, error) { // LLM-014: near-identical patterns
		pattern++
		return calls(call(tool.SearchFile, `{"pattern":"(`+decimal(pattern)+`"}`))(ChatRequest{})
	}
	content := 0
	same := func(ChatRequest) (Reply, error) {
		content++
		return calls(call(tool.WriteFile, `{"path":"x","content":"`+decimal(content)+`"}`))(ChatRequest{})
	}
	tests := []struct {
		name   string
		steps  []step
		result map[string]func(json.RawMessage) tool.Result
		code   string // "" the Task ends well
		asks   int
	}{
		{"one regex error after another", []step{regex}, map[string]func(json.RawMessage) tool.Result{tool.SearchFile: refuse(fault.ToolRegex, "pattern", "any")}, "tool.regex", 6},
		{"one path, other content", []step{same}, map[string]func(json.RawMessage) tool.Result{tool.WriteFile: refuse(fault.FSReadOnly, "path", "/w/x")}, "fs.read_only", 6},
		{"an unknown tool", []step{calls(call("delete_everything", `{}`))}, nil, "tool.unknown", 6},
		{"bad arguments", []step{calls(call(tool.ReadFile, `{"path":`))}, nil, "tool.arguments", 6},
		{"an empty summary", []step{calls(call(tool.FinishTask, `{"summary":" ","outcome":"done"}`))}, nil, "tool.arguments", 6},
		{"five in one reply", []step{calls(call("a", `{}`), call("a", `{}`), call("a", `{}`), call("a", `{}`), call("a", `{}`), call("a", `{}`))}, nil, "tool.unknown", 2},
		{"a success in between", []step{
			regex, regex, regex, regex, calls(call(tool.ListFiles, `{}`)), regex, regex, regex, regex, calls(finish("end")),
		}, map[string]func(json.RawMessage) tool.Result{tool.SearchFile: refuse(fault.ToolRegex)}, "", 11},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(append([]step{planned("t1 read")}, test.steps...)...)
			s.box.results = test.result
			o := s.run(t)
			if test.code == "" {
				wantEnd(t, o, "")
			} else {
				wantEnd(t, o, fault.AgentRepeatedFailure)
				if o.Err.Args["code"] != test.code || o.Err.Args["count"] != "5" {
					t.Errorf("%v", o.Err)
				}
			}
			if len(s.model.requests) != test.asks {
				t.Errorf("%d requests, want %d", len(s.model.requests), test.asks)
			}
		})
	}
}

// LLM-012: told at the third identical result, ended at the fifth.
func TestTheSameCallAgainAndAgain(t *testing.T) {
	run := calls(call(tool.RunCommand, `{"argv":["true"]}`))
	s := newStage(planned("t1 execute"), run, run, run, run, run, planned("t1 execute"))
	n := 0
	s.box.results[tool.RunCommand] = func(args json.RawMessage) tool.Result {
		n++ // what differs by nature is not another result
		r := usual(tool.RunCommand, args)
		r.Fields = []tool.Field{{Name: "exit_code", Value: 0}, {Name: "duration_ms", Value: n}}
		return r
	}
	o := s.run(t)
	wantEnd(t, o, fault.AgentNoProgress)
	if len(s.box.executed) != stopSame {
		t.Errorf("executed %d times", len(s.box.executed))
	}
	told := 0
	for _, m := range s.model.requests[len(s.model.requests)-1].Messages {
		told += strings.Count(m.Content, sameAgain)
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}

	t.Run("a new plan may call it again", func(t *testing.T) {
		s := newStage(planned("t1 execute"), run, run, run, run, run, planned("t2 execute"), run, calls(finish("end")))
		wantEnd(t, s.run(t), "")
	})
	t.Run("a planner that never plans", func(t *testing.T) {
		s := newStage(run)
		wantEnd(t, s.run(t), fault.AgentNoProgress)
	})
	t.Run("A, B, A, B", func(t *testing.T) {
		s := newStage(planned("t1 execute"))
		for range 10 {
			s.model.steps = append(s.model.steps, run, calls(call(tool.ListFiles, `{}`)))
		}
		wantEnd(t, s.run(t), fault.AgentNoProgress)
	})
	t.Run("another result each time", func(t *testing.T) {
		s := newStage(planned("t1 execute"), run, run, run, run, run, run, calls(finish("end")))
		n := 0
		s.box.results[tool.RunCommand] = func(args json.RawMessage) tool.Result {
			n++
			r := usual(tool.RunCommand, args)
			r.Text = decimal(n)
			return r
		}
		wantEnd(t, s.run(t), "")
	})
	t.Run("a change in between", func(t *testing.T) {
		s := newStage(planned("t1 execute"))
		for i := range 6 {
			s.model.steps = append(s.model.steps, run, calls(call(tool.WriteFile, `{"path":"a`+decimal(i)+`","content":""}`)))
		}
		s.model.steps = append(s.model.steps, calls(finish("end")))
		wantEnd(t, s.run(t), "")
	})
}

// Two calls are identical exactly when their arguments are equal as JSON.
func TestIdentityIgnoresTheOrderOfMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "m")
		a, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(m, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if identity("x", a) != identity("x", b) {
			t.Fatalf("%s and %s differ", a, b)
		}
		if identity("x", a) == identity("y", a) {
			t.Fatal("the name does not count")
		}
		m["another"] = len(m)
		c, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(c) && identity("x", a) == identity("x", c) {
			t.Fatalf("%s and %s are the same", a, c)
		}
	})
	if identity("x", json.RawMessage(`{"n":12345678901234567890}`)) == identity("x", json.RawMessage(`{"n":12345678901234567891}`)) {
		t.Error("large numbers are rounded")
	}
}
