package agent

import (
	"context"
	"errors"
	"slices"

	"sunaba/fault"
	"sunaba/tool"
)

// ask makes one call of the model with the conversation as it stands. It keeps
// the window, counts the iteration (AGT-02) and the tokens (OLL-13). Errors are
// faults; llm.bad_output is left to the caller, who asks differently.
func (x *run) ask(ctx context.Context, phase, planTask string, req ChatRequest) (Reply, error) {
	if phase == phaseWork && x.window.full(weight(x.messages, req.Tools)) {
		x.compact(req.Tools)
	}
	reply, err := x.chat(ctx, phase, planTask, req)
	if fault.CodeOf(err) == fault.LLMOverflow && x.makeRoom() {
		reply, err = x.chat(ctx, phase, planTask, req)
	}
	return reply, err
}

// The phases of a Trace.
const (
	phasePlan = "plan"
	phaseWork = "work"
)

func (x *run) chat(ctx context.Context, phase, planTask string, req ChatRequest) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, fault.Wrap(ctx.Err(), fault.AgentCancelled, "chat")
	}
	if x.progress.Iterations >= x.cfg.MaxIterations {
		return Reply{}, fault.New(fault.AgentIterations, "chat", "limit", decimal(x.cfg.MaxIterations))
	}
	x.progress.Iterations++
	x.observe()
	// A copy: compaction changes messages in place, and who logs a request must
	// find it as it was sent.
	req.Messages = slices.Clone(x.messages)
	req.Temperature = x.job.Temperature
	req.Trace = Trace{
		SessionID: x.job.SessionID, TaskID: x.job.TaskID, PlanTask: planTask, Phase: phase,
		Iteration: x.progress.Iterations, Replan: x.progress.Replans,
	}
	reply, err := x.cfg.Model.Chat(ctx, req)
	if ctx.Err() != nil {
		return Reply{}, fault.Wrap(ctx.Err(), fault.AgentCancelled, "chat")
	}
	x.progress.Usage.Input += reply.Usage.Input
	x.progress.Usage.Output += reply.Usage.Output
	if planTask != "" {
		x.graph.AddActual(planTask, reply.Usage.Input, reply.Usage.Output)
	}
	x.window.learn(weight(req.Messages, req.Tools), reply.Usage.Input)
	x.observe()
	if err == nil {
		return reply, nil
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		x.note(e.Code, e.Args)
	}
	return Reply{}, err
}

// compact shortens the oldest results until half of the permitted window is
// free, so that it does not have to happen every turn.
func (x *run) compact(tools []tool.Spec) {
	half := x.window
	half.share /= 2
	shorten(x.messages, keepResults, func() bool { return !half.full(weight(x.messages, tools)) })
	full := func() bool { return x.window.full(weight(x.messages, tools)) }
	if full() {
		shorten(x.messages, 1, func() bool { return !full() })
	}
	// What is left of old calls adds up, too.
	if full() && x.history > 0 {
		x.forgetHistory()
	}
	for full() {
		shorter := dropExchange(x.messages, keepResults)
		if len(shorter) == len(x.messages) {
			return
		}
		x.messages = shorter
	}
}

// makeRoom does all that can be done after an overflow: every result but the
// newest is shortened, and what the Session remembers is left out. It reports
// whether anything became shorter: if not, the same request would fail again.
func (x *run) makeRoom() bool {
	shorter := shorten(x.messages, 1, func() bool { return false })
	if x.history > 0 {
		x.forgetHistory()
		return true
	}
	return shorter
}

// forgetHistory leaves out what the Session remembers of earlier Tasks.
func (x *run) forgetHistory() {
	x.messages = slices.Delete(x.messages, 1, 1+x.history)
	x.history = 0
}
