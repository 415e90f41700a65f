package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sunaba/fault"
)

// script is a Run that does what the test says, one Task at a time.
type script struct {
	started chan *Work
	end     chan Outcome
}

func newScript() *script {
	return &script{started: make(chan *Work, 100), end: make(chan Outcome)}
}

func (s *script) run(ctx context.Context, w *Work) Outcome {
	s.started <- w
	select {
	case o := <-s.end:
		return o
	case <-ctx.Done():
		return Outcome{Error: fault.New(fault.AgentCancelled, "")}
	}
}

func desk(t *testing.T, run func(context.Context, *Work) Outcome, change func(*Config)) *Desk {
	t.Helper()
	cfg := Config{Run: run, Report: func(err error) { t.Errorf("reported: %v", err) }}
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

func submit(t *testing.T, d *Desk, r Request) Ticket {
	t.Helper()
	ticket, err := d.Submit(r)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func state(t *testing.T, d *Desk, id string) State {
	t.Helper()
	s, err := d.Status(t.Context(), id, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return s.State
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// Covers: S1-071, S1-072, S1-074, SES-01, SES-02
func TestTasksRunOneAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		var tickets []Ticket
		for i := range 3 {
			tickets = append(tickets, submit(t, d, Request{Text: fmt.Sprint("job ", i)}))
		}
		if _, err := uuid.Parse(tickets[0].TaskID); err != nil {
			t.Error(err)
		}
		for i, ticket := range tickets {
			synctest.Wait()
			if got := len(s.started); got != 1 {
				t.Fatalf("%d Tasks were started at once", got)
			}
			w := <-s.started
			if w.TaskID != ticket.TaskID {
				t.Errorf("Task %d was not the next", i)
			}
			if got := state(t, d, ticket.TaskID); got != Planning {
				t.Errorf("state %s, want planning", got)
			}
			for _, later := range tickets[i+1:] {
				if got := state(t, d, later.TaskID); got != Queued {
					t.Errorf("a waiting Task is %s", got)
				}
			}
			w.Update(Update{Progress: Progress{Total: 1, Current: "x"}})
			s.end <- Outcome{Result: "done"}
		}
		synctest.Wait()
		for _, ticket := range tickets {
			if got := state(t, d, ticket.TaskID); got != Completed {
				t.Errorf("state %s, want completed", got)
			}
		}
	})
}

func TestWaitReturnsOnAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		ticket := submit(t, d, Request{Text: "x"})
		w := <-s.started
		type answer struct {
			s    Status
			took time.Duration
		}
		ask := func(ctx context.Context, wait time.Duration) <-chan answer {
			out := make(chan answer, 1)
			go func() {
				begin := time.Now()
				got, err := d.Status(ctx, ticket.TaskID, ticket.SessionID, wait)
				if err != nil {
					t.Error(err)
				}
				out <- answer{got, time.Since(begin)}
			}()
			synctest.Wait()
			return out
		}
		// Nothing happens: the wait is over, and cut to 25 s.
		if a := <-ask(t.Context(), time.Hour); a.took != MaxWait || a.s.State != Planning {
			t.Errorf("waited %v, state %s", a.took, a.s.State)
		}
		// Progress alone does not wake; a state does.
		out := ask(t.Context(), 20*time.Second)
		time.Sleep(time.Second)
		w.Update(Update{Planning: true, Iterations: 1})
		time.Sleep(time.Second)
		w.Update(Update{Iterations: 2, Replans: 1, Tokens: Tokens{Input: 3, Output: 4}, Progress: Progress{0, 1, "title"}})
		a := <-out
		if a.took != 2*time.Second {
			t.Errorf("waited %v", a.took)
		}
		want := Status{
			TaskID: ticket.TaskID, SessionID: ticket.SessionID, State: Running,
			Progress: Progress{0, 1, "title"}, Iterations: 2, Replans: 1, Tokens: Tokens{3, 4, 7},
			CreatedAt: ticket.CreatedAt, Updated: a.s.Updated,
		}
		if diff := cmp.Diff(want, a.s); diff != "" {
			t.Error(diff)
		}
		// A person is awaited.
		out = ask(t.Context(), 20*time.Second)
		w.AwaitApproval(true)
		if a := <-out; a.took != 0 || !a.s.AwaitsApproval {
			t.Errorf("waited %v for %+v", a.took, a.s)
		}
		// The one who waits goes away.
		ctx, stop := context.WithCancel(t.Context())
		out = ask(ctx, 20*time.Second)
		stop()
		if a := <-out; a.took != 0 || a.s.State != Running {
			t.Errorf("waited %v, state %s", a.took, a.s.State)
		}
		// The end wakes everybody, and an ended Task is never waited for.
		first, second := ask(t.Context(), 20*time.Second), ask(t.Context(), 20*time.Second)
		s.end <- Outcome{Result: "final"}
		for _, out := range []<-chan answer{first, second, ask(t.Context(), 20*time.Second)} {
			if a := <-out; a.took != 0 || a.s.State != Completed || a.s.Result != "final" || a.s.AwaitsApproval {
				t.Errorf("waited %v for %+v", a.took, a.s)
			}
		}
	})
}

