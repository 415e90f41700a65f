package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"sunaba/fault"
)

// The values that hold where a Config leaves them zero, and the bounds of what
// a Session remembers.
const (
	DefaultTTL       = 24 * time.Hour
	DefaultMaxQueued = 64
	MaxWait          = 25 * time.Second // longest wait of one Status

	maxExchanges     = 20       // of one Session
	maxExchangeBytes = 64 << 10 // of one Session, requests and results together
	maxResultBytes   = 1 << 20  // of one Task
)

// Config is what a Desk is made from. Run is required.
type Config struct {
	// Run does the work of one Task; it is called for one Task at a time and
	// must return soon after ctx ends. A panic of it fails the Task.
	Run func(ctx context.Context, w *Work) Outcome
	// Ledger remembers which Tasks existed; nil keeps nothing.
	Ledger Ledger
	// Earlier are records of processes that are gone (C-75).
	Earlier []Record
	// TTL is how long a finished Task stays known; 0: DefaultTTL.
	TTL time.Duration
	// MaxQueued bounds the Tasks that wait; 0: DefaultMaxQueued.
	MaxQueued int
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Report takes what no caller can be told: a ledger that cannot be written
	// in the middle of a Task, a panic. It must not call the Desk. nil drops it.
	Report func(error)
}

// Desk takes Requests, queues them and answers for their Tasks. At most one
// Task is planning or running (S1-072); the others wait in order of arrival
// (S1-074). It is safe for concurrent use.
type Desk struct {
	cfg Config

	mu       sync.Mutex
	tasks    map[string]*task
	sessions map[string]*conversation
	repeats  map[string]string // client request ID → task ID
	queue    []*task
	active   *task
	idle     chan struct{} // closed while no Task is active
	closed   bool
}

