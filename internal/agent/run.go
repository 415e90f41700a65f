package agent

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/plan"
)

// The bounds of what earlier Tasks of a Session take in the window.
const (
	historyShare    = 4       // at most a quarter of it
	historyAnswer   = 4 << 10 // bytes of one earlier answer
	historyRequests = 2 << 10 // bytes of one earlier request
)

// run is one Task at work.
type run struct {
	cfg   Config
	job   Job
	box   Toolbox
	rec   Recorder
	obs   Observer
	tools specs

	messages  []Message // append-only but for the window and old thinking
	history   int       // how many messages of earlier Tasks follow the head
	graph     *plan.Graph
	window    window
	guard     guard
	report    report
	progress  Progress
	summaries []summary
	reason    string // what the model said when it gave up last
	made      int    // identifiers given to calls without one
}

// summary is the model's last word on one completed task.
type summary struct{ title, text string }

// stuck ends the attempt at one task. The planner may find another way; if it
// does not, the Task fails with err.
type stuck struct {
	err *fault.Error
	why string // for the planner
}

// Error makes stuck an error; it never leaves the package.
func (s *stuck) Error() string { return s.err.Error() }

// Run works one Task to its end. Every failure is in the Outcome. It returns
// soon after ctx ends, as soon as Model and Toolbox do.
func (r *Runner) Run(ctx context.Context, job Job, box Toolbox, rec Recorder, obs Observer) Outcome {
	x := &run{
		cfg: r.cfg, job: job, box: box, rec: rec, obs: obs,
		tools:  box.Specs(),
		window: window{tokens: r.cfg.NumCtx, share: r.cfg.CompactAt, ratio: bytesPerToken},
		guard:  newGuard(),
	}
	x.progress.Phase = Planning
	return x.outcome(ctx, x.work(ctx))
}

// work plans the request and works the tasks in order of the critical path.
func (x *run) work(ctx context.Context) error {
	if err := x.sees(ctx); err != nil {
		return err
	}
	x.open()
	if err := x.plan(ctx); err != nil {
		return err
	}
	for !x.graph.Done() {
		ready := x.graph.Ready()
		if len(ready) == 0 {
			return fault.New(fault.AgentFailed, "run")
		}
		t := ready[0]
		err := x.attempt(ctx, t)
		if s, ok := err.(*stuck); ok {
			err = x.replan(ctx, t, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sees refuses images that the model cannot see, before any of its calls
// (OLL-09): a model without vision would ignore them without a word.
func (x *run) sees(ctx context.Context) error {
	if len(x.job.Images) == 0 {
		return nil
	}
	v, ok := x.cfg.Model.(Vision)
	if !ok {
		return fault.New(fault.LLMNoVision, "chat")
	}
	sees, err := v.Vision(ctx)
	if err != nil {
		return err
	}
	if !sees {
		return fault.New(fault.LLMNoVision, "chat")
	}
	return nil
}

// open begins the conversation: the head, what of the Session's history has
// room, and the request.
func (x *run) open() {
	x.messages = []Message{{Role: RoleSystem, Content: x.cfg.System}}
	room := int(bytesPerToken*float64(x.cfg.NumCtx)) / historyShare
	from := len(x.job.History)
	var past []Exchange
	for from > 0 {
		from--
		e := x.job.History[from]
		e.Request, e.Result = clip(e.Request, historyRequests), clip(e.Result, historyAnswer)
		if room -= len(e.Request) + len(e.Result); room < 0 {
			break
		}
		past = append(past, e)
	}
	slices.Reverse(past)
	for _, e := range past {
		x.say(RoleUser, e.Request)
		x.say(RoleAssistant, e.Result)
	}
	x.history = 2 * len(past)
	x.messages = append(x.messages, Message{Role: RoleUser, Content: x.job.Request + "\n\n" + askPlan, Images: x.job.Images})
}

func (x *run) say(role Role, text string) {
	x.messages = append(x.messages, Message{Role: role, Content: text})
}

// note keeps a failure that does not end the Task, for agent_status. What was
// refused to a single call appears as agent.denied; other failures of single
// calls are the model's to deal with (CONTRACT §5, S1-064).
func (x *run) note(code fault.Code, args fault.Args) {
	switch {
	case isDenial(code):
		x.progress.Last = fault.New(fault.AgentDenied, "run", "code", string(code))
	case slices.Contains([]string{"llm", "agent", "plan", "platform"}, code.Family()):
		x.progress.Last = &fault.Error{Code: code, Args: args}
	default:
		return
	}
	x.observe()
}

func (x *run) observe() {
	if x.graph != nil {
		x.progress.Completed, x.progress.Total = x.graph.Count()
	}
	x.obs.Observe(x.progress)
}

func (x *run) record(ctx context.Context, e Event) error {
	return x.rec.Record(ctx, e)
}

// outcome turns the end of the work into what is told of it (C-81).
func (x *run) outcome(ctx context.Context, err error) Outcome {
	o := Outcome{Progress: x.progress}
	var parts []string
	for _, s := range x.summaries {
		if len(x.summaries) == 1 {
			parts = append(parts, s.text)
			continue
		}
		parts = append(parts, "- "+s.title+": "+s.text)
	}
	result := []string{strings.Join(parts, "\n")}
	if err != nil {
		o.Err = ending(ctx, err)
		result = append(result, x.reason, x.leftover())
	}
	x.report.survey(ctx, x.box)
	result = append(result, x.report.text(x.cfg.Texts, x.cfg.Root))
	result = slices.DeleteFunc(result, func(s string) bool { return strings.TrimSpace(s) == "" })
	o.Result = strings.Join(result, "\n\n")
	if x.graph != nil {
		o.Plan = x.graph.String()
		o.Progress.Completed, o.Progress.Total = x.graph.Count()
	}
	return o
}

// ending is the fault a Task ends with.
func ending(ctx context.Context, err error) *fault.Error {
	if ctx.Err() != nil {
		return fault.Wrap(err, fault.AgentCancelled, "run")
	}
	if s, ok := err.(*stuck); ok {
		return s.err
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(err, fault.AgentFailed, "run")
}

// clip shortens s to at most limit bytes without splitting a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit] + "…"
}

func decimal(n int) string { return strconv.Itoa(n) }
