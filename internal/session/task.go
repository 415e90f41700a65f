package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"sunaba/fault"
)

// transitions are the only changes of state there are (S1-065..070).
var transitions = map[State][]State{
	Queued:   {Planning, Cancelled, Failed},
	Planning: {Running, Failed},
	Running:  {Planning, Completed, Failed, Cancelled},
}

// allowed reports whether a Task may go from one state to another.
func allowed(from, to State) bool { return slices.Contains(transitions[from], to) }

// task is one Task with everything the desk knows of it; guarded by Desk.mu.
type task struct {
	request Request
	digest  string
	status  Status
	ttl     time.Duration
	changed chan struct{} // closed and replaced on a change worth waking for
	stop    context.CancelFunc
}

func newTask(r Request, taskID, sessionID string, now time.Time) *task {
	return &task{
		request: r,
		status:  Status{TaskID: taskID, SessionID: sessionID, State: Queued, CreatedAt: now, Updated: now},
		changed: make(chan struct{}),
		stop:    func() {},
	}
}

func (t *task) ticket() Ticket {
	return Ticket{TaskID: t.status.TaskID, SessionID: t.status.SessionID, Status: t.status.State, CreatedAt: t.status.CreatedAt}
}

func (t *task) record() Record {
	return Record{
		ID: t.status.TaskID, SessionID: t.status.SessionID, State: t.status.State,
		Created: t.status.CreatedAt, Updated: t.status.Updated, TTL: t.ttl,
	}
}

// expired reports whether t is over and need not be known any longer.
func (t *task) expired(now time.Time) bool {
	return t.status.State.Terminal() && !now.Before(t.status.Updated.Add(t.ttl))
}

// wake lets every wait on t return.
func (t *task) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// conversation is what a Session remembers (SES-04): in memory only (SES-03).
type conversation struct {
	exchanges []Exchange
	tasks     int // known Tasks of the Session
}

// Exchange is one finished Task of a Session: its request, its final text, and
// its TaskGraph at the end.
type Exchange struct{ Request, Result, Plan string }

func (e Exchange) size() int { return len(e.Request) + len(e.Result) + len(e.Plan) }

// add keeps e and drops the oldest exchanges beyond the bounds.
func (c *conversation) add(e Exchange) {
	c.exchanges = append(c.exchanges, e)
	total := 0
	for _, x := range c.exchanges {
		total += x.size()
	}
	for len(c.exchanges) > 1 && (len(c.exchanges) > maxExchanges || total > maxExchangeBytes) {
		total -= c.exchanges[0].size()
		c.exchanges = c.exchanges[1:]
	}
}

// digest binds a ClientRequestID to what was asked, whoever asked it (C-89).
func digest(r Request) string {
	r.Owner, r.ClientRequestID = "", ""
	b, err := json.Marshal(r)
	if err != nil { // a temperature that is no number: equal to nothing
		return uuid.NewString()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func decimal(n int) string { return strconv.Itoa(n) }

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit]
}

// cancelled is the error of a Task that was stopped.
func cancelled() *fault.Error { return fault.New(fault.AgentCancelled, "") }
