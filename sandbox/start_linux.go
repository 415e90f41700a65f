package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/relay"
	"sunaba/sandbox/internal/wire"
)

const (
	// startBound is how long a set-up may take before it counts as hung.
	startBound = 20 * time.Second
	// cancelBound is how long a cancelled call may take to answer before its
	// Worker is ended.
	cancelBound = 5 * time.Second
	// sendBound is how long the Worker may leave a message unread.
	sendBound = 30 * time.Second
)

// Sandbox is one Task's confinement: a Worker process and everything beneath
// it. Its methods may be called from several goroutines; calls are answered
// one at a time, in order.
type Sandbox struct {
	cmd          *exec.Cmd
	socket       *os.File
	conn         *wire.Conn
	placeholders Placeholders
	groups       *limits.Groups
	held         chan struct{} // closed to let the thread go that started the Worker; nil: none waits

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan wire.Message

	ipv6     bool // the host has it
	network  network
	doors    *net.UnixConn // where the Worker's listeners come from; nil without a network
	relay    *relay.Relay  // nil without a network
	standing standing
	notices  notices
	watch    *watch // nil where nothing is covered

	gone    chan struct{} // closed when the Worker answers no more
	reason  error
	closed  sync.Once
	closing error
}

// Start makes the sandbox of one Task and returns when it stands: set-up is
// complete and cannot be undone from inside. The caller must Close it. ctx
// bounds the set-up only. Errors are fault.Errors: platform.unsupported for
// what cannot be enforced here, platform.worker for a set-up that failed.
func Start(ctx context.Context, o Options) (_ *Sandbox, err error) {
	if InWorker() { // a program that does not look would start itself without end
		return nil, wrap(errors.New("this process is a Worker: main must call InWorker and Serve first of all"))
	}
	if err := Check(&o.Policy); err != nil {
		return nil, err
	}
	if o.Policy, err = respelled(o.Policy); err != nil {
		return nil, err
	}
	if err := checkCarried(&o.Policy); err != nil { // of what was found as well
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	s := &Sandbox{
		waiting: make(map[uint64]chan wire.Message), gone: make(chan struct{}), notices: newNotices(o.Notify),
		ipv6: hostIPv6(),
	}
	s.network = newNetwork(o.Policy.Network, s.ipv6)
	defer func() {
		if err != nil {
			err = errors.Join(wrap(err), s.Close())
		}
	}()

	covers, err := s.makePlaceholders(o)
	if err != nil {
		return nil, err
	}
	if s.watch, err = s.watchCovers(o, covers); err != nil { // before the Worker covers anything
		return nil, err
	}
	id, err := identityFor(o.Policy.Workspace.Root)
	if err != nil {
		return nil, err
	}
	given := 0
	if o.Policy.Confinement == policy.ByLandlock {
		err = s.spawnPlain(id)
	} else {
		given, err = s.spawnGrouped(id, o)
	}
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(setup{
		Policy: o.Policy, Covers: covers, Config: o.Config, UID: id.inner, GID: id.innerGroup, NoFence: id.unfenced(),
		IPv6: s.ipv6, MemoryFiles: given,
	})
	if err != nil {
		return nil, err
	}
	if s.doors != nil {
		s.relay = relay.New(relay.Options{Tell: s.notices.relayed, Refuse: o.refuses})
	}
	if err := s.conn.Send(wire.Message{Kind: wire.Hello, Version: wire.Version, Body: body}); err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	go func() {
		doors := s.openDoors()
		m, err := s.conn.Receive()
		switch {
		case err != nil:
			err = fmt.Errorf("the Worker ended during set-up: %w", err)
		case m.Kind == wire.Failed:
			err = errors.New(m.Error)
		case m.Kind != wire.Ready:
			err = fmt.Errorf("unexpected %s from the Worker", m.Kind)
		case doors != nil:
			err = doors
		default:
			err = json.Unmarshal(m.Body, &s.standing)
		}
		ready <- err
	}()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if err = s.watch.check(); err != nil { // while it was being made
		return nil, err
	}
	if s.watch != nil {
		go s.watch.serve(func(p string) { s.lost(errReplaced(p)) })
	}
	go s.receive()
	return s, nil
}

// watchCovers watches what the Worker will cover.
func (s *Sandbox) watchCovers(o Options, placed []string) (*watch, error) {
	if ablation.Off("watch") {
		return nil, nil
	}
	l := newLayout(&o.Policy)
	l.locked = append(l.locked, placed...)
	return newWatch(&l)
}

func wrap(err error) error {
	if fault.CodeOf(err) != "" {
		return err
	}
	return fault.Wrap(err, fault.PlatformWorker, "sandbox", "cause", err.Error())
}

func (s *Sandbox) makePlaceholders(o Options) ([]string, error) {
	l := newLayout(&o.Policy)
	missing := l.missing(&o.Policy, func(p string) (exists, isDir bool) {
		info, err := os.Lstat(p)
		return err == nil, err == nil && info.IsDir()
	})
	if len(missing) == 0 {
		return nil, nil
	}
	if o.Placeholders == nil {
		return nil, fault.New(fault.PlatformUnsupported, "sandbox", "what", "protecting a path that does not exist", "source", "", "path", missing[0].Path)
	}
	s.placeholders = o.Placeholders
	made, err := o.Placeholders.Make(missing)
	if err != nil {
		return nil, err
	}
	covers := make([]string, len(made))
	for i, p := range made {
		covers[i] = p.Path
	}
	return covers, nil
}

// receive hands results to their callers until the Worker is gone.
func (s *Sandbox) receive() {
	for {
		m, err := s.conn.Receive()
		if err != nil {
			s.lost(fmt.Errorf("the Worker is gone: %w", err))
			return
		}
		switch m.Kind {
		case wire.Result:
			s.notices.flush() // what a command did is told before its result
		case wire.Notice:
			if err := s.notices.reported(m.Body, s.network.hostOf); err != nil {
				s.lost(err)
				return
			}
			continue
		default:
			s.lost(fmt.Errorf("unexpected %s from the Worker", m.Kind))
			return
		}
		s.mu.Lock()
		c := s.waiting[m.ID]
		delete(s.waiting, m.ID)
		s.mu.Unlock()
		if c != nil {
			c <- m
		}
	}
}

// lost ends the Worker and every pending call.
func (s *Sandbox) lost(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == nil {
		s.reason = reason
		close(s.gone)
	}
	_ = s.cmd.Process.Kill()
}

// Current reports whether the sandbox still is what it was made to be: nil, or
// why it is lost, with the codes of Call.
func (s *Sandbox) Current() error {
	select {
	case <-s.gone:
		return wrap(s.reason)
	default:
		return s.watch.check()
	}
}

// Call sends one call to the Handler inside and waits for its result. A ctx
// that ends cancels the call; a Worker that does not answer soon after is
// ended. An error is a fault and the sandbox is lost: of code platform.worker, or
// platform.replaced when a program of the host's put something else where the
// policy protects a path (C-84); another sandbox protects that.
func (s *Sandbox) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	if err := s.Current(); err != nil {
		s.lost(err)
		return nil, err
	}
	answer := make(chan wire.Message, 1)
	s.mu.Lock()
	s.next++
	id := s.next
	s.waiting[id] = answer
	s.mu.Unlock()
	if err := s.send(wire.Message{Kind: wire.Call, ID: id, Method: method, Body: params}); err != nil {
		return nil, err
	}
	var bound <-chan time.Time
	cancelled := ctx.Done()
	for {
		select {
		case m := <-answer:
			if m.Error != "" {
				err := errors.New(m.Error)
				s.lost(err)
				return nil, wrap(err)
			}
			return m.Body, nil
		case <-s.gone:
			return nil, wrap(s.reason)
		case <-cancelled:
			cancelled = nil
			bound = time.After(cancelBound)
			if err := s.send(wire.Message{Kind: wire.Cancel, ID: id}); err != nil {
				return nil, err
			}
		case <-bound:
			s.lost(errors.New("a cancelled call did not end in time"))
		}
	}
}

