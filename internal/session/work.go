package session

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"sunaba/fault"
)

// Work is the active Task as its work sees it. Its methods are safe for
// concurrent use and do nothing once the Task has ended.
type Work struct {
	TaskID, SessionID string
	Request           Request
	History           []Exchange // earlier Tasks of the Session, oldest first

	desk *Desk
	task *task
}

// Update is one report of progress.
type Update struct {
	Planning            bool // the TaskGraph is being made or changed; otherwise work is going on
	Progress            Progress
	Iterations, Replans int
	Tokens              Tokens
	Error               *fault.Error // the last failure; nil: none
}

// Outcome is how the work of a Task ended. Error nil: completed;
// agent.cancelled: cancelled; anything else: failed.
type Outcome struct {
	Error  *fault.Error
	Result string
	Plan   string
}

// Update tells the desk how far the Task is.
func (w *Work) Update(u Update) {
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	t := w.task
	if t.status.State.Terminal() {
		return
	}
	s := &t.status
	s.Progress, s.Iterations, s.Replans, s.Tokens, s.Error = u.Progress, u.Iterations, u.Replans, u.Tokens, u.Error
	s.Updated = w.desk.cfg.Now()
	s.Tokens.Total = s.Tokens.Input + s.Tokens.Output
	to := Running
	if u.Planning {
		to = Planning
	}
	if to != s.State {
		w.desk.move(t, to)
	}
}

// AwaitApproval says that the Task waits for a person, or no longer does (C-09).
func (w *Work) AwaitApproval(waits bool) {
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	if s := &w.task.status; !s.State.Terminal() && s.AwaitsApproval != waits {
		s.AwaitsApproval = waits
		w.task.wake()
	}
}

// next starts the first waiting Task if none is active. The caller holds mu.
func (d *Desk) next() {
	if d.active != nil || len(d.queue) == 0 {
		return
	}
	t := d.queue[0]
	d.queue = slices.Delete(d.queue, 0, 1)
	d.active = t
	d.idle = make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	d.move(t, Planning)
	w := &Work{
		TaskID: t.status.TaskID, SessionID: t.status.SessionID, Request: t.request,
		History: slices.Clone(d.sessions[t.status.SessionID].exchanges),
		desk:    d, task: t,
	}
	go func() {
		defer stop()
		d.finish(t, d.guarded(ctx, w), ctx.Err() != nil)
	}()
}

// guarded runs the work; a panic of it fails the Task, not the server.
func (d *Desk) guarded(ctx context.Context, w *Work) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			d.cfg.Report(err)
			o = Outcome{Error: fault.Wrap(err, fault.AgentFailed, "run")}
		}
	}()
	return d.cfg.Run(ctx, w)
}

// finish books the outcome of the active Task and starts the next one.
func (d *Desk) finish(t *task, o Outcome, stopped bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	to := Completed
	switch {
	case o.Error == nil:
	case stopped || o.Error.Code == fault.AgentCancelled:
		to = Cancelled
		o.Error = cancelled()
	default:
		to = Failed
	}
	s := &t.status
	s.Error, s.Result, s.AwaitsApproval = o.Error, cut(o.Result, maxResultBytes), false
	s.Progress.Current = ""
	if !allowed(s.State, to) {
		d.move(t, Running) // planning passes through running (C-35)
	}
	d.move(t, to)
	if c := d.sessions[s.SessionID]; c != nil {
		c.add(Exchange{Request: t.request.Text, Result: s.Result, Plan: o.Plan})
	}
	// Images and text are no longer needed; the digest keeps repeats apart.
	t.request.Text, t.request.Images = "", nil
	d.active = nil
	close(d.idle)
	d.next()
}

// move makes one listed transition, records it and wakes waits. An unlisted
// one is refused and reported: it would be a mistake of this package. The
// caller holds mu.
func (d *Desk) move(t *task, to State) {
	if !allowed(t.status.State, to) {
		d.cfg.Report(fmt.Errorf("session: refused transition %s to %s", t.status.State, to))
		return
	}
	t.status.State, t.status.Updated = to, d.cfg.Now()
	if err := d.cfg.Ledger.Put(t.record()); err != nil {
		d.cfg.Report(fmt.Errorf("session: ledger: %w", err))
	}
	t.wake()
}