// Covers: MCP-STS-01, MCP-STS-02, MCP-RUN-02
func TestUnknownNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk(t, newScript().run, nil)
		ticket := submit(t, d, Request{Text: "x"})
		_, err := d.Status(t.Context(), "nobody", "", time.Second)
		wantCode(t, err, fault.MCPUnknownTask)
		_, err = d.Status(t.Context(), ticket.TaskID, "other", time.Second)
		wantCode(t, err, fault.MCPSessionMismatch)
		if _, err = d.Status(t.Context(), ticket.TaskID, ticket.SessionID, 0); err != nil {
			t.Error(err)
		}
		wantCode(t, d.Cancel("nobody"), fault.MCPUnknownTask)
		_, err = d.Submit(Request{Text: "x", SessionID: "nobody"})
		wantCode(t, err, fault.MCPUnknownSession)
	})
}

// What agent_run answers is queued even when nothing waits before it.
// Covers: S1-074
func TestATicketIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		ticket := submit(t, d, Request{Text: "x"})
		if ticket.Status != Queued {
			t.Errorf("the ticket says %s", ticket.Status)
		}
		<-s.started
		s.end <- Outcome{}
		synctest.Wait()
	})
}

func TestClientRequestIDIsBoundToTheRequest(t *testing.T) {
	warm := 0.5
	first := Request{Text: "x", Temperature: &warm, ClientRequestID: "c1", Owner: "a", Images: []Image{{"image/png", []byte{1}}}}
	tests := []struct {
		name   string
		change func(*Request)
		same   bool
	}{
		{"the same", func(*Request) {}, true},
		{"from another connection", func(r *Request) { r.Owner = "b" }, true},
		{"other text", func(r *Request) { r.Text = "y" }, false},
		{"other temperature", func(r *Request) { r.Temperature = nil }, false},
		{"other image", func(r *Request) { r.Images = []Image{{"image/png", []byte{2}}} }, false},
		{"other session", func(r *Request) { r.SessionID = "s" }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				d := desk(t, s.run, nil)
				before := submit(t, d, first)
				<-s.started
				s.end <- Outcome{}
				synctest.Wait()
				again := first
				test.change(&again)
				after, err := d.Submit(again)
				if !test.same {
					wantCode(t, err, fault.MCPInput)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				before.Status = Completed
				if diff := cmp.Diff(before, after); diff != "" {
					t.Error(diff)
				}
				again.ClientRequestID = "c2"
				if other := submit(t, d, again); other.TaskID == before.TaskID {
					t.Error("another client request ID gave the same Task")
				}
			})
		})
	}
}

