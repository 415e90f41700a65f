package agent

import (
	"context"
	"encoding/json"
	"strings"

	"sunaba/fault"
	"sunaba/plan"
	"sunaba/tool"
)

// one executes one call and returns what the model is told of it. An error
// ends the attempt or the Task.
func (a *attempt) one(ctx context.Context, c ToolCall, fitted json.RawMessage, unfit error) (answer, text string, ended bool, err error) {
	if unfit != nil {
		f := tool.AsFault(unfit)
		answer = a.render(c.Name, tool.Fail(tool.NoScope, f))
		return answer, "", false, a.failed(c.Name, tool.Failure{Code: f.Code, Args: f.Args})
	}
	switch c.Name {
	case tool.FinishTask:
		return a.finish(ctx, fitted)
	case tool.UpdatePlan:
		answer, err = a.extend(ctx, fitted)
		return answer, "", false, err
	}
	call := identity(c.Name, fitted)
	if d := a.guard.denied[call]; d != nil {
		answer, err = a.deniedAgain(ctx, c.Name, d)
		return answer, "", false, err
	}
	if ctx.Err() != nil {
		return stoppedCall, "", false, fault.Wrap(ctx.Err(), fault.AgentCancelled, c.Name)
	}
	r, err := a.box.Call(ctx, Call{PlanTask: a.task.ID, Name: c.Name, Arguments: fitted})
	if ctx.Err() != nil {
		err = fault.Wrap(ctx.Err(), fault.AgentCancelled, c.Name)
	}
	if err != nil {
		return stoppedCall, "", false, err
	}
	answer, err = a.judge(ctx, c.Name, call, fitted, r)
	return answer, "", false, err
}

// render is a result as the model sees it; a complaint about arguments shows
// what they should have been.
func (a *attempt) render(name string, r tool.Result) string {
	text := r.Model(a.cfg.Texts)
	if r.Error != nil && (r.Error.Code == fault.ToolArguments || r.Error.Code == fault.ToolUnknown) {
		text += "\n" + a.tools.preview(name)
	}
	return text
}

// judge books the result of an executed call.
func (a *attempt) judge(ctx context.Context, name, call string, fitted json.RawMessage, r tool.Result) (string, error) {
	answer := a.render(name, r)
	a.report.add(name, subject(fitted), r)
	if a.seen.add(name, r) {
		a.guard.changed()
	}
	if r.OK || r.Error == nil {
		a.guard.succeeded()
		switch n := a.guard.same(call, r); {
		case n == tellSame:
			answer += "\n" + sameAgain
		case n >= stopSame:
			return answer, &stuck{
				err: fault.New(fault.AgentNoProgress, "run", "count", decimal(n)),
				why: "the call of " + name + " gave the same result " + decimal(n) + " times.",
			}
		}
		return answer, nil
	}
	if isDenial(r.Error.Code) {
		a.denied = r.Error
		a.guard.denied[call] = &denial{failure: *r.Error}
		if err := a.refusedEvent(ctx, name, r.Error.Code); err != nil {
			return answer, err
		}
	}
	return answer, a.failed(name, *r.Error)
}

// subject is the path, or the program, a call is about, for the report.
func subject(fitted json.RawMessage) string {
	var c struct {
		Path, From string
		Argv       []string
	}
	switch {
	case json.Unmarshal(fitted, &c) != nil:
		return ""
	case c.Path != "":
		return c.Path
	case c.From != "":
		return c.From
	case len(c.Argv) > 0:
		return c.Argv[0]
	}
	return ""
}

func (a *attempt) refusedEvent(ctx context.Context, name string, code fault.Code) error {
	return a.record(ctx, Event{Kind: "task.tool_refused", PlanTask: a.task.ID, Tool: name, Code: code})
}

// failed counts one failure; too many of one cause in a row end the Task
// (AGT-03).
func (a *attempt) failed(name string, f tool.Failure) error {
	a.note(f.Code, f.Args)
	if n := a.guard.failed(name, f.Code, target(f)); n >= a.cfg.MaxRepeatedFailures {
		return fault.New(fault.AgentRepeatedFailure, "run", "code", string(f.Code), "count", decimal(n))
	}
	return nil
}

// deniedAgain answers a call that was refused before, without executing it
// (C-72, S1-109): the first time it is told so, then the plan must change.
func (a *attempt) deniedAgain(ctx context.Context, name string, d *denial) (string, error) {
	d.repeats++
	a.denied = &d.failure
	a.note(d.failure.Code, d.failure.Args)
	if err := a.refusedEvent(ctx, name, d.failure.Code); err != nil {
		return stoppedCall, err
	}
	answer := a.render(name, tool.Result{Scope: tool.NoScope, Error: &d.failure}) + "\n" + deniedAgain
	if d.repeats < 2 {
		return answer, nil
	}
	return answer, &stuck{
		err: fault.New(fault.AgentDenied, "run", "code", string(d.failure.Code)),
		why: "the same call of " + name + " was refused (" + string(d.failure.Code) + ") again and again.",
	}
}

// finish judges finish_task: a claim that only observed effects make true.
func (a *attempt) finish(ctx context.Context, fitted json.RawMessage) (answer, text string, ended bool, err error) {
	var claim struct{ Summary, Outcome string }
	if err := json.Unmarshal(fitted, &claim); err != nil {
		return "", "", false, fault.Wrap(err, fault.ToolArguments, tool.FinishTask)
	}
	claim.Summary = strings.TrimSpace(claim.Summary)
	switch {
	case claim.Summary == "":
		f := tool.Failure{Code: fault.ToolArguments, Args: fault.Args{"tool": tool.FinishTask, "argument": "summary"}}
		return needSummary, "", false, a.failed(tool.FinishTask, f)
	case claim.Outcome == "failed":
		a.reason = claim.Summary
		s := &stuck{
			err: fault.New(fault.AgentReplans, "run"),
			why: "it was given up: " + claim.Summary,
		}
		if a.denied != nil {
			s.err = fault.New(fault.AgentDenied, "run", "code", string(a.denied.Code))
		}
		return `{"ok":true}`, "", false, s
	case !a.seen.covers(string(a.task.Effect)):
		answer = noEffect(string(a.task.Effect))
		return answer, "", false, a.claim(ctx)
	case a.task.Effect.Covers(plan.Write) && !a.warned && len(a.report.failures) > 0:
		// Once: the run report names it in any case (LLM-002).
		a.warned = true
		last := a.report.failures[len(a.report.failures)-1]
		return notMadeGood(last.path, string(last.code)), "", false, nil
	}
	return `{"ok":true}`, claim.Summary, true, nil
}
