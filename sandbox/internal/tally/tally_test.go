package tally

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTally: the first is told at once, repetitions once a window, and nothing
// is lost from the sum.
func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		sums := make(map[string]int)
		tally := New("rest", func(what string, n int) { calls++; sums[what] += n })
		for range 1000 {
			tally.Add("a")
		}
		tally.AddN("b", 5)
		tally.AddN("b", 0)
		if calls != 2 || sums["a"] != 1 || sums["b"] != 5 {
			t.Errorf("at once: %d calls, %v", calls, sums)
		}
		time.Sleep(Window)
		synctest.Wait()
		if calls != 3 || sums["a"] != 1000 || sums["b"] != 5 {
			t.Errorf("after a window: %d calls, %v", calls, sums)
		}
		tally.Add("a")
		if calls != 4 || sums["a"] != 1001 {
			t.Errorf("in the next window: %d calls, %v", calls, sums)
		}
		tally.Flush()
		tally.Add("a")
		if calls != 5 {
			t.Errorf("after a flush: %d calls", calls)
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