// Covers: REC-04
func TestCancelOwned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		a1 := submit(t, d, Request{Text: "1", Owner: "a"})
		b := submit(t, d, Request{Text: "2", Owner: "b"})
		a2 := submit(t, d, Request{Text: "3", Owner: "a"})
		http := submit(t, d, Request{Text: "4"})
		<-s.started
		d.CancelOwned("")
		synctest.Wait()
		if got := state(t, d, http.TaskID); got != Queued {
			t.Errorf("the owner of nothing cancelled a Task: %s", got)
		}
		d.CancelOwned("a")
		synctest.Wait()
		got := []State{state(t, d, a1.TaskID), state(t, d, b.TaskID), state(t, d, a2.TaskID), state(t, d, http.TaskID)}
		if diff := cmp.Diff([]State{Cancelled, Planning, Cancelled, Queued}, got); diff != "" {
			t.Error(diff)
		}
		if err := d.Cancel(a1.TaskID); err != nil {
			t.Errorf("cancelling an ended Task: %v", err)
		}
	})
}

// Covers: MCP-2026-07
func TestTTLEndsOnlyEndedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, func(c *Config) { c.TTL = time.Hour })
		ticket := submit(t, d, Request{Text: "x", ClientRequestID: "c"})
		<-s.started
		time.Sleep(3 * time.Hour)
		if got := state(t, d, ticket.TaskID); got != Planning {
			t.Errorf("state %s", got)
		}
		s.end <- Outcome{}
		synctest.Wait()
		time.Sleep(time.Hour - time.Second)
		if got := state(t, d, ticket.TaskID); got != Completed {
			t.Errorf("state %s", got)
		}
		time.Sleep(time.Second)
		_, err := d.Status(t.Context(), ticket.TaskID, "", 0)
		wantCode(t, err, fault.MCPUnknownTask)
		_, err = d.Submit(Request{Text: "x", SessionID: ticket.SessionID})
		wantCode(t, err, fault.MCPUnknownSession)
		if again := submit(t, d, Request{Text: "y", ClientRequestID: "c"}); again.TaskID == ticket.TaskID {
			t.Error("a client request ID outlived its Task")
		}
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, func(c *Config) { c.MaxQueued = 2 })
		for range 3 { // one works, two wait
			submit(t, d, Request{Text: "x"})
		}
		_, err := d.Submit(Request{Text: "x"})
		wantCode(t, err, fault.MCPBusy)
		<-s.started
		s.end <- Outcome{}
		synctest.Wait()
		submit(t, d, Request{Text: "x"})
	})
}

// Covers: REC-05
func TestCloseStopsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		active, waiting := submit(t, d, Request{Text: "1"}), submit(t, d, Request{Text: "2", ClientRequestID: "c"})
		<-s.started
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{active.TaskID, waiting.TaskID} {
			if got := state(t, d, id); got != Cancelled {
				t.Errorf("state %s", got)
			}
		}
		_, err := d.Submit(Request{Text: "3"})
		wantCode(t, err, fault.MCPStopping)
		if len(s.started) != 0 {
			t.Error("a Task was started after Close")
		}
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := desk(t, func(context.Context, *Work) Outcome { <-release; return Outcome{} }, nil)
		submit(t, d, Request{Text: "deaf"})
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	d := desk(t, func(_ context.Context, w *Work) Outcome {
		w.Update(Update{Progress: Progress{Total: 1}})
		return Outcome{Result: w.Request.Text}
	}, func(c *Config) { c.MaxQueued = 1000 })
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			text := fmt.Sprint("job ", i)
			ticket, err := d.Submit(Request{Text: text})
			if err != nil {
				t.Error(err)
				return
			}
			for {
				s, err := d.Status(t.Context(), ticket.TaskID, ticket.SessionID, MaxWait)
				if err != nil {
					t.Error(err)
					return
				}
				if s.State.Terminal() {
					if s.Result != text || s.State != Completed {
						t.Errorf("%s got %+v", text, s)
					}
					return
				}
			}
		})
	}
	all.Wait()
}
