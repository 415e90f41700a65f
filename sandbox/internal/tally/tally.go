// Package tally makes much of the same into little: each thing is told when it
// first happens, and then how often.
//
// The one rule to keep in mind: whoever causes events must not be able to make
// the telling cost much, so that the number of things told is bounded.
package tally

import (
	"sync"
	"time"
)

// Window is how long the repetitions of a thing are gathered.
const Window = time.Second

// Kinds is how many different things are told apart in one window.
const Kinds = 32

// Tally counts events of type K. Its methods may be called from several
// goroutines.
type Tally[K comparable] struct {
	rest K
	tell func(what K, times int)

	mu    sync.Mutex
	again map[K]int // how often since it was told
	timer *time.Timer
}

// New returns a Tally that hands what it has to say to tell, one call at a
// time. tell must not call the Tally. What is over Kinds in a window is told as
// rest.
func New[K comparable](rest K, tell func(what K, times int)) *Tally[K] {
	return &Tally[K]{rest: rest, tell: tell, again: make(map[K]int)}
}

// Add counts one event.
func (t *Tally[K]) Add(what K) { t.AddN(what, 1) }

// AddN counts an event that happened n times; n below 1 is nothing.
func (t *Tally[K]) AddN(what K, n int) {
	if n < 1 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(Window, t.Flush)
	}
	_, known := t.again[what]
	switch {
	case known:
		t.again[what] += n
	case len(t.again) < Kinds || what == t.rest:
		t.again[what] = 0
		t.tell(what, n)
	default:
		t.again[t.rest] += n
	}
}

// Flush tells what has been gathered and begins anew.
func (t *Tally[K]) Flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	for what, n := range t.again {
		if n > 0 {
			t.tell(what, n)
		}
	}
	clear(t.again)
}
