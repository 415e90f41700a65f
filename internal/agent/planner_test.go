package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/plan"
	"sunaba/tool"
)

// Covers: PLN-01, PLN-02, AT-14
func TestThePlannersLadder(t *testing.T) {
	good := planned("t1 none")
	cycle := planned("t1 none t2", "t2 none t1")
	tests := []struct {
		name    string
		steps   []step
		rungs   string // f: with a format, p: schema in the prompt
		titles  []string
		effects []plan.Effect
	}{
		{"good at once", []step{good}, "f", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"fenced and with words around", []step{text("Here:\n```json\n" + content(t, good) + "\n```\nfine?")}, "f", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"a cycle, then good", []step{cycle, good}, "ff", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"two cycles, then good", []step{cycle, cycle, good}, "ffp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"the format is bad output", []step{broken(fault.LLMBadOutput), good}, "fp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"empty", []step{empty(), good}, "fp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"cut off", []step{cutOff(good), good}, "fp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"prose", []step{text("I will do it."), good}, "fp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"a call instead of a plan", []step{calls(finish("x")), good}, "fp", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"too many tasks", []step{planned("a none", "b none", "c none", "d none"), good}, "ff", []string{"title of t1"}, []plan.Effect{plan.None}},
		{"never a plan", []step{text("no"), text("no")}, "fp", []string{"REQUEST"}, []plan.Effect{plan.Read}},
		{"always a cycle", []step{cycle, cycle, cycle, cycle}, "ffpp", []string{"REQUEST"}, []plan.Effect{plan.Read}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(append(test.steps, calls(call(tool.ListFiles, `{}`), finish("end")))...)
			s.cfg.MaxTasks = 3
			o := s.run(t)
			wantEnd(t, o, "")
			rungs := ""
			for _, r := range s.model.requests {
				switch {
				case len(r.Tools) > 0:
				case len(r.Format) > 0:
					rungs += "f"
				default:
					rungs += "p"
					if !strings.Contains(s.textOf(r), string(plan.Schema(3))) {
						t.Error("the schema is not in the prompt")
					}
				}
			}
			if rungs != test.rungs {
				t.Errorf("rungs %s, want %s", rungs, test.rungs)
			}
			for _, title := range test.titles {
				if !strings.Contains(o.Plan, title) {
					t.Errorf("plan:\n%s", o.Plan)
				}
			}
			// Only the accepted answer stays.
			work := s.model.requests[len(test.rungs)].Messages
			if len(work) != 4 || work[2].Role != RoleAssistant || strings.Contains(work[2].Content, "t2") {
				t.Errorf("the work begins with %+v", work)
			}
		})
	}
}

