package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/tool"
)

// Covers: AGT-01, AGT-05, OLL-10, OLL-13, S1-129, AT-17
func TestAJobFromPlanToReport(t *testing.T) {
	s := newStage(
		planned("t1 read", "t2 write t1"),
		calls(call(tool.ReadFile, `{"path":"a.txt"}`)),
		calls(finish("a was read")),
		calls(call(tool.WriteFile, `{"path":"b.txt","content":"x"}`), call(tool.RunCommand, `{"argv":["go","test"]}`)),
		calls(finish("b was written")),
	)
	o := s.run(t)
	wantEnd(t, o, "")
	want := "- title of t1: a was read\n- title of t2: b was written\n\n" +
		"<report.title>\n- <report.changed path=b.txt>\n- <report.command code=0 command=go count=1>"
	if diff := cmp.Diff(want, o.Result); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"task.plan", "task.done", "task.done"}, s.diary.kinds()); diff != "" {
		t.Error(diff)
	}
	final := Progress{Phase: Working, Completed: 2, Total: 2, Iterations: 5, Usage: Usage{50, 10}}
	if diff := cmp.Diff(final, o.Progress); diff != "" {
		t.Error(diff)
	}
	var currents []string
	for _, p := range s.diary.progress {
		if n := len(currents); p.Current != "" && (n == 0 || currents[n-1] != p.Current) {
			currents = append(currents, p.Current)
		}
	}
	if diff := cmp.Diff([]string{"title of t1", "title of t2"}, currents); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(o.Plan, "t2 completed") {
		t.Errorf("plan: %s", o.Plan)
	}
	// The planner gets no tools; the work gets all of them and no format.
	if r := s.model.requests[0]; len(r.Tools) != 0 || len(r.Format) == 0 || r.Trace.Phase != "plan" {
		t.Errorf("the planner's request: %d tools, format %s", len(r.Tools), r.Format)
	}
	if diff := cmp.Diff(tool.Catalogue(), s.model.requests[1].Tools); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Trace{"s", "t", "t1", "work", 2, 0}, s.model.requests[1].Trace); diff != "" {
		t.Error(diff)
	}
}

// Every request of the work begins with the whole request before it, byte for
// byte: the server's prompt cache holds.
func TestTheConversationIsAppendOnly(t *testing.T) {
	s := newStage(
		planned("t1 read", "t2 write t1"),
		calls(call(tool.ReadFile, `{"path":"a.txt"}`)),
		empty(),
		calls(call("no_such_tool", `{}`)),
		calls(call(tool.ReadFile, `{"path":`)),
		calls(finish("1")),
		calls(giveUp("cannot")),
		planned("t3 write"),
		calls(call(tool.WriteFile, `{"path":"b","content":""}`)),
		calls(finish("2")),
	)
	wantEnd(t, s.run(t), "")
	for i := 1; i < len(s.model.requests); i++ {
		before, now := s.model.requests[i-1].Messages, s.model.requests[i].Messages
		if len(now) < len(before) {
			t.Fatalf("request %d is shorter", i)
		}
		if diff := cmp.Diff(before, now[:len(before)]); diff != "" {
			t.Errorf("request %d changes what was said:\n%s", i, diff)
		}
	}
}

// Covers: OLL-06, MCP-RUN-03, AT-05
func TestTemperatureIsTheTasks(t *testing.T) {
	warm := 0.9
	s := newStage(planned("t1 none"), text("answer"))
	s.job.Temperature = &warm
	wantEnd(t, s.run(t), "")
	for _, r := range s.model.requests {
		if r.Temperature == nil || *r.Temperature != warm {
			t.Errorf("temperature %v", r.Temperature)
		}
	}
	s = newStage(planned("t1 none"), text("answer"))
	wantEnd(t, s.run(t), "")
	if s.model.requests[1].Temperature != nil {
		t.Error("a temperature nobody asked for")
	}
}

// Covers: OLL-09, MCP-RUN-04
func TestImagesNeedAModelThatSees(t *testing.T) {
	tests := []struct {
		name  string
		model func(*model) Model
		code  fault.Code
	}{
		{"sees", func(m *model) Model { return seeing{m, true} }, ""},
		{"does not see", func(m *model) Model { return seeing{m, false} }, fault.LLMNoVision},
		{"does not know", func(m *model) Model { return m }, fault.LLMNoVision},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(planned("t1 none"), text("a cat"))
			s.cfg.Model = test.model(s.model)
			s.job.Images = [][]byte{{1, 2}}
			wantEnd(t, s.run(t), test.code)
			if test.code != "" {
				if len(s.model.requests) != 0 {
					t.Error("the model was asked")
				}
				return
			}
			with := 0
			for _, m := range s.model.requests[1].Messages {
				with += len(m.Images)
			}
			if with != 1 || len(s.model.requests[0].Messages[1].Images) != 1 {
				t.Errorf("%d images were sent", with)
			}
		})
	}
}

