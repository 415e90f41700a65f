package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sunaba/fault"
	"sunaba/tool"
)

// step is what the model answers to one request.
type step func(r ChatRequest) (Reply, error)

// model answers with its steps in order, then with the last one again and
// again, and keeps every request.
type model struct {
	steps    []step
	requests []ChatRequest
}

func (m *model) Chat(_ context.Context, r ChatRequest) (Reply, error) {
	m.requests = append(m.requests, r)
	if len(m.steps) == 0 {
		return Reply{}, fault.New(fault.LLMFailed, "script")
	}
	s := m.steps[0]
	if len(m.steps) > 1 {
		m.steps = m.steps[1:]
	}
	return s(r)
}

// seeing is a model that knows whether it takes images.
type seeing struct {
	*model
	sees bool
}

func (m seeing) Vision(context.Context) (bool, error) { return m.sees, nil }

func text(content string) step {
	return func(ChatRequest) (Reply, error) {
		return Reply{Message: Message{Role: RoleAssistant, Content: content}, Ending: EndStop, Usage: Usage{10, 2}}, nil
	}
}

func calls(list ...ToolCall) step {
	return func(ChatRequest) (Reply, error) {
		return Reply{Message: Message{Role: RoleAssistant, ToolCalls: slices.Clone(list)}, Ending: EndStop, Usage: Usage{10, 2}}, nil
	}
}

func broken(code fault.Code) step {
	return func(ChatRequest) (Reply, error) { return Reply{}, fault.New(code, "chat") }
}

func empty() step {
	return func(ChatRequest) (Reply, error) { return Reply{Ending: EndEmpty}, nil }
}

// cutOff is s with the ending "length".
func cutOff(s step) step {
	return func(r ChatRequest) (Reply, error) {
		reply, err := s(r)
		reply.Ending = EndLength
		return reply, err
	}
}

func call(name, arguments string) ToolCall {
	return ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
}

func finish(summary string) ToolCall {
	return call(tool.FinishTask, fmt.Sprintf(`{"summary":%q,"outcome":"done"}`, summary))
}

func giveUp(reason string) ToolCall {
	return call(tool.FinishTask, fmt.Sprintf(`{"summary":%q,"outcome":"failed"}`, reason))
}

// planned is a planner's answer: "id effect [after,…]" for each task.
func planned(tasks ...string) step {
	type task map[string]any
	var list []task
	for _, line := range tasks {
		f := append(strings.Fields(line), "")
		after := []string{}
		if f[2] != "" {
			after = strings.Split(f[2], ",")
		}
		list = append(list, task{
			"id": f[0], "title": "title of " + f[0], "instructions": "do " + f[0], "depends_on": after, "effect": f[1],
			"optimistic_tokens": 100, "most_likely_tokens": 200, "pessimistic_tokens": 300, "token_budget": "1K",
		})
	}
	b, err := json.Marshal(map[string]any{"tasks": list, "skills": []string{}})
	if err != nil {
		panic(err)
	}
	return text(string(b))
}

// box answers calls by name and keeps what was executed.
type box struct {
	results  map[string]func(args json.RawMessage) tool.Result
	executed []string
	err      error
}

func (b *box) Specs() []tool.Spec { return tool.Catalogue() }

func (b *box) Call(_ context.Context, c Call) (tool.Result, error) {
	b.executed = append(b.executed, c.Name+" "+string(c.Arguments))
	if b.err != nil {
		return tool.Result{}, b.err
	}
	if r, ok := b.results[c.Name]; ok {
		return r(c.Arguments), nil
	}
	return usual(c.Name, c.Arguments), nil
}

// usual is a success with the effects that a tool of that name has.
func usual(name string, args json.RawMessage) tool.Result {
	r := tool.Result{OK: true, Scope: tool.InWorkspace, Text: "result of " + name + " " + string(args)}
	path := "/w/" + subject(args)
	switch name {
	case tool.WriteFile, tool.EditFile:
		r.Effects = []tool.Effect{{Kind: tool.EffectWrite, Path: path, Changed: true}}
	case tool.RemovePath:
		r.Effects = []tool.Effect{{Kind: tool.EffectDelete, Path: path, Changed: true}}
	case tool.RunCommand:
		r.Effects = []tool.Effect{{Kind: tool.EffectExecute, Argv0: "/usr/bin/go"}}
	default:
		r.Effects = []tool.Effect{{Kind: tool.EffectRead, Path: path}}
	}
	return r
}

