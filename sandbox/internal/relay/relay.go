// Package relay joins connections that arrive at a Task's listeners to the
// endpoints they stand for, in the broker.
//
// The one rule to keep in mind: what a connection reaches is decided by the
// listener it came through; nothing that is sent can change it.
package relay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// Connections is how many may stand at once; more are refused.
	Connections = 256
	// ConnectBound is how long all addresses of an endpoint together may take.
	ConnectBound = 15 * time.Second
	// IdleBound ends a connection over which nothing came from either side.
	IdleBound = 30 * time.Minute

	idleCheck   = time.Minute
	acceptPause = 50 * time.Millisecond // when descriptors are short
)

// Why an endpoint was not reached.
const (
	Refused     = "refused"     // it answered no
	Timeout     = "timeout"     // it did not answer
	Unreachable = "unreachable" // there is no way to it
	TooMany     = "too_many"    // Connections stand already
	Own         = "own"         // Options.Refuse said so: not an endpoint
)

// Target is what a listener stands for.
type Target struct {
	Host      string           // as configured, for the Event only
	Addresses []netip.AddrPort // tried in this order
}

// Event is the end of one attempt to reach a Target.
type Event struct {
	Target  Target
	Address netip.AddrPort // that was reached, or tried last
	Failed  string         // one of the words above; "" when it was reached
}

// Options are what a Relay acts by.
type Options struct {
	// Tell hears of every attempt. It must not block. nil: nobody does.
	Tell func(Event)
	// Refuse is asked before each dial, with Target.Host. nil: nothing is refused.
	Refuse func(host string, a netip.AddrPort) bool
}

// Relay serves the listeners of one Task. Its methods may be called from
// several goroutines.
type Relay struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[closer]struct{}
	joined map[*joint]struct{}
	places int // free ones
}

type closer interface{ Close() error }

// New returns a Relay. It must be closed.
func New(o Options) *Relay {
	ctx, stop := context.WithCancel(context.Background())
	r := &Relay{
		options: o, ctx: ctx, stop: stop,
		open: make(map[closer]struct{}), joined: make(map[*joint]struct{}), places: Connections,
	}
	r.running.Go(r.endIdle)
	return r
}

// Serve accepts connections from l, which it closes in the end, and returns at
// once.
func (r *Relay) Serve(l *net.TCPListener, t Target) {
	if !r.hold(l) {
		return
	}
	r.running.Go(func() {
		defer r.release(l)
		for {
			c, err := l.AcceptTCP()
			if err == nil {
				r.admit(c, t)
				continue
			}
			if r.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select { // short of descriptors: others must end first
			case <-r.ctx.Done():
				return
			case <-time.After(acceptPause):
			}
		}
	})
}

// admit gives c a place and a goroutine, or ends it.
func (r *Relay) admit(c *net.TCPConn, t Target) {
	r.mu.Lock()
	full := r.places == 0
	if !full {
		r.places--
	}
	r.mu.Unlock()
	if full {
		abort(c)
		r.tell(Event{Target: t, Failed: TooMany})
		return
	}
	r.running.Go(func() {
		defer func() {
			r.mu.Lock()
			r.places++
			r.mu.Unlock()
		}()
		if r.hold(c) {
			defer r.release(c)
			r.join(c, t)
		}
	})
}

// join dials t and copies both ways until both sides have ended.
func (r *Relay) join(inner *net.TCPConn, t Target) {
	outer, e := r.dial(t)
	r.tell(e)
	if outer == nil {
		abort(inner) // as a refused connection would end, as nearly as can be
		return
	}
	if !r.hold(outer) {
		return
	}
	defer r.release(outer)
	j := &joint{inner, outer}
	r.mu.Lock()
	r.joined[j] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.joined, j)
		r.mu.Unlock()
	}()
	j.copy()
}

func (r *Relay) tell(e Event) {
	if r.options.Tell != nil {
		r.options.Tell(e)
	}
}

// hold notes what Close must close; false: it is closed already.
func (r *Relay) hold(c closer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = c.Close()
		return false
	}
	r.open[c] = struct{}{}
	return true
}

func (r *Relay) release(c closer) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	_ = c.Close() // may have been closed to abort it
}

// Close ends all listeners and connections and waits until nothing of the Relay
// runs. It may be called more than once.
func (r *Relay) Close() {
	r.stop()
	r.mu.Lock()
	r.closed = true
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// endIdle ends connections that nobody uses.
func (r *Relay) endIdle() {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-ticker.C:
		}
		r.endIdleFor(IdleBound)
	}
}

// endIdleFor ends connections over which nothing came for longer than bound.
func (r *Relay) endIdleFor(bound time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for j := range r.joined {
		if j.idle() > bound {
			j.abort()
		}
	}
}
