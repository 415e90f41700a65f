package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sunaba/fault"
	"sunaba/plan"
	"sunaba/tool"
)

// maxLost is how often a lost, empty or cut reply is answered by a nudge, in a
// row, before the Task fails with llm.bad_output.
const maxLost = 2

// attempt is one try at one task of the TaskGraph.
type attempt struct {
	*run
	task      plan.Task
	seen      observed
	lost      int // lost replies in a row
	unbacked  int // claims of completion without the effect (S1-107)
	plain     int // replies without a call in a row
	corrected bool
	warned    bool          // that something which failed was not made good
	denied    *tool.Failure // the last refusal
}

// attempt works one task until it is completed, or returns why it is not.
func (x *run) attempt(ctx context.Context, t plan.Task) error {
	if err := x.graph.Start(t.ID); err != nil {
		return err
	}
	x.progress.Phase, x.progress.Current = Working, t.Title
	defer x.forgetThinking()
	done, total := x.graph.Count()
	x.say(RoleUser, startTask(t, done+1, total))
	a := &attempt{run: x, task: t}
	for {
		text, ended, err := a.turn(ctx)
		if err != nil {
			return err
		}
		if ended {
			return x.complete(ctx, t, text)
		}
	}
}

// complete books the end of a task.
func (x *run) complete(ctx context.Context, t plan.Task, text string) error {
	if err := x.graph.Complete(t.ID); err != nil {
		return err
	}
	x.summaries = append(x.summaries, summary{t.Title, text})
	x.progress.Last = nil
	x.progress.Current = ""
	x.observe()
	used, over := x.graph.Actual(t.ID)
	e := Event{Kind: "task.done", PlanTask: t.ID, Detail: fmt.Sprintf("tokens=%d budget=%s", used.Total(), t.Budget)}
	if over { // a plan value: it stops nothing (C-74)
		e.Kind = "task.overrun"
	}
	return x.record(ctx, e)
}

// forgetThinking removes reasoning once the exchange it served is over (OLL-14d).
func (x *run) forgetThinking() {
	for i := range x.messages {
		x.messages[i].Thinking = ""
	}
}

// turn is one call of the model with what follows from it.
func (a *attempt) turn(ctx context.Context) (text string, ended bool, err error) {
	reply, err := a.ask(ctx, phaseWork, a.task.ID, ChatRequest{Tools: a.tools})
	content := strings.TrimSpace(reply.Message.Content)
	calls := reply.Message.ToolCalls
	switch {
	case fault.CodeOf(err) == fault.LLMBadOutput, err == nil && content == "" && len(calls) == 0:
		return "", false, a.nudge(reply, lostReply(a.tools.names()))
	case err != nil:
		return "", false, err
	case reply.Ending == EndLength && len(calls) == 0:
		a.say(RoleAssistant, content)
		return "", false, a.nudge(reply, cutReply)
	}
	if len(calls) == 0 {
		var meant bool
		if calls, meant = a.tools.fromText(content); len(calls) == 0 {
			a.lost = 0
			a.say(RoleAssistant, content)
			return a.words(ctx, content, meant)
		}
		content = ""
	}
	// Cut replies in a row are bounded even when they carry calls.
	if reply.Ending == EndLength {
		if a.lost++; a.lost > maxLost {
			return "", false, fault.New(fault.LLMBadOutput, "chat")
		}
	} else {
		a.lost = 0
	}
	a.plain = 0
	return a.act(ctx, Message{
		Role: RoleAssistant, Content: content, Thinking: reply.Message.Thinking, ToolCalls: a.named(calls),
	}, reply.Ending == EndLength)
}

// nudge asks again in other words, at most maxLost times in a row.
func (a *attempt) nudge(reply Reply, words string) error {
	if a.lost++; a.lost > maxLost {
		return fault.New(fault.LLMBadOutput, "chat")
	}
	if reply.Ending == EndLength {
		words = cutReply
	}
	a.say(RoleUser, words)
	return nil
}

// words judges a reply without calls. For a task without effect it is the
// answer (S1-108). Otherwise it is a claim: the model is told what is missing,
// or, when the effects are there, to end the task; if it then still only talks,
// its words are taken for the summary.
func (a *attempt) words(ctx context.Context, content string, meant bool) (string, bool, error) {
	if meant && !a.corrected {
		a.corrected = true
		a.say(RoleUser, textCall+a.tools.preview(""))
		return "", false, nil
	}
	if a.plain++; a.task.Effect == plan.None || (a.seen.covers(string(a.task.Effect)) && a.plain > 1) {
		return content, true, nil
	}
	if a.seen.covers(string(a.task.Effect)) {
		a.say(RoleUser, endTask)
		return "", false, nil
	}
	if err := a.claim(ctx); err != nil {
		return "", false, err
	}
	a.say(RoleUser, noEffect(string(a.task.Effect)))
	return "", false, nil
}

// claim counts one claim of completion that nothing backs (AGT-04, S1-107).
func (a *attempt) claim(ctx context.Context) error {
	a.unbacked++
	a.note(fault.AgentNoEffect, nil)
	if err := a.record(ctx, Event{Kind: "task.no_effect", PlanTask: a.task.ID, Code: fault.AgentNoEffect}); err != nil {
		return err
	}
	if a.unbacked >= a.cfg.MaxRepeatedFailures {
		return fault.New(fault.AgentNoEffect, "run", "task", a.task.ID)
	}
	return nil
}

// named gives every call an identifier, so that results find their calls.
func (a *attempt) named(calls []ToolCall) []ToolCall {
	out := make([]ToolCall, len(calls))
	for i, c := range calls {
		if c.ID == "" {
			a.made++
			c.ID = "call_" + decimal(a.made)
		}
		out[i] = c
	}
	return out
}

// act executes the calls of one reply in order. The first that ends the task
// or the attempt ends the reply; every call gets a result, so that history
// stays whole.
func (a *attempt) act(ctx context.Context, m Message, cut bool) (text string, ended bool, err error) {
	at := len(a.messages)
	calls := m.ToolCalls
	m.ToolCalls = make([]ToolCall, len(calls))
	a.messages = append(a.messages, m)
	for i, c := range calls {
		answer := lateCall
		if err != nil {
			answer = stoppedCall
		}
		fitted, fit := a.fit(c)
		if !ended && err == nil {
			switch {
			case cut && !reads(c.Name):
				answer = cutCall
			default:
				answer, text, ended, err = a.one(ctx, c, fitted, fit)
				answer = a.window.fit(answer, weight(a.messages[:1], a.tools))
			}
		}
		// What goes back into history is a valid object in every case (LLM-008).
		c.Arguments = fitted
		a.messages[at].ToolCalls[i] = c
		a.messages = append(a.messages, Message{Role: RoleTool, Content: answer, ToolName: c.Name, ToolCallID: c.ID})
	}
	return text, ended, err
}

// fit checks a call's name and arguments; on failure the object is empty and
// must not be executed.
func (a *attempt) fit(c ToolCall) (json.RawMessage, error) {
	spec, ok := a.tools.find(c.Name)
	if !ok {
		return json.RawMessage("{}"), fault.New(fault.ToolUnknown, c.Name, "name", c.Name, "known", a.tools.names())
	}
	fitted, err := tool.Arguments(spec, c.Arguments)
	if err != nil {
		return json.RawMessage("{}"), err
	}
	return fitted, nil
}