func refuse(code fault.Code, args ...string) func(json.RawMessage) tool.Result {
	return func(json.RawMessage) tool.Result { return tool.Fail(tool.InWorkspace, fault.New(code, "", args...)) }
}

// texts answers with keys and arguments, so that tests see both.
type texts struct{}

func (texts) Fault(code fault.Code, args fault.Args) (string, string) {
	return texts{}.Text(string(code), args), ""
}

func (texts) Text(key string, args fault.Args) string {
	var b strings.Builder
	b.WriteString("<" + key)
	for _, k := range slices.Sorted(maps.Keys(args)) {
		b.WriteString(" " + k + "=" + args[k])
	}
	return b.String() + ">"
}

// diary is Recorder and Observer.
type diary struct {
	events   []Event
	progress []Progress
	fail     string // the kind of event that cannot be recorded
	then     func() // called by Record, which then returns ctx's error
}

func (d *diary) Record(ctx context.Context, e Event) error {
	d.events = append(d.events, e)
	if d.then != nil {
		d.then()
		return ctx.Err()
	}
	if e.Kind == d.fail {
		return fault.New(fault.PlatformAudit, "record")
	}
	return nil
}

func (d *diary) Observe(p Progress) { d.progress = append(d.progress, p) }

func (d *diary) kinds() []string {
	var kinds []string
	for _, e := range d.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// stage is one Task under test.
type stage struct {
	cfg   Config
	job   Job
	model *model
	box   *box
	diary *diary
}

func newStage(steps ...step) *stage {
	m := &model{steps: steps}
	return &stage{
		cfg:   Config{Model: m, Texts: texts{}, System: "HEAD", Root: "/w"},
		job:   Job{SessionID: "s", TaskID: "t", Request: "REQUEST"},
		model: m,
		box:   &box{results: map[string]func(json.RawMessage) tool.Result{}},
		diary: &diary{},
	}
}

func (s *stage) run(t *testing.T) Outcome {
	t.Helper()
	o := New(s.cfg).Run(t.Context(), s.job, s.box, s.diary, s.diary)
	for i, r := range s.model.requests {
		checkRequest(t, i, r)
	}
	return o
}

// checkRequest holds what is true of every request: never a format with tools,
// a system message first, every tool result right after its call, every
// argument a valid object, no empty assistant message.
func checkRequest(t *testing.T, i int, r ChatRequest) {
	t.Helper()
	if len(r.Format) > 0 && len(r.Tools) > 0 {
		t.Errorf("request %d has a format and tools", i)
	}
	if r.Messages[0].Role != RoleSystem {
		t.Errorf("request %d begins with %s", i, r.Messages[0].Role)
	}
	var open []string
	for j, m := range r.Messages {
		if m.Role == RoleTool {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("request %d, message %d: a result without its call", i, j)
				continue
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("request %d, message %d: calls without results: %v", i, j, open)
		}
		open = nil
		for _, c := range m.ToolCalls {
			var v map[string]any
			if json.Unmarshal(c.Arguments, &v) != nil || v == nil {
				t.Errorf("request %d, message %d: arguments %s", i, j, c.Arguments)
			}
			open = append(open, c.ID)
		}
		if m.Role == RoleAssistant && m.Content == "" && len(m.ToolCalls) == 0 {
			t.Errorf("request %d, message %d: an empty assistant message", i, j)
		}
	}
}

func wantEnd(t *testing.T, o Outcome, code fault.Code) {
	t.Helper()
	var got fault.Code
	if o.Err != nil {
		got = o.Err.Code
	}
	if got != code {
		t.Fatalf("ended with %q (%v), want %q\n%s", got, o.Err, code, o.Result)
	}
}

// said returns all that the model was told in its last request after from.
func (s *stage) said(from int) string {
	var b strings.Builder
	last := s.model.requests[len(s.model.requests)-1].Messages
	for _, m := range last[min(from, len(last)):] {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content)
	}
	return b.String()
}
