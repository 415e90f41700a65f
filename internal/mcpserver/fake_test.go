package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"sunaba/fault"
	"sunaba/internal/session"
)

// catalog is a locale file as Texts.
type catalog map[string]string

func locale(t testing.TB, id string) catalog {
	t.Helper()
	raw, err := os.ReadFile("../locale/locales/" + id + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var c catalog
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c catalog) Text(key string, args fault.Args) string {
	text, ok := c[key]
	if !ok {
		return key
	}
	for name, value := range args {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

func (c catalog) Fault(code fault.Code, args fault.Args) (string, string) {
	hint := ""
	if _, ok := c[string(code)+".hint"]; ok {
		hint = c.Text(string(code)+".hint", args)
	}
	return c.Text(string(code), args), hint
}

// fakeJobs keeps Tasks that change only when a test says so.
type fakeJobs struct {
	mu        sync.Mutex
	tasks     map[string]*fakeTask
	requests  []session.Request
	ended     []string // owners
	submitErr error
	statusErr error
	onStatus  func() // called at the start of each Status
}

type fakeTask struct {
	status  session.Status
	changed chan struct{}
	owner   string
}

func newFakeJobs() *fakeJobs { return &fakeJobs{tasks: map[string]*fakeTask{}} }

func (f *fakeJobs) Submit(r session.Request) (session.Ticket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.submitErr != nil {
		return session.Ticket{}, f.submitErr
	}
	f.requests = append(f.requests, r)
	id, sid := uuid.NewString(), r.SessionID
	if sid == "" {
		sid = uuid.NewString()
	}
	now := time.Now()
	f.tasks[id] = &fakeTask{
		status:  session.Status{TaskID: id, SessionID: sid, State: session.Queued, CreatedAt: now, Updated: now},
		changed: make(chan struct{}), owner: r.Owner,
	}
	return session.Ticket{TaskID: id, SessionID: sid, Status: session.Queued, CreatedAt: now}, nil
}

func (f *fakeJobs) Status(ctx context.Context, task, inSession string, wait time.Duration) (session.Status, error) {
	if f.onStatus != nil {
		f.onStatus()
	}
	f.mu.Lock()
	if f.statusErr != nil {
		defer f.mu.Unlock()
		return session.Status{}, f.statusErr
	}
	t, ok := f.tasks[task]
	if !ok {
		f.mu.Unlock()
		return session.Status{}, fault.New(fault.MCPUnknownTask, "status", "task", task)
	}
	if inSession != "" && inSession != t.status.SessionID {
		f.mu.Unlock()
		return session.Status{}, fault.New(fault.MCPSessionMismatch, "status", "task", task, "session", inSession)
	}
	st, changed := t.status, t.changed
	f.mu.Unlock()
	if wait <= 0 || st.State.Terminal() {
		return st, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return session.Status{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return t.status, nil
}

func (f *fakeJobs) Cancel(task string) error {
	f.set(task, func(s *session.Status) { s.State = session.Cancelled })
	return nil
}

func (f *fakeJobs) CancelOwned(owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, owner)
}

// set changes a Task and wakes who waits for it.
func (f *fakeJobs) set(task string, change func(*session.Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[task]
	change(&t.status)
	close(t.changed)
	t.changed = make(chan struct{})
}

// put adds a Task under a fixed id.
func (f *fakeJobs) put(st session.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[st.TaskID] = &fakeTask{status: st, changed: make(chan struct{})}
}

func (f *fakeJobs) accepted() []session.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

const (
	taskID    = "11111111-1111-4111-8111-111111111111"
	sessionID = "22222222-2222-4222-8222-222222222222"
)