// Covers: OLL-14c, OLL-14d
func TestThinkingStaysInItsExchange(t *testing.T) {
	think := func(s step) step {
		return func(r ChatRequest) (Reply, error) {
			reply, err := s(r)
			reply.Message.Thinking = "THOUGHT"
			return reply, err
		}
	}
	s := newStage(
		think(planned("t1 read", "t2 none t1")),
		think(calls(call(tool.ReadFile, `{"path":"a"}`))),
		think(calls(finish("one"))),
		think(text("two")),
	)
	o := s.run(t)
	wantEnd(t, o, "")
	thoughts := func(i int) (n int) {
		for _, m := range s.model.requests[i].Messages {
			if m.Thinking != "" {
				n++
			}
		}
		return n
	}
	if diff := cmp.Diff([]int{0, 0, 1, 0}, []int{thoughts(0), thoughts(1), thoughts(2), thoughts(3)}); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(o.Result+o.Plan, "THOUGHT") {
		t.Error("reasoning is in the result")
	}
}

// Covers: AGT-02
func TestIterationsAreBounded(t *testing.T) {
	n := 0
	s := newStage(planned("t1 write"), func(ChatRequest) (Reply, error) {
		n++ // a counter in the arguments: never the same call (LLM-012)
		return calls(call(tool.ReadFile, `{"path":"a`+decimal(n)+`"}`))(ChatRequest{})
	})
	o := s.run(t)
	wantEnd(t, o, fault.AgentIterations)
	if len(s.model.requests) != DefaultIterations || o.Progress.Iterations != DefaultIterations {
		t.Errorf("%d calls of the model", len(s.model.requests))
	}
	if !strings.Contains(o.Result, "<report.unfinished title=title of t1>") {
		t.Errorf("result: %s", o.Result)
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	tests := []struct {
		name string
		when func(s *stage, stop func())
		asks int
	}{
		{"before", func(_ *stage, stop func()) { stop() }, 0},
		{"while planning", func(s *stage, stop func()) {
			s.model.steps = []step{func(ChatRequest) (Reply, error) { stop(); return Reply{}, context.Canceled }}
		}, 1},
		{"while the model answers", func(s *stage, stop func()) {
			s.model.steps = []step{planned("t1 read"), func(ChatRequest) (Reply, error) { stop(); return Reply{}, context.Canceled }}
		}, 2},
		{"while an event is recorded", func(s *stage, stop func()) { s.diary.then = stop }, 1},
		{"in a tool", func(s *stage, stop func()) {
			s.model.steps = []step{planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`), call(tool.ReadFile, `{"path":"b"}`))}
			s.box.results[tool.ReadFile] = func(json.RawMessage) tool.Result { stop(); return tool.Result{OK: true} }
		}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(planned("t1 read"))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			test.when(s, stop)
			o := New(s.cfg).Run(ctx, s.job, s.box, s.diary, s.diary)
			wantEnd(t, o, fault.AgentCancelled)
			if len(s.model.requests) != test.asks || len(s.box.executed) > 1 {
				t.Errorf("%d requests, executed %v", len(s.model.requests), s.box.executed)
			}
		})
	}
}

// What cannot be recorded is not done; a lost Worker ends the Task at once.
func TestErrorsEndTheTask(t *testing.T) {
	for _, kind := range []string{"task.plan", "task.replan", "task.tool_refused", "task.no_effect", "task.done"} {
		t.Run(kind, func(t *testing.T) {
			s := newStage(planned("t1 write"),
				calls(finish("claim")),
				calls(call(tool.ReadFile, `{"path":"x"}`)),
				calls(giveUp("no")),
				planned("t2 read"),
				calls(call(tool.ListFiles, `{}`), finish("end")))
			s.box.results[tool.ReadFile] = refuse(fault.FSOutOfScope, "path", "/w/x")
			s.diary.fail = kind
			wantEnd(t, s.run(t), fault.PlatformAudit)
		})
	}
	t.Run("lost Worker", func(t *testing.T) {
		s := newStage(planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`), call(tool.ReadFile, `{"path":"b"}`)))
		s.box.err = fault.New(fault.PlatformWorker, "call")
		wantEnd(t, s.run(t), fault.PlatformWorker)
		if len(s.box.executed) != 1 {
			t.Errorf("executed %v", s.box.executed)
		}
	})
	for _, code := range []fault.Code{fault.LLMUnavailable, fault.LLMModelMissing, fault.LLMNoTools, fault.LLMRateLimited} {
		t.Run(string(code), func(t *testing.T) { // LLM-016: no storm of retries
			s := newStage(broken(code))
			wantEnd(t, s.run(t), code)
			if len(s.model.requests) != 1 {
				t.Errorf("%d requests", len(s.model.requests))
			}
			s = newStage(planned("t1 read"), broken(code))
			wantEnd(t, s.run(t), code)
			if len(s.model.requests) != 2 {
				t.Errorf("%d requests", len(s.model.requests))
			}
		})
	}
}

