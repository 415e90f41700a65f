package sandbox

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/limits"
)

// means is one entry of the table of mechanisms: how it stands in a sandbox
// that was made, and how to find out that it is missing where none could be.
type means struct {
	name string
	// ofCommands: it is needed where programs are started.
	ofCommands bool
	what       string // how platform.unavailable calls it
	// alone uses the mechanism by itself; an error means that it is missing, and
	// remedy is the end of a locale key platform.remedy.*. nil: it needs nothing
	// of the system that the others do not need.
	alone func(ctx context.Context, o Options) (remedy string, err error)
	// otherwise is the end of a locale key platform.otherwise.* for what can be done
	// without it; "" where nothing can.
	otherwise string
	// stands says how far s has it: Full, or weaker and how.
	stands func(s *Sandbox) (full bool, detail string)
}

// mechanisms is every mechanism of this system but the network's, whose state
// the Worker tells (networkState), in the order in which they are shown.
var mechanisms = []means{
	{
		name: "namespaces", what: "user namespaces", otherwise: "files_only",
		alone: func(ctx context.Context, _ Options) (string, error) {
			err := tryNamespaces(ctx)
			return namespaceRemedy(err, setting), err
		},
		stands: func(s *Sandbox) (bool, string) {
			if s.held != nil {
				return false, "none"
			}
			return true, "user mount pid ipc uts net cgroup"
		},
	},
	{
		name: "landlock", what: "Landlock",
		alone: func(context.Context, Options) (string, error) {
			abi, err := landlock.ABI()
			if err == nil && abi < landlock.MinABI {
				err = fmt.Errorf("version %d, need %d", abi, landlock.MinABI)
			}
			return "landlock", err
		},
		stands: func(*Sandbox) (bool, string) {
			abi, err := landlock.ABI()
			return err == nil && abi >= 6, fmt.Sprintf("version %d", abi)
		},
	},
	{
		name: "seccomp", what: "seccomp filters",
		alone:  func(context.Context, Options) (string, error) { return "seccomp", trySeccomp() },
		stands: func(*Sandbox) (bool, string) { return true, "filter" },
	},
	{
		name: "fence", ofCommands: true, what: "a pids control group",
		alone: func(_ context.Context, o Options) (string, error) { return "fence", tryFence(o) },
		stands: func(s *Sandbox) (bool, string) {
			if s.groups.Fenced() {
				return true, "pids.max"
			}
			return true, "RLIMIT_NPROC"
		},
	},
	{
		name: "process limit", ofCommands: true,
		stands: func(*Sandbox) (bool, string) { return false, "supervised, every 50 ms, with a fence" },
	},
	{
		name: "memory limit", ofCommands: true,
		stands: func(s *Sandbox) (bool, string) {
			if file := s.groups.Memory(); file != "" {
				return true, file
			}
			return false, "supervised, every 50 ms"
		},
	},
	{
		name: "disk limit", ofCommands: true,
		stands: func(*Sandbox) (bool, string) { return false, "free space supervised, every 50 ms" },
	},
}

// mechanisms lists how far s has each mechanism.
func (s *Sandbox) mechanisms() []Mechanism {
	out := make([]Mechanism, 0, len(mechanisms)+2)
	for _, m := range mechanisms {
		if s.held != nil && m.ofCommands {
			continue // there are none
		}
		full, detail := m.stands(s)
		out = append(out, Mechanism{Name: m.name, Full: full, Detail: detail})
	}
	if s.held != nil {
		return out
	}
	return append(out, s.networkState()...)
}

// missing uses each mechanism of table by itself. It returns those that are
// missing and their faults, joined; nothing and nil when all are there.
func missing(ctx context.Context, table []means, o Options) ([]Mechanism, error) {
	var out []Mechanism
	var faults []error
	for _, m := range table {
		if m.alone == nil {
			continue
		}
		if remedy, err := m.alone(ctx, o); err != nil {
			out = append(out, Mechanism{Name: m.name, Detail: err.Error(), Remedy: remedy})
			faults = append(faults, fault.Wrap(err, fault.PlatformUnavailable, "probe", "what", m.what, "remedy", remedy, "otherwise", m.otherwise, "cause", err.Error()))
		}
	}
	return out, errors.Join(faults...)
}

// trySeccomp asks for the one action without which there is no filter; a
// container that forbids seccomp(2) refuses the question as well.
func trySeccomp() error {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return errno
	}
	return nil
}

// tryFence makes and removes a control group where that is the only fence.
func tryFence(o Options) error {
	id, err := identityFor(o.Policy.Workspace.Root)
	if err != nil || !id.unfenced() {
		return nil // a root that cannot be looked at is another fault, told by Start
	}
	g, err := limits.NewGroups(o.Cgroups, groupName(), o.Policy.Resources, true)
	if fault.CodeOf(err) != "" {
		return nil // the journal's own trouble, which Start has told
	}
	if err != nil {
		return err
	}
	return g.Remove()
}
