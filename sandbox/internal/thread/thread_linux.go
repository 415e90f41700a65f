// Package thread gives work a thread of its own, to which things may be done
// that cannot be taken back.
//
// The one rule to keep in mind: a process's first thread never ends, and stands
// for the whole process where the kernel counts memory; it is never given away.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Own calls f on a thread that nothing else will ever run on: it is not the first
// one, and it ends when f returns. Own itself returns at once.
func Own(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return // locked: the thread ends
		}
		// Hold the first thread until somebody else has begun: it gets another one.
		begun := make(chan struct{})
		Own(func() {
			close(begun)
			f()
		})
		<-begun
		runtime.UnlockOSThread()
	}()
}
