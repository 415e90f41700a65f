// Package seccomp builds and installs the system-call filter of the Worker and
// of the commands.
//
// The one rule to keep in mind: a program begins by killing what was built for
// another architecture (int $0x80 would bypass every rule), and compares C
// ints on their low 32 bits only.
package seccomp

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Options choose what a filter refuses beyond the fixed list.
type Options struct {
	// Launcher adds what holds for commands but not for the Worker's own
	// threads: no signal to PID 1, no limits of
	// other processes, no new sockets.
	Launcher bool
	// Thread is the launcher's own thread. Commands stand in its Landlock
	// domain, which therefore does not keep their signals from it, and a signal
	// to it is one to PID 1; one with a forged origin ends the Worker.
	Thread uint32
	// NoExecute refuses memfd_create, which would be an executable file
	// outside every mount (traps: memfd + fexecve).
	NoExecute bool
	// Inet lets commands make TCP sockets over IPv4 and IPv6, and nothing else
	// of those families.
	Inet bool
	// Unix lets commands make unix sockets that cannot send to a path without
	// connecting to it.
	Unix bool
	// Alone is the id of a process that stands without namespaces and starts
	// nothing: no other process, no program, no socket, no signal, nothing that
	// the kernel keeps for all processes of a user. 0: not so.
	Alone uint32
	// Unchanging refuses, with Alone, modes, owners and attributes also of what
	// is open.
	Unchanging bool

	notify bool // refused sockets are told to the listener
}

// Offsets within struct seccomp_data (all supported machines are little-endian).
const (
	offNR   = 0
	offArch = 4
	offArgs = 16
)

func low(arg int) uint32 { return uint32(offArgs + 8*arg) }

// x32Bit marks system calls of the x32 ABI on amd64.
const x32Bit = 0x40000000

var (
	retAllow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	retKill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
)

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// Program returns the filter for o. What it does not name is allowed.
func Program(o Options) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		retKill,
		bpf.LoadAbsolute{Off: offNR, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		refuse(unix.ENOSYS),
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: lastSyscall, SkipTrue: 1},
		refuse(unix.ENOSYS), // unknown to this table: programs fall back
	}
	for _, r := range rules(o) {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.nr, SkipTrue: uint8(len(r.body))})
		p = append(p, r.body...)
	}
	return append(p, retAllow)
}

// InstallAllThreads installs the filter on every thread of the process.
func InstallAllThreads(o Options) error {
	_, err := install(o, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// InstallThread installs the filter on the calling thread alone. The Listener
// is told of the sockets that the filter refuses; it is nil where the kernel
// gives none, or another filter above this one has one already: sockets are
// refused all the same, and nobody is told.
func InstallThread(o Options) (*Listener, error) {
	if !o.Launcher {
		_, err := install(o, 0)
		return nil, err
	}
	o.notify = true
	fd, err := install(o, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|waitKillable)
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EINVAL) {
		o.notify = false
		_, err = install(o, 0)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return &Listener{fd: fd}, nil
}

// waitKillable keeps signals other than deadly ones from starting a call again
// that is being looked at (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).
const waitKillable = 1 << 5

func install(o Options, flags uintptr) (result int, err error) {
	raw, err := bpf.Assemble(Program(o))
	if err != nil {
		return 0, fmt.Errorf("seccomp: assemble: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: install: %w", errno)
	}
	// With TSYNC a positive result is the thread that could not be synchronised.
	if r != 0 && flags&unix.SECCOMP_FILTER_FLAG_TSYNC != 0 {
		return 0, fmt.Errorf("seccomp: thread %d refused the filter", r)
	}
	return int(r), nil
}
