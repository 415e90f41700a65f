// Package sandbox runs work under an Effective Sandbox Policy that the
// operating system enforces: one Worker per Task, commands beneath it.
//
// The one rule to keep in mind: what cannot be enforced is refused before
// anything runs; nothing is weakened in silence.
//
// It can be used alone: make a policy with policy.ForFolder and policy.Resolve,
// Start a sandbox under it, Run programs in it, Close it. The Worker is the
// calling program started anew, so that main has to begin with
//
//	if sandbox.InWorker() {
//		fmt.Fprintln(os.Stderr, sandbox.Serve(sandbox.Commands))
//		os.Exit(1)
//	}
//
// Without it Start fails. Build without cgo: with it, a Worker cannot confine
// all its threads and refuses to. docs/THREATS.md says what is promised and what
// is not; examples/sandbox is a whole program.
package sandbox

import (
	"context"
	"net/netip"
	"os"
	"time"

	"sunaba/policy"
)

// DefaultTimeout bounds a command that names no time (C-87).
const DefaultTimeout = 120 * time.Second

// Handler answers the calls of the broker inside the Worker. Params and result
// are JSON. A returned error ends the Worker; a refusal is a result.
type Handler interface {
	Handle(ctx context.Context, method string, params []byte) (result []byte, err error)
}

// Inside is what a Handler gets to work with inside the Worker.
type Inside struct {
	Policy policy.Effective
	Config []byte // opaque JSON from Options.Config
	Runner Runner
	// Placeholders are the paths that exist only for this Task's protection.
	Placeholders []string
}

// Command is one process to start in the Task's sandbox.
type Command struct {
	Image   *os.File // the judged handle that is executed; closed by the caller
	Script  bool     // Image starts with "#!": the handle stays open for the interpreter
	Argv    []string // argv[0] as the program shall see it
	Dir     *os.File // working directory, the judged handle
	Stdin   string
	Timeout time.Duration // 0: the default; clamped to the policy's limit
	Output  Limit
}

// Limit bounds what is kept of a command's output (stdout and stderr on one
// pipe), in bytes: its head and its tail; the middle is counted and dropped.
type Limit struct{ Head, Tail int }

// Outcome is how a command ended.
type Outcome struct {
	ExitCode int           // as a shell would report it: 128+n for signal n
	Ended    bool          // by itself; false when stopped by time, limit or cancel
	Stopped  string        // "timeout", "cancelled", a limit's name (Limits), "" otherwise
	Duration time.Duration // wall clock
	Output   Capture
}

// Limits are the names of the limits that stop a command, as outcomes, results
// and the audit have them. Callers must not change it.
var Limits = []string{"processes", "memory", "disk", "file_size"}

// Capture is the kept output, stdout and stderr as they arrived.
type Capture struct {
	Head, Tail []byte
	Dropped    int64 // bytes between Head and Tail
}

// Runner starts one command at a time; when it returns, nothing the command
// started is alive (C-76).
type Runner interface {
	Run(ctx context.Context, c Command) (Outcome, error)
}

// Placeholder is an empty file or directory that stands where a protected path
// does not exist yet, so that nothing can be made there (C-67).
type Placeholder struct {
	Path string
	Dir  bool
	// Content fills a file whose readers an empty one would break.
	Content string
}

// Placeholders makes and removes what must exist on the host during a Task.
// Make journals each before it is made and returns those that it really made
// (what exists already is left alone); Remove takes them away again where they
// are still the same and still empty.
type Placeholders interface {
	Make([]Placeholder) (made []Placeholder, err error)
	Remove() error
}

// Options are what Start needs.
type Options struct {
	Policy       policy.Effective
	Config       []byte       // JSON handed to the Handler's builder as it is
	Placeholders Placeholders // nil: a policy that needs one is refused
	Cgroups      Cgroups      // nil: none are made
	// Notify is told of what the network let through and what it refused. It is
	// called from several goroutines and must not block. nil: nobody is told.
	Notify func(Notice)
	// Refuse is asked before the broker dials, whatever the policy says: our
	// own listeners are no endpoints (C-89). It is called from several
	// goroutines. nil: nothing is refused.
	Refuse func(netip.AddrPort) bool
	// Machine returns this machine's addresses, at which the broker does not dial
	// an endpoint that is known by its name. It is asked before each such dial,
	// from several goroutines; where it fails, nothing is dialled. nil is
	// policy.Machine.
	Machine func() ([]netip.Prefix, error)
}

// Notice is one connection that was made, or one attempt that was refused.
// The same thing over and over is told once at once, and then with its Count
// about once a second and at the end of each command.
type Notice struct {
	Allowed  bool
	Protocol string // tcp, or the family and type of a socket that was refused: "unix stream"
	Host     string // as configured; "" where only the address is known
	// Address is what was dialled; for what was refused, what was attempted: an
	// endpoint's address inside the sandbox where the host is known by its name.
	// It is the zero value for sockets that were refused before they had one,
	// and for attempts too many and various to be told apart.
	Address netip.AddrPort
	// Failed says why an allowed endpoint was not reached; "" when it was.
	Failed string
	Count  int // how often, at least 1
	// Reported: only the Worker saw it.
	Reported bool
}

// Cgroups journals control groups before they are made.
type Cgroups interface {
	Add(path string) error
	Retire(path string) error
}

// Mechanism is one means of enforcement and how far it is there: fully; weaker
// (neither Full nor Missing), and Detail says how; or missing, and Detail says
// why. What is weaker serves, what is missing is refused (C-87).
type Mechanism struct {
	Name   string
	Full   bool
	Detail string
	Remedy string // of a missing one: the end of a locale key platform.remedy.*
}

// Missing reports that nothing may be served without m being remedied.
func (m Mechanism) Missing() bool { return m.Remedy != "" }
