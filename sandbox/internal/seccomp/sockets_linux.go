package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Arguments of socket and socketpair. All are ints: the high halves of their
// registers carry nothing (trap 2).
var (
	loadFamily   = bpf.LoadAbsolute{Off: low(0), Size: 4}
	loadProtocol = bpf.LoadAbsolute{Off: low(2), Size: 4}
	loadType     = []bpf.Instruction{
		bpf.LoadAbsolute{Off: low(1), Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK)},
	}
)

// sockets says which sockets a command may make. Whatever it says, they lead
// nowhere but into the Task's own network namespace; paths of unix sockets do
// not belong to one (trap 8).
func sockets(o Options) []bpf.Instruction {
	no := refuse(unix.EACCES)
	if o.notify {
		no = bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	}
	p := []bpf.Instruction{loadFamily}
	when := func(family uint32, body []bpf.Instruction) {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: family, SkipTrue: uint8(len(body))})
		p = append(p, body...)
	}
	if o.Inet {
		// Protocol 0 is TCP here; MPTCP and SCTP are stream sockets too.
		tcp := slices.Concat(loadType, []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
			no,
			loadProtocol,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
			no, retAllow,
		})
		when(unix.AF_INET, tcp)
		when(unix.AF_INET6, tcp)
	}
	if o.Unix {
		when(unix.AF_UNIX, connected(no))
	}
	return append(p, no)
}

// socketPairs allows pairs that stay between their two ends: a datagram socket
// can send to any path.
var socketPairs = func() []bpf.Instruction {
	no := refuse(unix.EACCES)
	return append([]bpf.Instruction{
		loadFamily,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1},
		no,
	}, connected(no)...)
}()

// connected allows the types of socket that cannot send without a connection.
func connected(no bpf.Instruction) []bpf.Instruction {
	return slices.Concat(loadType, []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
		no, retAllow,
	})
}
