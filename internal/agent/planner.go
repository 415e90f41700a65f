package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/plan"
	"sunaba/tool"
)

// plan makes the TaskGraph. The ladder: an answer under a JSON schema, the
// schema in the prompt instead, and one task that is the request itself; a
// Task therefore never fails for want of a plan.
func (x *run) plan(ctx context.Context) error {
	x.progress.Phase = Planning
	x.observe()
	ok, err := x.draft(ctx, func(text []byte) error {
		a, err := plan.Parse(text)
		if err == nil {
			x.graph, err = plan.New(a.Tasks, x.cfg.MaxTasks)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !ok {
		if x.graph, err = plan.New(plan.Single(x.job.Request), x.cfg.MaxTasks); err != nil {
			return err
		}
		x.say(RoleAssistant, `{"tasks":[{"id":"t1","title":"the whole request"}]}`)
	}
	return x.record(ctx, Event{Kind: "task.plan", Detail: x.figures()})
}

// figures are the numbers of the TaskGraph, for the audit.
func (x *run) figures() string {
	_, total := x.graph.Count()
	return fmt.Sprintf("tasks=%d critical=%s budget=%d", total, x.graph.CriticalCost(), x.graph.TotalBudget())
}

// draft asks the planner until build accepts an answer: on each rung of the
// ladder once, and once more with what was wrong. Only the accepted answer
// stays in the conversation. ok false means that no rung gave a usable one.
func (x *run) draft(ctx context.Context, build func(text []byte) error) (ok bool, err error) {
	mark := len(x.messages)
	schema := plan.Schema(x.cfg.MaxTasks)
	for _, format := range []json.RawMessage{schema, nil} {
		x.messages = x.messages[:mark]
		if format == nil {
			x.say(RoleUser, askPlanWithSchema(schema))
		}
		for range 2 {
			reply, err := x.ask(ctx, phasePlan, "", ChatRequest{Format: format})
			if fault.CodeOf(err) == fault.LLMBadOutput {
				break
			}
			if err != nil {
				return false, err
			}
			text := jsonObject(reply.Message.Content)
			if text == "" || reply.Ending == EndLength {
				break
			}
			problem := build([]byte(text))
			if problem == nil {
				x.messages = x.messages[:mark]
				x.say(RoleAssistant, text)
				return true, nil
			}
			x.say(RoleAssistant, text)
			x.say(RoleUser, askPlanAgain(x.problems(problem)))
		}
	}
	x.messages = x.messages[:mark]
	return false, nil
}

// problems tells the model everything that is wrong with a plan, and what to do
// about it.
func (x *run) problems(err error) string {
	list := []*fault.Error{tool.AsFault(err)}
	if e, ok := errors.AsType[*plan.Error](err); ok {
		list = e.Problems()
	}
	lines := make([]string, len(list))
	for i, p := range list {
		message, hint := x.cfg.Texts.Fault(p.Code, p.Args)
		lines[i] = strings.TrimSpace("- " + message + " " + hint)
	}
	return strings.Join(lines, "\n")
}

// jsonObject is what of an answer may be one JSON object: models like to put it
// into a fence or between sentences.
func jsonObject(content string) string {
	from, to := strings.IndexByte(content, '{'), strings.LastIndexByte(content, '}')
	if from < 0 || to < from {
		return ""
	}
	return content[from : to+1]
}

// replan asks for another way after the attempt at t got stuck (S1-110). A plan
// that does not change, cannot be made, or was changed max_replans times fails
// the Task (S1-111).
func (x *run) replan(ctx context.Context, t plan.Task, s *stuck) error {
	if x.progress.Replans >= x.cfg.MaxReplans {
		return x.final(s)
	}
	x.progress.Replans++
	x.progress.Phase, x.progress.Current = Planning, ""
	x.observe()
	if err := x.graph.Fail(t.ID); err != nil {
		return err
	}
	before := unfinished(x.graph)
	x.say(RoleUser, askReplan(t, s.why, completed(x.graph)))
	unchanged := false
	ok, err := x.draft(ctx, func(text []byte) error {
		tasks, err := revised(text)
		if err != nil {
			return err
		}
		if unchanged = same(before, tasks); unchanged {
			return nil
		}
		if !acts(tasks) && acts(before) {
			return fault.New(fault.PlanValue, "replan", "at", "tasks.effect", "expected", "read | write | execute")
		}
		return x.graph.ReplaceUnfinished(tasks)
	})
	if err != nil {
		return err
	}
	if !ok || unchanged {
		return x.final(s)
	}
	clear(x.guard.seen)
	return x.record(ctx, Event{Kind: "task.replan", PlanTask: t.ID, Code: s.err.Code, Detail: x.figures()})
}

// acts reports whether any task needs an effect. Work that failed cannot be
// replaced by an explanation, nor by nothing: that would complete the Task
// without the acts it was for (AGT-04).
func acts(tasks []plan.Task) bool {
	return slices.ContainsFunc(tasks, func(t plan.Task) bool { return t.Effect != plan.None })
}

// final is what the Task fails with after the last try at another way.
func (x *run) final(s *stuck) error {
	if s.err.Code == fault.AgentReplans {
		return fault.New(fault.AgentReplans, "run", "count", decimal(x.progress.Replans))
	}
	return s
}

// revised reads the tasks of a changed plan. They may depend on completed ones,
// so only their form is checked here; the graph checks the rest.
func revised(text []byte) ([]plan.Task, error) {
	var answer struct {
		Tasks json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Tasks == nil {
		_, err := plan.Parse(text) // says what is wrong with it
		return nil, err
	}
	add, err := json.Marshal(map[string]json.RawMessage{"add": answer.Tasks})
	if err != nil {
		return nil, fault.Wrap(err, fault.PlanInvalid, "replan")
	}
	u, err := plan.ParseUpdate(add)
	if err == nil && len(u.Add) == 0 {
		err = fault.New(fault.PlanMissing, "replan", "at", "tasks")
	}
	return u.Add, err
}

// same reports whether two lists of tasks ask for the same work, whatever their
// identifiers, order and estimates.
func same(a, b []plan.Task) bool {
	work := func(tasks []plan.Task) []string {
		out := make([]string, len(tasks))
		for i, t := range tasks {
			out[i] = string(t.Effect) + " " + strings.Join(strings.Fields(strings.ToLower(t.Instructions)), " ")
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(work(a), work(b))
}

// unfinished returns the tasks of g that are not completed.
func unfinished(g *plan.Graph) []plan.Task {
	return slices.DeleteFunc(g.Tasks(), func(t plan.Task) bool {
		_, state, _ := g.Task(t.ID)
		return state == plan.Completed
	})
}

// completed returns the IDs of the tasks of g that are completed.
func completed(g *plan.Graph) []string {
	var ids []string
	for _, t := range g.Tasks() {
		if _, state, _ := g.Task(t.ID); state == plan.Completed {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// leftover names the tasks that were not completed, for the person.
func (x *run) leftover() string {
	if x.graph == nil {
		return ""
	}
	var lines []string
	for _, t := range unfinished(x.graph) {
		lines = append(lines, "- "+x.cfg.Texts.Text("report.unfinished", fault.Args{"title": t.Title}))
	}
	return strings.Join(lines, "\n")
}

// extend answers update_plan. A refused change is a result that names every
// problem, and counts as a failure.
func (a *attempt) extend(ctx context.Context, fitted json.RawMessage) (string, error) {
	u, err := plan.ParseUpdate(estimated(fitted))
	if err == nil {
		err = a.graph.Extend(u.Add, u.Depend)
	}
	if err != nil {
		f := tool.AsFault(err)
		answer := a.render(tool.UpdatePlan, tool.Fail(tool.NoScope, f)) + "\n" + a.problems(err)
		return answer, a.failed(tool.UpdatePlan, tool.Failure{Code: f.Code, Args: f.Args})
	}
	a.guard.succeeded()
	a.observe()
	return "{\"ok\":true}\n" + a.graph.String(), a.record(ctx, Event{Kind: "task.plan", PlanTask: a.task.ID, Detail: a.figures()})
}

// estimated gives added tasks without any estimate the one of a task nobody
// estimated: the tool's schema leaves estimates out, because prompt tokens are
// dear. What is not of that form is left for plan to refuse.
func estimated(arguments json.RawMessage) json.RawMessage {
	var u map[string]json.RawMessage
	var add []map[string]json.RawMessage
	if json.Unmarshal(arguments, &u) != nil || json.Unmarshal(u["add"], &add) != nil {
		return arguments
	}
	usual, err := json.Marshal(plan.Single("x")[0])
	if err != nil {
		return arguments
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(usual, &values) != nil {
		return arguments
	}
	keys := []string{"optimistic_tokens", "most_likely_tokens", "pessimistic_tokens", "token_budget"}
	for _, t := range add {
		if t == nil || slices.ContainsFunc(keys, func(k string) bool { return t[k] != nil }) {
			continue
		}
		for _, k := range keys {
			t[k] = values[k]
		}
	}
	if u["add"], err = json.Marshal(add); err != nil {
		return arguments
	}
	out, err := json.Marshal(u)
	if err != nil {
		return arguments
	}
	return out
}
