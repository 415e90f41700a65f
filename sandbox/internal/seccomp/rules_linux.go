package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/ablation"
)

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

// rule says what becomes of one system call. Its body ends with a return.
type rule struct {
	name string // what it keeps from happening
	nr   uint32
	body []bpf.Instruction
}

// rules are the filter for o, each with a name of its own: where a call has
// several, the first decides.
func rules(o Options) []rule {
	all := slices.Concat(forOneAlone(o), forEverything(o), forCommands(o))
	return slices.DeleteFunc(all, func(r rule) bool { return ablation.Off("seccomp") || ablation.Off("seccomp "+r.name) })
}

// forEverything holds for the Worker's threads as well.
func forEverything(o Options) []rule {
	var out []rule
	add := func(name string, nr uint32, body ...bpf.Instruction) { out = append(out, rule{name, nr, body}) }
	for _, nr := range forbidden {
		add("forbidden", nr, refuse(unix.EPERM))
	}
	add("clone3", unix.SYS_CLONE3, refuse(unix.ENOSYS)) // its flags are behind a pointer; libcs fall back to clone
	add("new namespaces", unix.SYS_CLONE,
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1},
		refuse(unix.EPERM), retAllow)
	add("controls", unix.SYS_IOCTL, controls(o)...)
	for _, c := range modeSetting {
		add("set-user-id", c.nr,
			bpf.LoadAbsolute{Off: low(c.arg), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.S_ISUID, SkipTrue: 1},
			refuse(unix.EPERM), retAllow)
	}
	if o.NoExecute {
		add("memory as a file", unix.SYS_MEMFD_CREATE, refuse(unix.EACCES))
	}
	return out
}

// forOneAlone holds for a process that has no namespaces to itself.
func forOneAlone(o Options) []rule {
	if o.Alone == 0 {
		return nil
	}
	var out []rule
	add := func(name string, nr uint32, body ...bpf.Instruction) { out = append(out, rule{name, nr, body}) }
	for _, nr := range startingOrShared {
		add("alone", nr, refuse(unix.EPERM))
	}
	add("alone", unix.SYS_CLONE, // threads are made by it
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipTrue: 1},
		refuse(unix.EPERM), retAllow)
	itself := []bpf.Instruction{
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: o.Alone, SkipTrue: 1},
		refuse(unix.EPERM), retAllow,
	}
	for _, nr := range signalling {
		add("alone", nr, itself...)
	}
	add("alone", unix.SYS_PIDFD_SEND_SIGNAL, refuse(unix.EPERM))
	add("alone", unix.SYS_FCNTL,
		bpf.LoadAbsolute{Off: low(1), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: fSetOwn, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: fSetOwnEx, SkipTrue: 1},
		refuse(unix.EPERM), retAllow)
	for _, nr := range slices.Concat(scheduling, []uint32{unix.SYS_PRLIMIT64}) {
		add("alone", nr,
			bpf.LoadAbsolute{Off: low(0), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			refuse(unix.EPERM), retAllow)
	}
	for _, nr := range byPath {
		add("attributes by path", nr, refuse(unix.EPERM))
	}
	if o.Unchanging {
		for _, nr := range byHandle {
			add("attributes by handle", nr, refuse(unix.EPERM))
		}
	}
	return out
}

// forCommands holds beneath the launcher.
func forCommands(o Options) []rule {
	if !o.Launcher {
		return nil
	}
	var out []rule
	add := func(name string, nr uint32, body ...bpf.Instruction) { out = append(out, rule{name, nr, body}) }
	worker := []uint32{1, o.Thread}
	const group = 1<<32 - 1 // the Worker's process group, as F_SETOWN has it
	for _, nr := range signalling {
		add("signals", nr, refuseValues(0, worker)...)
	}
	add("signals", unix.SYS_PIDFD_SEND_SIGNAL, refuse(unix.EPERM)) // a directory of /proc will do for a pidfd
	owned := refuseValues(2, append(worker, group))
	add("signals", unix.SYS_FCNTL, append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: low(1), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: fSetOwnEx, SkipTrue: 1},
		refuse(unix.EPERM),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: fSetOwn, SkipTrue: 1},
		retAllow,
	}, owned...)...)
	// Limits of another process: the Worker has the same user.
	add("others' limits", unix.SYS_PRLIMIT64,
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		refuse(unix.EPERM), retAllow)
	// Priorities of another: the Worker's are its user's as well.
	itself := []bpf.Instruction{
		bpf.LoadAbsolute{Off: low(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		refuse(unix.EPERM), retAllow,
	}
	for _, nr := range scheduling {
		add("others' priorities", nr, itself...)
	}
	for _, nr := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		add("others' priorities", nr,
			bpf.LoadAbsolute{Off: low(0), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: prioUser[nr], SkipTrue: 2},
			bpf.LoadAbsolute{Off: low(1), Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			refuse(unix.EPERM), retAllow)
	}
	add("sockets", unix.SYS_SOCKET, sockets(o)...)
	// A protocol stacked upon TCP brings kernel code that nobody else needs.
	add("stacked protocols", unix.SYS_SETSOCKOPT,
		bpf.LoadAbsolute{Off: low(1), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
		retAllow,
		bpf.LoadAbsolute{Off: low(2), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TCP_ULP, SkipTrue: 1},
		retAllow,
		refuse(unix.ENOENT)) // as where the kernel has no such protocol
	add("socket pairs", unix.SYS_SOCKETPAIR, socketPairs...)
	return out
}

// controls are the ioctls that are left: file systems have some that make, take
// away or copy directories, which no rule on paths sees. Those for terminals,
// sockets and any kind of file are known; the rest is answered as where a file
// has no such control.
func controls(o Options) []bpf.Instruction {
	refused := []uint32{tiocsti, tioclinux}
	if o.Launcher || o.Alone != 0 {
		refused = append(refused, fioSetOwn, siocSPGrp)
	}
	if o.Alone != 0 {
		refused = append(refused, fsSetFlags, fsSetXattr)
	}
	kinds := []uint32{'T', 0x89, 'R'}
	if !o.Launcher {
		kinds = append(kinds, '!') // the Worker hears of refused sockets
	}
	load := bpf.LoadAbsolute{Off: low(1), Size: 4}
	p := []bpf.Instruction{load}
	for _, v := range refused {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, refuse(unix.EPERM))
	}
	for _, v := range fileControls {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, retAllow)
	}
	p = append(p, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 8}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff})
	for _, k := range kinds {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: k, SkipTrue: 1}, retAllow)
	}
	return append(p, refuse(unix.ENOTTY))
}

// refuseValues refuses a call whose int argument is one of values.
func refuseValues(arg int, values []uint32) []bpf.Instruction {
	p := []bpf.Instruction{bpf.LoadAbsolute{Off: low(arg), Size: 4}}
	for _, v := range values {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, refuse(unix.EPERM))
	}
	return append(p, retAllow)
}
