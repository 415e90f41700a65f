package thread

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwn: never the first thread, though it is as free as any other, and never
// one that somebody else had or gets.
func TestOwn(t *testing.T) {
	runtime.LockOSThread() // the others are free
	defer runtime.UnlockOSThread()
	var mu sync.Mutex
	seen := map[int]bool{}
	var all sync.WaitGroup
	release := make(chan struct{})
	for range 50 {
		all.Add(1)
		Own(func() {
			mu.Lock()
			id := unix.Gettid()
			if id == unix.Getpid() || seen[id] {
				t.Errorf("thread %d, the process is %d", id, unix.Getpid())
			}
			seen[id] = true
			mu.Unlock()
			all.Done()
			<-release
		})
	}
	all.Wait()
	close(release)
}