// Covers: SES-04
func TestHistoryGoesBeforeTheRequest(t *testing.T) {
	s := newStage(planned("t1 none"), text("answer"))
	s.job.History = []Exchange{{"OLDEST", strings.Repeat("x", 60<<10)}, {"EARLIER", "RESULT"}}
	s.cfg.NumCtx = 2048
	wantEnd(t, s.run(t), "")
	var roles []string
	for _, m := range s.model.requests[0].Messages[:4] {
		roles = append(roles, string(m.Role)+" "+clip(m.Content, 7))
	}
	want := []string{"system HEAD", "user EARLIER", "assistant RESULT", "user REQUEST…"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
}

// Covers: S1-063, S1-064
func TestTheLastErrorIsFitForTheClient(t *testing.T) {
	tests := []struct {
		name string
		code fault.Code
		want fault.Code
	}{
		{"a denial", fault.FSReadOnly, fault.AgentDenied},
		{"a person's no", fault.ApprovalRejected, fault.AgentDenied},
		{"a file that is not there", fault.FSNotFound, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`)), calls(call(tool.ListFiles, `{}`), finish("end")))
			s.box.results[tool.ReadFile] = refuse(test.code, "path", "/w/a", "tool", tool.ReadFile)
			o := s.run(t)
			wantEnd(t, o, "")
			var seen []fault.Code
			for _, p := range s.diary.progress {
				if p.Last == nil {
					continue
				}
				if n := len(seen); n == 0 || seen[n-1] != p.Last.Code {
					seen = append(seen, p.Last.Code)
				}
				if p.Last.Args["tool"] != "" {
					t.Error("an internal tool's name is told")
				}
			}
			if len(seen) > 1 || (len(seen) == 1) != (test.want != "") || (len(seen) == 1 && seen[0] != test.want) {
				t.Errorf("last errors %v, want %q", seen, test.want)
			}
			if o.Progress.Last != nil {
				t.Errorf("a completed Task has the error %v", o.Progress.Last)
			}
		})
	}
}

// TestAFailureIsHeldAgainstTheClaim: something that failed last and was not
// made good is held against the first "done", once; the report names it in any
// case. A task that needs no change is not held up.
//
// Covers: AGT-04
func TestAFailureIsHeldAgainstTheClaim(t *testing.T) {
	write, edit := call(tool.WriteFile, `{"path":"a.txt","content":"x"}`), call(tool.EditFile, `{"path":"b.txt","old_string":"x","new_string":"y"}`)
	for _, test := range []struct {
		name, effect string
		work         []ToolCall
		requests     int // planner, work, claims
	}{
		{"held once", "write", []ToolCall{write, edit}, 4},
		{"made good by another tool", "write", []ToolCall{edit, call(tool.WriteFile, `{"path":"b.txt","content":"y"}`)}, 3},
		{"no change demanded", "none", []ToolCall{edit}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(planned("t1 "+test.effect), calls(test.work...), calls(finish("updated both")))
			s.box.results[tool.EditFile] = refuse(fault.FSNoMatch, "path", "b.txt")
			o := s.run(t)
			wantEnd(t, o, "")
			if len(s.model.requests) != test.requests {
				t.Errorf("%d requests", len(s.model.requests))
			}
			if named := strings.Contains(o.Result, "b.txt"); !named {
				t.Errorf("the report does not name the file: %s", o.Result)
			}
		})
	}
}