// send sends within a bound; a message that did not go out whole ends the
// Worker, which could not read the next one.
func (s *Sandbox) send(m wire.Message) error {
	err := s.socket.SetWriteDeadline(time.Now().Add(sendBound))
	if err == nil {
		err = s.conn.Send(m)
	}
	if err != nil {
		s.lost(err)
		return wrap(err)
	}
	return nil
}

// Close ends the Worker with everything beneath it and removes what the
// sandbox needed on the host. It may be called more than once.
func (s *Sandbox) Close() error {
	s.closed.Do(func() {
		var errs []error
		if err := s.watch.Close(); err != nil {
			errs = append(errs, err)
		}
		if s.cmd != nil {
			_ = s.cmd.Process.Kill() // PID 1 of its namespace: the kernel ends the rest
			_ = s.cmd.Wait()         // killed is how it ends
		}
		if s.held != nil {
			close(s.held)
		}
		if s.doors != nil {
			_ = s.doors.Close() // closed already when all went well
		}
		if s.relay != nil {
			s.relay.Close()
		}
		s.notices.flush()
		if s.socket != nil {
			_ = s.socket.Close() // nothing is buffered: closing twice is no failure
		}
		errs = append(errs, s.groups.Remove())
		if s.placeholders != nil {
			errs = append(errs, s.placeholders.Remove())
		}
		s.closing = errors.Join(errs...)
	})
	return s.closing
}

// CloseOnExec marks every descriptor but the standard three and the Worker's
// socket as not inherited: what the launching shell left open must not reach
// the inside (trap 9). Programs call it first thing.
func CloseOnExec() error {
	if ablation.Off("close on exec") {
		return nil
	}
	err := unix.CloseRange(workerSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("mark inherited descriptors: %w", err)
	}
	return nil
}
