package pod

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/tool"
)

// Run adds request to the conversation and lets the model work on it until it
// answers without asking for tools; that answer is returned. Every message is
// stored before the next step: the model's wish for a tool before the tool
// acts, its result after. When Run fails the conversation stays as far as it
// came, and a later Run goes on from there. It fails with what the Model or the
// Store says, with ctx's error, or with pod.turns when the Worker's bound is
// reached or one answer asks for more than 128 calls: such an answer is not
// kept, and none of its calls is carried out. An empty request is pod.missing.
func (p *Pod) Run(ctx context.Context, request string) (answer string, err error) {
	if request == "" {
		return "", missing("request")
	}
	if err := p.begin(ctx); err != nil {
		return "", err
	}
	defer p.end()
	if err := p.add(ctx, p.opening(valid(request))...); err != nil {
		return "", err
	}
	for range p.worker.maxTurns {
		reply, err := p.worker.model.Chat(ctx, slices.Clone(p.messages), p.tools.Specs())
		if err != nil {
			return "", err
		}
		if len(reply.Calls) > maxCalls {
			return "", fault.New(fault.PodTurns, "run", "limit", strconv.Itoa(maxCalls), tool.Case, "calls")
		}
		reply = said(reply)
		if err := p.add(ctx, reply); err != nil {
			return "", err
		}
		if len(reply.Calls) == 0 {
			return reply.Content, nil
		}
		for _, c := range reply.Calls {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			result := p.tools.Call(ctx, c.Name, json.RawMessage(c.Arguments))
			// What was done is recorded even when the run was cancelled meanwhile.
			if err := p.add(context.WithoutCancel(ctx), p.told(c, result)); err != nil {
				return "", err
			}
		}
	}
	return "", fault.New(fault.PodTurns, "run", "limit", strconv.Itoa(p.worker.maxTurns))
}

// maxCalls bounds the calls of one answer: with the bound on answers it bounds
// what a run can do.
const maxCalls = 128

// said is what counts of a model's answer: nothing is shared with the model,
// and the text is what a Store can keep.
func said(m Message) Message {
	kept := Message{Role: Assistant, Content: valid(m.Content), Thinking: valid(m.Thinking)}
	for _, c := range m.Calls {
		kept.Calls = append(kept.Calls, Call{valid(c.ID), valid(c.Name), valid(c.Arguments)})
	}
	return kept
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// opening is what a run adds first: in a new session the system message, in an
// interrupted one an answer to every call that has none, and the request.
func (p *Pod) opening(request string) (opening []Message) {
	if len(p.messages) == 0 && p.worker.system != "" {
		opening = append(opening, Message{Role: System, Content: p.worker.system})
	}
	for _, c := range unanswered(p.messages) {
		lost := fault.New(fault.PodInterrupted, c.Name, "tool", c.Name)
		opening = append(opening, p.told(c, tool.Fail(tool.NoScope, lost)))
	}
	return append(opening, Message{Role: User, Content: request})
}

// unanswered returns the calls at the end of a conversation that have no
// result. Whether they were carried out is not known.
func unanswered(messages []Message) []Call {
	answers := 0
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; {
		case m.Role == FromTool:
			answers++
		case m.Role == Assistant && answers < len(m.Calls):
			return m.Calls[answers:]
		default:
			return nil
		}
	}
	return nil
}

// told is the result of c as the model sees it.
func (p *Pod) told(c Call, r tool.Result) Message {
	return Message{Role: FromTool, Tool: c.Name, CallID: c.ID, Content: r.Model(inPod{p.worker.texts})}
}

// add stores messages and then keeps them.
func (p *Pod) add(ctx context.Context, messages ...Message) error {
	if err := p.store.Append(ctx, p.session, messages...); err != nil {
		return err
	}
	p.messages = append(p.messages, messages...)
	return nil
}