// New returns a Desk that knows the Tasks of the ledger and of Earlier: those
// that were not finished are failed with agent.server_restarted
// (MCP-2026-07); nothing is run again.
func New(cfg Config) (*Desk, error) {
	if cfg.TTL <= 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.MaxQueued <= 0 {
		cfg.MaxQueued = DefaultMaxQueued
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Report == nil {
		cfg.Report = func(error) {}
	}
	if cfg.Ledger == nil {
		cfg.Ledger = forgetful{}
	}
	d := &Desk{
		cfg:      cfg,
		tasks:    map[string]*task{},
		sessions: map[string]*conversation{},
		repeats:  map[string]string{},
		idle:     make(chan struct{}),
	}
	close(d.idle)
	known, err := cfg.Ledger.All()
	if err != nil {
		return nil, fault.Wrap(err, fault.PlatformState, "ledger")
	}
	for _, r := range cfg.Earlier {
		if err := d.remember(r, true); err != nil {
			return nil, err
		}
	}
	for _, r := range known {
		if err := d.remember(r, false); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// remember takes one record of an earlier process. One of another ledger is
// copied into ours, so that the other may be removed.
func (d *Desk) remember(r Record, copied bool) error {
	t := newTask(Request{}, r.ID, r.SessionID, r.Created)
	t.ttl = r.TTL
	t.status.State, t.status.Updated = r.State, r.Updated
	if !r.State.Terminal() {
		t.status.State, t.status.Updated = Failed, d.cfg.Now()
		t.status.Error = fault.New(fault.AgentServerRestarted, "")
	}
	if t.expired(d.cfg.Now()) {
		return nil
	}
	if copied || !r.State.Terminal() {
		if err := d.cfg.Ledger.Put(t.record()); err != nil {
			return fault.Wrap(err, fault.PlatformState, "ledger")
		}
	}
	d.tasks[r.ID] = t
	return nil
}

// Submit accepts a Request and answers at once (S1-074). An unknown SessionID
// is mcp.unknown_session. A ClientRequestID that was seen before answers with
// the Task it made, if the Request is the same, and is mcp.input otherwise.
func (d *Desk) Submit(r Request) (Ticket, error) {
	sum := digest(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	if r.ClientRequestID != "" {
		if t := d.tasks[d.repeats[r.ClientRequestID]]; t != nil {
			if t.digest != sum {
				return Ticket{}, fault.New(fault.MCPInput, "agent_run", "field", "client_request_id")
			}
			return t.ticket(), nil
		}
	}
	if d.closed {
		return Ticket{}, fault.New(fault.MCPStopping, "agent_run")
	}
	if len(d.queue) >= d.cfg.MaxQueued {
		return Ticket{}, fault.New(fault.MCPBusy, "agent_run", "limit", decimal(d.cfg.MaxQueued))
	}
	sessionID := r.SessionID
	if sessionID != "" && d.sessions[sessionID] == nil {
		return Ticket{}, fault.New(fault.MCPUnknownSession, "agent_run", "session", sessionID)
	}
	if sessionID == "" {
		sessionID = uuid.NewString()
	}
	t := newTask(r, uuid.NewString(), sessionID, d.cfg.Now())
	t.ttl, t.digest = d.cfg.TTL, sum
	if err := d.cfg.Ledger.Put(t.record()); err != nil {
		return Ticket{}, fault.Wrap(err, fault.PlatformState, "ledger")
	}
	if d.sessions[sessionID] == nil {
		d.sessions[sessionID] = &conversation{}
	}
	d.sessions[sessionID].tasks++
	d.tasks[t.status.TaskID] = t
	if r.ClientRequestID != "" {
		d.repeats[r.ClientRequestID] = t.status.TaskID
	}
	d.queue = append(d.queue, t)
	queued := t.ticket() // before next, which may start it at once
	d.next()
	return queued, nil
}

// Status tells what may be told of a Task. With a wait it returns as soon as
// the Task's state changes, is terminal, or the wait is over; waits are cut to
// MaxWait. Ending ctx ends only the waiting. A Task that begins or ceases to
// wait for a person wakes it too. An unknown task is mcp.unknown_task; a
// sessionID that is not the Task's is mcp.session_mismatch ("" is not compared).
func (d *Desk) Status(ctx context.Context, taskID, sessionID string, wait time.Duration) (Status, error) {
	t, s, changed, err := d.look(taskID, sessionID)
	if err != nil || wait <= 0 || s.State.Terminal() {
		return s, err
	}
	timer := time.NewTimer(min(wait, MaxWait))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	// The Task itself is asked, not the desk: it may have been swept meanwhile.
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.status, nil
}

func (d *Desk) look(taskID, sessionID string) (*task, Status, <-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	t := d.tasks[taskID]
	if t == nil {
		return nil, Status{}, nil, fault.New(fault.MCPUnknownTask, "agent_status", "task", taskID)
	}
	if sessionID != "" && sessionID != t.status.SessionID {
		return nil, Status{}, nil, fault.New(fault.MCPSessionMismatch, "agent_status", "task", taskID, "session", sessionID)
	}
	return t, t.status, t.changed, nil
}

// Cancel asks a Task to stop: one that waits is cancelled at once, one that
// works as soon as its work has stopped safely (S1-070). A finished Task stays
// as it is. An unknown task is mcp.unknown_task.
func (d *Desk) Cancel(taskID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tasks[taskID]
	if t == nil {
		return fault.New(fault.MCPUnknownTask, "agent_status", "task", taskID)
	}
	d.cancel(t)
	return nil
}

// CancelOwned cancels every Task of owner; "" owns none (C-37).
func (d *Desk) CancelOwned(owner string) {
	if owner == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancelWhere(func(t *task) bool { return t.request.Owner == owner })
}

// Close refuses new Requests, cancels every Task, and waits until the active
// one has stopped or ctx ends, whose error it then returns. It may be called
// again.
func (d *Desk) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	d.cancelWhere(func(*task) bool { return true })
	idle := d.idle
	d.mu.Unlock()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancelWhere cancels the Tasks that want names. The caller holds mu.
func (d *Desk) cancelWhere(want func(*task) bool) {
	for _, t := range slices.Clone(d.queue) {
		if want(t) {
			d.cancel(t)
		}
	}
	if d.active != nil && want(d.active) {
		d.cancel(d.active)
	}
}

// cancel stops one Task. The caller holds mu.
func (d *Desk) cancel(t *task) {
	switch {
	case t.status.State.Terminal():
	case t == d.active:
		t.stop()
	default:
		d.queue = slices.DeleteFunc(d.queue, func(q *task) bool { return q == t })
		t.status.Error = fault.New(fault.AgentCancelled, "")
		d.move(t, Cancelled)
	}
}

// sweep forgets finished Tasks whose time is over, and Sessions no Task of
// which is left. The caller holds mu.
func (d *Desk) sweep() {
	now := d.cfg.Now()
	for id, t := range d.tasks {
		if !t.expired(now) {
			continue
		}
		delete(d.tasks, id)
		if r := t.request.ClientRequestID; d.repeats[r] == id {
			delete(d.repeats, r)
		}
		if c := d.sessions[t.status.SessionID]; c != nil {
			if c.tasks--; c.tasks <= 0 {
				delete(d.sessions, t.status.SessionID)
			}
		}
	}
}
