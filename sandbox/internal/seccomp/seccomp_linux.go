// Package seccomp builds and installs the system-call filter of the Worker and
// of the commands.
//
// The one rule to keep in mind: a program begins by killing what was built for
// another architecture (int $0x80 would bypass every rule), and compares C
// ints on their low 32 bits only.
package seccomp

import (
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

// newNamespaces are the clone flags that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// Terminal ioctls that inject input (CVE-2017-5226 and its relatives).
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
)

// Controls that let the kernel send a signal to a process of the caller's
// choice; where the process stands behind a pointer they are refused as a whole.
const (
	fSetOwn   = 8
	fSetOwnEx = 15
	fioSetOwn = 0x8901
	siocSPGrp = 0x8902
)

var (
	retAllow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	retKill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
)

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// Program returns the filter for o.
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
	on := func(nr uint32, body ...bpf.Instruction) {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(len(body))})
		p = append(p, body...)
	}
	for _, nr := range forbidden {
		on(nr, refuse(unix.EPERM))
	}
	on(unix.SYS_CLONE3, refuse(unix.ENOSYS)) // its flags are behind a pointer; libcs fall back to clone
	on(unix.SYS_CLONE,
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1},
		refuse(unix.EPERM), retAllow)
	controls := []uint32{tiocsti, tioclinux}
	if o.Launcher {
		controls = append(controls, fioSetOwn, siocSPGrp)
	}
	on(unix.SYS_IOCTL, refuseValues(1, controls)...)
	for _, c := range modeSetting {
		on(c.nr,
			bpf.LoadAbsolute{Off: low(c.arg), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.S_ISUID, SkipTrue: 1},
			refuse(unix.EPERM), retAllow)
	}
	if o.NoExecute {
		on(unix.SYS_MEMFD_CREATE, refuse(unix.EACCES))
	}
	if o.Launcher {
		worker := []uint32{1, o.Thread}
		for _, nr := range signalling {
			on(nr, refuseValues(0, worker)...)
		}
		on(unix.SYS_PIDFD_SEND_SIGNAL, refuse(unix.EPERM)) // a directory of /proc will do for a pidfd
		owned := refuseValues(2, worker)
		on(unix.SYS_FCNTL, append([]bpf.Instruction{
			bpf.LoadAbsolute{Off: low(1), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: fSetOwnEx, SkipTrue: 1},
			refuse(unix.EPERM),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: fSetOwn, SkipTrue: 1},
			retAllow,
		}, owned...)...)
		// Limits of another process: the Worker has the same user.
		on(unix.SYS_PRLIMIT64,
			bpf.LoadAbsolute{Off: low(0), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			refuse(unix.EPERM), retAllow)
		on(unix.SYS_SOCKET, refuse(unix.EACCES))
		// A datagram pair can send to any path; stream pairs cannot.
		on(unix.SYS_SOCKETPAIR,
			bpf.LoadAbsolute{Off: low(0), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1},
			refuse(unix.EACCES),
			bpf.LoadAbsolute{Off: low(1), Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK)},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
			refuse(unix.EACCES), retAllow)
	}
	return append(p, retAllow)
}

// refuseValues refuses a call whose int argument is one of values.
func refuseValues(arg int, values []uint32) []bpf.Instruction {
	p := []bpf.Instruction{bpf.LoadAbsolute{Off: low(arg), Size: 4}}
	for _, v := range values {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, refuse(unix.EPERM))
	}
	return append(p, retAllow)
}

// InstallAllThreads installs the filter on every thread of the process.
func InstallAllThreads(o Options) error { return install(o, unix.SECCOMP_FILTER_FLAG_TSYNC) }

// InstallThread installs the filter on the calling thread alone.
func InstallThread(o Options) error { return install(o, 0) }

func install(o Options, flags uintptr) error {
	raw, err := bpf.Assemble(Program(o))
	if err != nil {
		return fmt.Errorf("seccomp: assemble: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// With TSYNC a positive result is the thread that could not be synchronised.
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: install: %w", errno)
	}
	if r != 0 {
		return fmt.Errorf("seccomp: thread %d refused the filter", r)
	}
	return nil
}
