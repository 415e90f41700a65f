package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/wire"
)

// The descriptors the broker hands down: its socket, where there is a network
// one more for the listeners, and then those of the memory group.
const (
	workerSocket = 3
	workerDoors  = 4
)

// setup is the Hello's body: all the Worker needs to know.
type setup struct {
	Policy  policy.Effective `json:"policy"`
	Covers  []string         `json:"covers"` // placeholders made for this Task
	Config  json.RawMessage  `json:"config,omitempty"`
	UID     int              `json:"uid"` // inside the namespace
	GID     int              `json:"gid"`
	NoFence bool             `json:"no_fence"` // RLIMIT_NPROC does not bind: a cgroup does
	IPv6    bool             `json:"ipv6"`     // the host has it
	// MemoryFiles is how many descriptors of limits.Groups.Files were handed down.
	MemoryFiles int `json:"memory_files,omitempty"`
}

// firstFree is the first descriptor after those of the broker's sockets.
func (s *setup) firstFree() uintptr {
	if s.Policy.Network.Mode == "none" {
		return workerDoors
	}
	return workerDoors + 1
}

// standing is the Ready's body: what could not be set up in full.
type standing struct {
	// Unwatched are the kinds of refused attempts that nobody hears of.
	Unwatched []string `json:"unwatched,omitempty"`
}

// InWorker reports whether this process is a Worker that Start made: the init
// of its namespace or, where there are none, a child of who made the broker's
// socket, which it holds, without environment. No word in argv decides it (trap
// 18: `agent-mcp worker` is a config path).
func InWorker() bool {
	if len(os.Environ()) != 0 {
		return false
	}
	domain, err1 := unix.GetsockoptInt(workerSocket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, err2 := unix.GetsockoptInt(workerSocket, unix.SOL_SOCKET, unix.SO_TYPE)
	if err1 != nil || err2 != nil || domain != unix.AF_UNIX || kind != unix.SOCK_STREAM {
		return false
	}
	if os.Getpid() == 1 {
		return true
	}
	maker, err := unix.GetsockoptUcred(workerSocket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(maker.Pid) == os.Getppid()
}

// Serve is the Worker's whole life: it confines this process as the broker's
// Hello says and then answers calls with the Handler that build makes, until
// the broker goes away. It returns only with the reason for its end; the
// caller must exit. build runs inside the finished confinement.
func Serve(build func(Inside) (Handler, error)) error {
	socket := os.NewFile(workerSocket, "broker")
	conn := wire.New(socket)
	hello, err := conn.Receive()
	if err != nil {
		return fmt.Errorf("worker: hello: %w", err)
	}
	if hello.Kind != wire.Hello || hello.Version != wire.Version {
		return fmt.Errorf("worker: unexpected %s of version %d", hello.Kind, hello.Version)
	}
	handler, state, err := start(conn, hello.Body, build)
	if err != nil {
		return errors.Join(err, conn.Send(wire.Message{Kind: wire.Failed, Error: err.Error()}))
	}
	if err := conn.Send(wire.Message{Kind: wire.Ready, Body: state}); err != nil {
		return err
	}
	return answer(conn, handler)
}

func start(conn *wire.Conn, body []byte, build func(Inside) (Handler, error)) (h Handler, state []byte, err error) {
	defer recovered("set-up", &err)
	var s setup
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, nil, fmt.Errorf("worker: hello: %w", err)
	}
	r := newReporter(conn)
	inside := Inside{Policy: s.Policy, Config: s.Config, Placeholders: s.Covers}
	if s.Policy.Confinement == policy.ByLandlock {
		err = confinePlain(&s)
	} else {
		inside.Runner, err = confine(&s, r)
	}
	if err != nil {
		return nil, nil, err
	}
	if state, err = json.Marshal(standing{Unwatched: r.unwatched}); err != nil {
		return nil, nil, err
	}
	h, err = build(inside)
	return h, state, err
}

// answer runs one call at a time, in order of arrival; the reader stays free
// to see a cancel or the end of the broker, which ends the process and with it
// the whole namespace.
func answer(conn *wire.Conn, handler Handler) error {
	var (
		mu      sync.Mutex
		current uint64
		cancel  context.CancelFunc
	)
	calls := make(chan wire.Message, 16)
	failed := make(chan error, 2)
	go func() {
		for m := range calls {
			ctx, stop := context.WithCancel(context.Background())
			mu.Lock()
			current, cancel = m.ID, stop
			mu.Unlock()
			result, err := handle(ctx, handler, m)
			mu.Lock()
			current, cancel = 0, nil
			mu.Unlock()
			stop()
			reply := wire.Message{Kind: wire.Result, ID: m.ID, Body: result}
			if err != nil {
				reply.Error, reply.Body = err.Error(), nil
			}
			if err := conn.Send(reply); err != nil {
				failed <- err
				return
			}
		}
	}()
	go func() {
		defer close(calls)
		for {
			m, err := conn.Receive()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				failed <- err
				return
			}
			switch m.Kind {
			case wire.Call:
				select {
				case calls <- m:
				default:
					failed <- errors.New("worker: too many calls at once")
					return
				}
			case wire.Cancel:
				mu.Lock()
				if cancel != nil && m.ID == current {
					cancel()
				}
				mu.Unlock()
			default:
				failed <- fmt.Errorf("worker: unexpected %s", m.Kind)
				return
			}
		}
	}()
	return <-failed
}

func handle(ctx context.Context, h Handler, m wire.Message) (result []byte, err error) {
	defer recovered(m.Method, &err)
	return h.Handle(ctx, m.Method, m.Body)
}

// recovered turns a panic into an error that reaches the broker; the Worker
// has no other way to be heard.
func recovered(doing string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("worker: %s: panic: %v\n%s", doing, r, debug.Stack())
	}
}