func content(t *testing.T, s step) string {
	t.Helper()
	r, err := s(ChatRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Message.Content
}

func (s *stage) textOf(r ChatRequest) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// PLAN-002: nothing is merged or dropped, and every problem is told at once.
func TestPlanProblemsAreToldTogether(t *testing.T) {
	s := newStage(planned("t1 none", "t1 none", "t2 none tX", "T1 none"), planned("t1 none"), text("answer"))
	wantEnd(t, s.run(t), "")
	told := s.model.requests[1].Messages
	last := told[len(told)-1].Content
	for _, code := range []fault.Code{fault.PlanDuplicate, fault.PlanUnknownDependency} {
		if !strings.Contains(last, string(code)) {
			t.Errorf("%s is missing in:\n%s", code, last)
		}
	}
	if n := strings.Count(last, string(fault.PlanDuplicate)); n != 2 {
		t.Errorf("%d duplicates are told:\n%s", n, last)
	}
}

// PLAN-004: one task is right for most requests, and a plan of one costs one
// call more than no plan.
func TestATrivialJobIsOneTask(t *testing.T) {
	if !strings.Contains(askPlan, "as few tasks as possible: one is right for most") {
		t.Error("the planner is not told to be brief")
	}
	s := newStage(planned("t1 read"), calls(call(tool.ReadFile, `{"path":"README.md","limit":1}`)), calls(finish("# Title")))
	o := s.run(t)
	wantEnd(t, o, "")
	if o.Result != "# Title" || len(s.model.requests) != 3 {
		t.Errorf("%d requests, result %q", len(s.model.requests), o.Result)
	}
	if s.diary.events[0].Kind != "task.plan" || !strings.Contains(s.diary.events[0].Detail, "tasks=1 ") {
		t.Errorf("the size of the plan is not reported: %+v", s.diary.events[0])
	}
}

// Tasks are worked in order of the critical path.
func TestTheCriticalPathGoesFirst(t *testing.T) {
	s := newStage(planned("a none", "b none", "c none b"), text("x"))
	o := s.run(t)
	wantEnd(t, o, "")
	if !strings.HasPrefix(o.Result, "- title of b: x\n- title of ") {
		t.Errorf("order:\n%s", o.Result)
	}
}

// Covers: S1-110, S1-111
func TestReplans(t *testing.T) {
	stop := calls(giveUp("impossible"))
	look := calls(call(tool.ListFiles, `{}`), finish("two"))
	tests := []struct {
		name    string
		steps   []step
		code    fault.Code
		replans int
	}{
		{"another way", []step{planned("t1 write"), stop, planned("t2 read"), look}, "", 1},
		{"an explanation instead of the work", []step{planned("t1 write"), stop, planned("t2 none")}, fault.AgentReplans, 1},
		{"an explanation, then another way", []step{planned("t1 write"), stop, planned("t2 none"), planned("t2 read"), look}, "", 1},
		{"nothing instead of the work", []step{planned("t0 none", "t1 write t0"), text("zero"), stop, text(`{"tasks":[],"skills":[]}`)}, fault.AgentReplans, 1},
		{"an explanation for an explanation", []step{planned("t1 none"), stop, planned("t2 none"), text("answer")}, "", 1},
		{"the same plan", []step{planned("t1 write"), stop, planned("t1 write")}, fault.AgentReplans, 1},
		{"no plan at all", []step{planned("t1 write"), stop, text("sorry")}, fault.AgentReplans, 1},
		{"always another way that fails", []step{
			planned("t1 write"), stop, planned("t2 write"), stop, planned("t3 write"), stop, planned("t4 write"), stop,
		}, fault.AgentReplans, 3},
		{"completed tasks stay", []step{planned("t0 none", "t1 write t0"), text("zero"), stop, planned("t2 read t0"), look}, "", 1},
		{"completed tasks cannot be replaced", []step{
			planned("t0 none", "t1 write t0"), text("zero"), stop, planned("t0 read", "t2 none"), planned("t2 read t0"), look,
		}, "", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(test.steps...)
			o := s.run(t)
			wantEnd(t, o, test.code)
			if o.Progress.Replans != test.replans {
				t.Errorf("%d replans, want %d", o.Progress.Replans, test.replans)
			}
			if test.code != "" && o.Err.Args["count"] != decimal(test.replans) {
				t.Errorf("%v", o.Err)
			}
			if test.code != "" && !strings.Contains(o.Result, "impossible") {
				t.Errorf("the reason is not in the result:\n%s", o.Result)
			}
			if test.name == "completed tasks stay" && !strings.HasPrefix(o.Result, "- title of t0: zero\n- title of t2: two") {
				t.Errorf("result:\n%s", o.Result)
			}
			var phases []Phase
			for _, p := range s.diary.progress {
				if n := len(phases); n == 0 || phases[n-1] != p.Phase {
					phases = append(phases, p.Phase)
				}
			}
			want := []Phase{Planning, Working, Planning, Working}
			if diff := cmp.Diff(want[:3], phases[:3]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Covers: PLN-03, PLN-04
func TestUpdatePlan(t *testing.T) {
	add := `{"add":[{"id":"t2","title":"second","instructions":"go on","depends_on":["t1"],"effect":"none"}]}`
	s := newStage(planned("t1 read"),
		calls(call(tool.UpdatePlan, add), call(tool.ReadFile, `{"path":"a"}`), finish("one")),
		text("two"))
	o := s.run(t)
	wantEnd(t, o, "")
	if o.Result != "- title of t1: one\n- second: two" {
		t.Errorf("result:\n%s", o.Result)
	}
	if len(s.box.executed) != 1 {
		t.Errorf("update_plan reached the toolbox: %v", s.box.executed)
	}

	for _, bad := range []string{
		`{"add":[{"id":"t1","title":"x","instructions":"x","effect":"none"}]}`,
		`{"add":[{"id":"t2","title":"x","instructions":"x","effect":"none","depends_on":["t9"]}]}`,
		`{"add":[{"id":"t2","title":"x","instructions":"x","effect":"none","optimistic_tokens":5}]}`,
		`{"depend":[{"id":"t1","on":"t1"}]}`,
		`{"add":["x"]}`,
		`{"add":[null]}`,
	} {
		t.Run(bad, func(t *testing.T) {
			s := newStage(planned("t1 none"), calls(call(tool.UpdatePlan, bad)), text("end"))
			o := s.run(t)
			wantEnd(t, o, "")
			if !strings.Contains(s.said(4), `"ok":false`) || o.Progress.Total != 1 {
				t.Errorf("said:\n%s", s.said(4))
			}
		})
	}
}

func TestEstimatesAreFilledInOnlyWhereNoneIsGiven(t *testing.T) {
	var u plan.Update
	u, err := plan.ParseUpdate(estimated(json.RawMessage(`{"add":[{"id":"t2","title":"x","instructions":"x","effect":"read"}]}`)))
	if err != nil || len(u.Add) != 1 || u.Add[0].MostLikely <= 0 {
		t.Errorf("%+v, %v", u, err)
	}
	same := json.RawMessage(`{"depend":[]}`)
	if got := estimated(same); string(got) != string(same) {
		t.Errorf("got %s", got)
	}
}

// Covers: S1-122
func TestAnOverrunIsRecordedAndStopsNothing(t *testing.T) {
	dear := func(s step) step {
		return func(r ChatRequest) (Reply, error) {
			reply, err := s(r)
			reply.Usage = Usage{5000, 10}
			return reply, err
		}
	}
	s := newStage(planned("t1 none"), dear(text("answer")))
	wantEnd(t, s.run(t), "")
	last := s.diary.events[len(s.diary.events)-1]
	if diff := cmp.Diff(Event{Kind: "task.overrun", PlanTask: "t1", Detail: "tokens=5010 budget=1K"}, last); diff != "" {
		t.Error(diff)
	}
}
