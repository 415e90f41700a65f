package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
)

// Covers: S1-065, S1-066, S1-067, S1-068, S1-069, S1-070
func TestOnlyListedTransitions(t *testing.T) {
	all := []State{Queued, Planning, Running, Completed, Failed, Cancelled}
	listed := map[string]bool{
		"queued planning": true, "queued cancelled": true, "queued failed": true,
		"planning running": true, "planning failed": true,
		"running planning": true, "running completed": true, "running failed": true, "running cancelled": true,
	}
	for _, from := range all {
		for _, to := range all {
			if got := allowed(from, to); got != listed[string(from+" "+to)] {
				t.Errorf("%s to %s: %v", from, to, got)
			}
		}
	}
}

// trail records every state a Task passes.
type trail struct {
	mu     sync.Mutex
	states map[string][]State
	fail   error
}

func (l *trail) Put(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states == nil {
		l.states = map[string][]State{}
	}
	l.states[r.ID] = append(l.states[r.ID], r.State)
	return l.fail
}

func (l *trail) All() ([]Record, error) { return nil, nil }

// Covers: SD-23
func TestEveryEndPassesListedStates(t *testing.T) {
	failure := fault.New(fault.LLMUnavailable, "")
	tests := []struct {
		name string
		work bool // reports running before it ends
		stop bool // is cancelled
		end  Outcome
		want []State
		code fault.Code
	}{
		{"cancelled while planning", false, true, Outcome{}, []State{Queued, Planning, Running, Cancelled}, fault.AgentCancelled},
		{"cancelled while running", true, true, Outcome{}, []State{Queued, Planning, Running, Cancelled}, fault.AgentCancelled},
		{"failed while planning", false, false, Outcome{Error: failure}, []State{Queued, Planning, Failed}, fault.LLMUnavailable},
		{"failed while running", true, false, Outcome{Error: failure}, []State{Queued, Planning, Running, Failed}, fault.LLMUnavailable},
		{"completed", true, false, Outcome{Result: "r"}, []State{Queued, Planning, Running, Completed}, ""},
		{"completed without a word of running", false, false, Outcome{Result: "r"}, []State{Queued, Planning, Running, Completed}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := newScript(), &trail{}
				d := desk(t, s.run, func(c *Config) { c.Ledger = l })
				ticket := submit(t, d, Request{Text: "x"})
				w := <-s.started
				if test.work {
					w.Update(Update{})
				}
				if test.stop {
					if err := d.Cancel(ticket.TaskID); err != nil {
						t.Fatal(err)
					}
				} else {
					s.end <- test.end
				}
				synctest.Wait()
				if diff := cmp.Diff(test.want, l.states[ticket.TaskID]); diff != "" {
					t.Error(diff)
				}
				got, err := d.Status(t.Context(), ticket.TaskID, "", 0)
				if err != nil {
					t.Fatal(err)
				}
				if test.code == "" {
					if got.Error != nil {
						t.Errorf("error %v", got.Error)
					}
				} else {
					wantCode(t, got.Error, test.code)
				}
				// What comes late changes nothing.
				w.Update(Update{Planning: true})
				w.AwaitApproval(true)
				if again := state(t, d, ticket.TaskID); again != got.State {
					t.Errorf("an ended Task became %s", again)
				}
			})
		})
	}
}

func TestAPanicFailsTheTaskOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told error
		d := desk(t, func(_ context.Context, w *Work) Outcome {
			if w.Request.Text == "bad" {
				panic("boom")
			}
			return Outcome{Result: "fine"}
		}, func(c *Config) { c.Report = func(err error) { told = err } })
		bad, good := submit(t, d, Request{Text: "bad"}), submit(t, d, Request{Text: "good"})
		synctest.Wait()
		s, err := d.Status(t.Context(), bad.TaskID, "", 0)
		if err != nil || s.State != Failed {
			t.Fatalf("%+v, %v", s, err)
		}
		wantCode(t, s.Error, fault.AgentFailed)
		if told == nil || !strings.Contains(told.Error(), "boom") || !strings.Contains(told.Error(), "goroutine") {
			t.Errorf("the panic was reported as %v", told)
		}
		if got := state(t, d, good.TaskID); got != Completed {
			t.Errorf("the next Task is %s", got)
		}
	})
}

// Covers: SES-03, SES-04
func TestASessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		first := submit(t, d, Request{Text: "one"})
		w := <-s.started
		if len(w.History) != 0 {
			t.Errorf("a new Session has a history: %v", w.History)
		}
		s.end <- Outcome{Result: "1", Plan: "t1"}
		synctest.Wait()
		second := submit(t, d, Request{Text: "two", SessionID: first.SessionID})
		if second.SessionID != first.SessionID {
			t.Error("another Session")
		}
		w = <-s.started
		if diff := cmp.Diff([]Exchange{{"one", "1", "t1"}}, w.History); diff != "" {
			t.Error(diff)
		}
		s.end <- Outcome{Error: fault.New(fault.LLMFailed, ""), Result: "2"}
		synctest.Wait()
		submit(t, d, Request{Text: "other"})
		if w = <-s.started; len(w.History) != 0 {
			t.Errorf("Sessions are mixed: %v", w.History)
		}
	})
}

func TestASessionIsBounded(t *testing.T) {
	var c conversation
	for range 100 {
		c.add(Exchange{Request: "r", Result: strings.Repeat("x", 1000)})
	}
	if n := len(c.exchanges); n != maxExchanges {
		t.Errorf("%d exchanges are kept", n)
	}
	for range 3 {
		c.add(Exchange{Result: strings.Repeat("x", maxExchangeBytes)})
	}
	if n := len(c.exchanges); n != 1 {
		t.Errorf("%d large exchanges are kept", n)
	}
	if got := cut("日本", 4); got != "日" {
		t.Errorf("cut gave %q", got)
	}
}

func TestALedgerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &trail{fail: errors.New("no room")}
		s := newScript()
		var told []error
		d := desk(t, s.run, func(c *Config) {
			c.Ledger = l
			c.Report = func(err error) { told = append(told, err) }
		})
		_, err := d.Submit(Request{Text: "x"})
		wantCode(t, err, fault.PlatformState)
		l.fail = nil
		ticket := submit(t, d, Request{Text: "x"})
		<-s.started
		l.fail = errors.New("no room")
		s.end <- Outcome{}
		synctest.Wait()
		if got := state(t, d, ticket.TaskID); got != Completed || len(told) == 0 {
			t.Errorf("state %s, reported %v", got, told)
		}
	})
}

// What a Task was given is not kept beyond its end, but for the bounded history.
func TestAnEndedTaskHoldsNoInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		d := desk(t, s.run, nil)
		ticket := submit(t, d, Request{Text: "x", Images: []Image{{"image/png", []byte{1}}}})
		<-s.started
		s.end <- Outcome{Result: strings.Repeat("y", maxResultBytes+1)}
		synctest.Wait()
		if r := d.tasks[ticket.TaskID].request; r.Text != "" || r.Images != nil {
			t.Errorf("kept %+v", r)
		}
		got, err := d.Status(t.Context(), ticket.TaskID, "", 0)
		if err != nil || len(got.Result) != maxResultBytes {
			t.Errorf("a result of %d bytes, %v", len(got.Result), err)
		}
	})
}
