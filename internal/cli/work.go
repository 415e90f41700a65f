package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/audit"
	"sunaba/internal/session"
	"sunaba/policy"
	"sunaba/scope"
)

// jobs is the desk with the audit in front of it.
type jobs struct {
	*session.Desk
	audit *audit.Log
}

// Submit queues a request and records it; what cannot be recorded is not done.
func (j jobs) Submit(r session.Request) (session.Ticket, error) {
	t, err := j.Desk.Submit(r)
	if err != nil {
		return t, err
	}
	if err := j.audit.Append(audit.Record{Event: "task.queued", SessionID: t.SessionID, TaskID: t.TaskID}); err != nil {
		return session.Ticket{}, errors.Join(fault.Wrap(err, fault.PlatformAudit, "agent_run"), j.Cancel(t.TaskID))
	}
	return t, nil
}

// work runs one Task: a box of tools around it, its events into the audit, its
// progress to the desk.
func (s *server) work(ctx context.Context, w *session.Work) session.Outcome {
	about := audit.Record{SessionID: w.SessionID, TaskID: w.TaskID}
	if err := s.event(about, "task.start", ""); err != nil {
		return session.Outcome{Error: err}
	}
	box := s.broker.Open(ctx, w.SessionID, w.TaskID)
	job := agent.Job{
		SessionID: w.SessionID, TaskID: w.TaskID, Request: w.Request.Text, Temperature: w.Request.Temperature,
	}
	for _, i := range w.Request.Images {
		job.Images = append(job.Images, i.Data)
	}
	for _, h := range w.History {
		job.History = append(job.History, agent.Exchange{Request: h.Request, Result: h.Result})
	}
	o := s.agent.Run(ctx, job, box, recorder{s.audit, s.log, about}, observer{w})
	if err := box.Close(); err != nil {
		s.log.Error("sandbox", "task", w.TaskID, "error", err)
		o.Err = fault.Wrap(err, fault.PlatformWorker, "close", "cause", err.Error())
	}
	s.tokens.EndTask(w.SessionID, w.TaskID)
	observer{w}.Observe(o.Progress)
	event, code := "task.completed", fault.Code("")
	if o.Err != nil {
		event, code = "task.failed", o.Err.Code
		s.log.Warn("task", "task", w.TaskID, "error", o.Err)
		if code == fault.AgentCancelled {
			event = "task.cancelled"
		}
	}
	if err := s.event(about, event, code); err != nil {
		return session.Outcome{Error: err, Result: o.Result}
	}
	return session.Outcome{Error: o.Err, Result: o.Result, Plan: o.Plan}
}

// event appends one event of a Task; the last one of it is made durable.
func (s *server) event(about audit.Record, event string, code fault.Code) *fault.Error {
	about.Event, about.Code = event, code
	err := s.audit.Append(about)
	if err == nil && event != "task.start" {
		err = s.audit.Sync()
	}
	if err != nil {
		return fault.Wrap(err, fault.PlatformAudit, "task")
	}
	return nil
}

// recorder writes the loop's events into the audit, and their numbers, for
// which that has no member, into the application log.
type recorder struct {
	audit *audit.Log
	log   *slog.Logger
	about audit.Record
}

// Record appends one event.
func (r recorder) Record(_ context.Context, e agent.Event) error {
	rec := r.about
	rec.Event, rec.PlanTask, rec.Tool, rec.Code = e.Kind, e.PlanTask, e.Tool, e.Code
	if err := r.audit.Append(rec); err != nil {
		return fault.Wrap(err, fault.PlatformAudit, "task")
	}
	r.log.Debug(e.Kind, "task", r.about.TaskID, "plan_task", e.PlanTask, "tool", e.Tool, "code", string(e.Code), "detail", e.Detail)
	return nil
}

// observer tells the desk how far a Task is.
type observer struct{ work *session.Work }

// Observe passes one report of progress on.
func (o observer) Observe(p agent.Progress) {
	o.work.Update(session.Update{
		Planning: p.Phase == agent.Planning,
		Progress: session.Progress{Completed: p.Completed, Total: p.Total, Current: p.Current},
		Tokens:   session.Tokens{Input: p.Usage.Input, Output: p.Usage.Output},
		Error:    p.Last, Iterations: p.Iterations, Replans: p.Replans,
	})
}

// capabilities says in one line what commands may do: part of the Runtime
// Context, so that the model does not try what is bound to be refused.
func capabilities(t texts, e *policy.Effective) string {
	var aliases []string
	for _, entry := range e.Entries {
		aliases = append(aliases, entry.Alias)
	}
	rights := scope.Capability(0)
	for _, r := range e.Roots {
		if r.Kind == policy.RootWorkspace {
			rights = r.Capability
		}
	}
	return t.text("prompt.capabilities", "profile", e.Profile, "rights", rights.String(),
		"commands", strings.Join(aliases, ", "), "network", reachable(t, &e.Network))
}

// mostNamed is how many endpoints the prompt names; tokens are dear.
const mostNamed = 16

// reachable says in a few words what commands may connect to.
func reachable(t texts, n *policy.Network) string {
	var names []string
	for _, e := range n.Endpoints {
		switch {
		case e.Closed != "" || len(names) > mostNamed:
		case len(names) == mostNamed:
			names = append(names, "…")
		case e.Host == "":
			names = append(names, "localhost"+e.Name())
		default:
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return t.text("prompt.network.none")
	}
	return t.text("prompt.network.listed", "endpoints", strings.Join(names, ", "))
}
