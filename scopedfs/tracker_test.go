package scopedfs

import (
	"fmt"
	"sync"
	"testing"
)

func TestTracker(t *testing.T) {
	var tr Tracker
	if d, seen := tr.Digest("/a"); seen || d != "" {
		t.Errorf("an empty tracker knows %q", d)
	}
	tr.Seen("/a", "1")
	tr.Seen("/b", "2")
	tr.Seen("/a", "3")
	tr.Seen("/b", "")
	if d, seen := tr.Digest("/a"); !seen || d != "3" {
		t.Errorf("/a = %q, %v", d, seen)
	}
	if _, seen := tr.Digest("/b"); seen {
		t.Error("/b was not forgotten")
	}
}

// The tracker keeps the files that were seen last.
func TestTrackerIsBounded(t *testing.T) {
	var tr Tracker
	for i := range maxTracked {
		tr.Seen(fmt.Sprint("/", i), "d")
	}
	tr.Seen("/0", "again")
	tr.Seen("/new", "d")
	for path, want := range map[string]bool{"/0": true, "/1": false, "/2": true, "/new": true} {
		if _, seen := tr.Digest(path); seen != want {
			t.Errorf("%s: seen %v, want %v", path, seen, want)
		}
	}
	if len(tr.byPath) != maxTracked || tr.order.Len() != maxTracked {
		t.Errorf("holds %d and %d entries", len(tr.byPath), tr.order.Len())
	}
}

func TestTrackerIsSafeForConcurrentUse(t *testing.T) {
	var tr Tracker
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 2000 {
				tr.Seen(fmt.Sprint(i, j), "d")
				tr.Digest(fmt.Sprint(j, i))
			}
		})
	}
	all.Wait()
	if tr.order.Len() != maxTracked {
		t.Errorf("%d entries", tr.order.Len())
	}
}
