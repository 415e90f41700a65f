package tally

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTally: the first is told at once, repetitions once a window, and nothing
// is lost from the sum.
func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // what is told comes from a timer's goroutine as well
		var calls int
		sums := make(map[string]int)
		tally := New("rest", func(what string, n int) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			sums[what] += n
		})
		told := func() (int, int, int) {
			mu.Lock()
			defer mu.Unlock()
			return calls, sums["a"], sums["b"]
		}
		for range 1000 {
			tally.Add("a")
		}
		tally.AddN("b", 5)
		tally.AddN("b", 0)
		if n, a, b := told(); n != 2 || a != 1 || b != 5 {
			t.Errorf("at once: %d calls, %d, %d", n, a, b)
		}
		time.Sleep(Window)
		synctest.Wait()
		if n, a, b := told(); n != 3 || a != 1000 || b != 5 {
			t.Errorf("after a window: %d calls, %d, %d", n, a, b)
		}
		tally.Add("a")
		if n, a, _ := told(); n != 4 || a != 1001 {
			t.Errorf("in the next window: %d calls, %d", n, a)
		}
		tally.Flush()
		tally.Add("a")
		if n, _, _ := told(); n != 5 {
			t.Errorf("after a flush: %d calls", n)
		}
	})
}

// TestBounded: many different things cost no more than a few.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, sum := 0, 0
		tally := New(-1, func(_, n int) { calls++; sum += n })
		for i := range 100_000 {
			tally.Add(i)
		}
		tally.Flush()
		if calls != Kinds+1 || sum != 100_000 {
			t.Errorf("%d calls, sum %d", calls, sum)
		}
	})
}
