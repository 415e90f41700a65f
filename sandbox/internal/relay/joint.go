package relay

import (
	"net"
	"sync"
)

// joint is two connections that are one to their ends.
type joint struct{ inner, outer *net.TCPConn }

// copy passes on what comes from either side, and its end, until both sides
// have ended; a side that breaks breaks the other.
func (j *joint) copy() {
	var back sync.WaitGroup
	back.Go(func() { j.pass(j.inner, j.outer) })
	j.pass(j.outer, j.inner)
	back.Wait()
}

func (j *joint) pass(to, from *net.TCPConn) {
	if err := stream(to, from); err != nil {
		j.abort()
		return
	}
	if err := to.CloseWrite(); err != nil {
		j.abort()
	}
}

func (j *joint) abort() {
	abort(j.inner)
	abort(j.outer)
}

// abort ends c with a reset: its peer must not take what came so far for all.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // closed already: nothing to do
	_ = c.Close()
}
