package seccomp

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket is what somebody tried to make a socket of: the arguments of
// socket(2), the flags of its type left out.
type Socket struct{ Family, Type, Protocol uint32 }

// Listener is told of every socket that the filter refuses. Those who try wait
// for its answer, which is always no; without it, once its process is gone, the
// kernel gives them ENOSYS.
type Listener struct{ fd int }

// Notifications of the kernel, struct seccomp_notif and seccomp_notif_resp.
type (
	notification struct {
		id    uint64
		pid   uint32
		flags uint32
		nr    int32
		arch  uint32
		ip    uint64
		args  [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		errno int32
		flags uint32
	}
)

// Serve answers with EACCES until the filter is gone, telling each attempt
// first. It keeps an OS thread busy waiting and returns only on a failure, with
// the Listener closed.
func (l *Listener) Serve(tell func(Socket)) error {
	defer unix.Close(l.fd)
	for {
		var n notification
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT): // killed meanwhile
			continue
		case err != nil:
			return fmt.Errorf("seccomp: receive: %w", err)
		}
		tell(Socket{
			Family:   uint32(n.args[0]),
			Type:     uint32(n.args[1]) &^ (unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK),
			Protocol: uint32(n.args[2]),
		})
		r := response{id: n.id, errno: -int32(unix.EACCES)}
		if err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("seccomp: send: %w", err)
		}
	}
}

func (l *Listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// String names the socket as its programmer would: "unix stream".
func (s Socket) String() string {
	out := named(families, s.Family, "family") + " " + named(types, s.Type, "type")
	if s.Protocol == 0 || s.Protocol == defaultProtocol[s.Type] || (s.Family != unix.AF_INET && s.Family != unix.AF_INET6) {
		return out
	}
	return out + " " + named(protocols, s.Protocol, "protocol")
}

func named(names map[uint32]string, v uint32, kind string) string {
	if name, ok := names[v]; ok {
		return name
	}
	return fmt.Sprintf("%s %d", kind, v)
}

var (
	families = map[uint32]string{
		unix.AF_UNIX: "unix", unix.AF_INET: "inet", unix.AF_INET6: "inet6", unix.AF_NETLINK: "netlink", unix.AF_PACKET: "packet",
		unix.AF_VSOCK: "vsock", unix.AF_ALG: "alg", unix.AF_BLUETOOTH: "bluetooth", unix.AF_CAN: "can", unix.AF_KEY: "key",
		unix.AF_TIPC: "tipc", unix.AF_XDP: "xdp", unix.AF_SMC: "smc", unix.AF_RDS: "rds",
	}
	types = map[uint32]string{
		unix.SOCK_STREAM: "stream", unix.SOCK_DGRAM: "dgram", unix.SOCK_RAW: "raw", unix.SOCK_SEQPACKET: "seqpacket",
		unix.SOCK_RDM: "rdm", unix.SOCK_DCCP: "dccp", unix.SOCK_PACKET: "packet",
	}
	protocols = map[uint32]string{
		unix.IPPROTO_ICMP: "icmp", unix.IPPROTO_ICMPV6: "icmpv6", unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp",
		unix.IPPROTO_SCTP: "sctp", unix.IPPROTO_UDPLITE: "udplite", unix.IPPROTO_RAW: "raw", unix.IPPROTO_MPTCP: "mptcp",
	}
	defaultProtocol = map[uint32]uint32{unix.SOCK_STREAM: unix.IPPROTO_TCP, unix.SOCK_DGRAM: unix.IPPROTO_UDP}
)
