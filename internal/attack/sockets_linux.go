package attack

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// kinds are the sockets that a program may try.
var kinds = []struct {
	name                   string
	family, kind, protocol int
	master                 bool // its twin needs rights
}{
	{"inet stream", unix.AF_INET, unix.SOCK_STREAM, 0, false}, {"inet dgram", unix.AF_INET, unix.SOCK_DGRAM, 0, false},
	{"inet raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, true}, {"inet6 stream", unix.AF_INET6, unix.SOCK_STREAM, 0, false},
	{"inet6 dgram", unix.AF_INET6, unix.SOCK_DGRAM, 0, false}, {"inet6 raw", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, true},
	{"inet mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, false}, {"inet6 mptcp", unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, false},
	{"inet sctp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, false}, {"inet udplite", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, false},
	{"inet ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, false},
	{"unix stream", unix.AF_UNIX, unix.SOCK_STREAM, 0, false}, {"unix dgram", unix.AF_UNIX, unix.SOCK_DGRAM, 0, false},
	{"unix seqpacket", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, false}, {"packet", unix.AF_PACKET, unix.SOCK_RAW, 0, true},
	{"netlink route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, false}, {"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, false},
	{"netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER, false}, {"netlink uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, false},
	{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, false}, {"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, false},
	{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, false}, {"can", unix.AF_CAN, unix.SOCK_RAW, 1, false}, {"tipc", unix.AF_TIPC, unix.SOCK_RDM, 0, false},
	{"xdp", unix.AF_XDP, unix.SOCK_RAW, 0, true}, {"rds", unix.AF_RDS, unix.SOCK_SEQPACKET, 0, false},
}

// sockets: with no network, none of any kind, and no pair that reaches a path.
func sockets() []Attack {
	var list []Attack
	for _, k := range kinds {
		a := Attack{Name: k.name, Act: "socket", Args: []string{fmt.Sprint(k.family), fmt.Sprint(k.kind), fmt.Sprint(k.protocol)}}
		if k.master {
			a.Twin = Master
		}
		list = append(list, a)
	}
	list = append(list,
		Attack{Name: "inet stream with high bits", Act: "socket", Args: []string{"0x100000002", "0x100000001", "0"}},
		Attack{Name: "unix stream with high bits", Act: "socket", Args: []string{"0x500000001", "1", "0"}},
		Attack{Name: "datagram pair", Act: "pair", Args: []string{"1", "2"}},
		Attack{Name: "datagram pair, close on exec", Act: "pair", Args: []string{"1", fmt.Sprint(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK)}},
		Attack{Name: "datagram pair with high bits", Act: "pair", Args: []string{"1", "0x100000002"}},
		Attack{Name: "raw pair", Act: "pair", Args: []string{"1", "3"}},
		Attack{Name: "pair of another family", Act: "pair", Args: []string{fmt.Sprint(unix.AF_TIPC), "1"}},
		Attack{Name: "connect to the host", Act: "connect", Args: []string{"{tcp}"}},
		Attack{Name: "send to the host", Act: "send", Args: []string{"{udp}"}},
		Attack{Name: "connect to a socket in the workspace", Act: "connect-unix", Args: []string{"{unix}"}},
		Attack{Name: "send to a socket in the workspace", Act: "send-unix", Args: []string{"{dgram}"}},
		Attack{Name: "send from a pair to a path", Act: "pair-to-path", Args: []string{"{dgram}"}},
		Attack{Name: "send a message from a pair to a path", Act: "pair-message", Args: []string{"{dgram}"}},
		Attack{Name: "listen", Act: "listen", Args: []string{"127.0.0.1:0"}},
	)
	return in("socket", "development", "seccomp", list)
}

// network: with some endpoints permitted, nothing but those.
func network() []Attack {
	var list []Attack
	for _, k := range kinds {
		if k.protocol == 0 && k.kind == unix.SOCK_STREAM && k.family != unix.AF_UNIX && k.family != unix.AF_VSOCK {
			continue // these are what is permitted
		}
		a := Attack{Name: "socket " + k.name, Act: "socket", Args: []string{fmt.Sprint(k.family), fmt.Sprint(k.kind), fmt.Sprint(k.protocol)}, Layer: "seccomp"}
		if k.master {
			a.Twin = Master
		}
		list = append(list, a)
	}
	list = append(list,
		Attack{Name: "connect to an unlisted port", Act: "connect", Args: []string{"{tcp}"}},
		Attack{Name: "send to the host", Act: "send", Args: []string{"{udp}"}, Layer: "seccomp"},
		Attack{Name: "mptcp with high bits", Act: "socket", Args: []string{"0x100000002", "1", "0x100000106"}, Layer: "seccomp"},
		Attack{Name: "connect to a socket in the workspace", Act: "connect-unix", Args: []string{"{unix}"}, Layer: "seccomp"},
		Attack{Name: "send from a pair to a path", Act: "pair-to-path", Args: []string{"{dgram}"}, Layer: "seccomp"},
	)
	local := make([]Attack, 0, 4)
	for _, a := range list[len(list)-5:] {
		a.Name += ", mode local"
		a.Box = "local"
		local = append(local, a)
	}
	own := []Attack{
		{Name: "datagram socket, own unix sockets", Box: "own", Act: "socket", Args: []string{"1", "2", "0"}, Layer: "seccomp"},
		{Name: "connect to the host's socket, own unix sockets", Box: "own", Act: "connect-unix", Args: []string{"{unix}"}, Layer: "masks"},
		{Name: "send to the host's socket, own unix sockets", Box: "own", Act: "send-unix", Args: []string{"{dgram}"}, Layer: "seccomp"},
		{Name: "send from a pair, own unix sockets", Box: "own", Act: "pair-to-path", Args: []string{"{dgram}"}, Layer: "seccomp"},
		{Name: "inet stream, own unix sockets", Box: "own", Act: "socket", Args: []string{"2", "1", "0"}, Layer: "seccomp"},
	}
	return in("network", "restricted", "network namespace", append(append(list, local...), own...))
}

// bombs: more than a Task is given of processes, memory, time, room.
func bombs() []Attack {
	return in("limit", "small", "supervision", []Attack{
		{Name: "more processes", Act: "fork-many", Args: []string{"40"}, Layer: "process limit"},
		{Name: "fork bomb", Act: "fork-endless", Args: []string{"1500"}, Twin: Twinless, Layer: "process limit"},
		{Name: "more threads", Act: "thread-many", Args: []string{"600"}, Layer: "fence"},
		{Name: "more memory", Act: "memory", Args: []string{"400"}, Layer: "memory limit"},
		{Name: "memory without a name", Act: "memory-file", Args: []string{"768"}, Layer: "memory limit"},
		{Name: "shared memory that is not mapped", Act: "memory-shared", Args: []string{"768"}, Layer: "memory limit"},
		{Name: "page tables", Act: "memory-tables", Layer: "memory limit"},
		{Name: "fill scratch", Act: "fill", Args: []string{"{tmp}", "40"}, Layer: "tmpfs size"},
		{Name: "fill shared memory", Act: "fill-shared", Args: []string{"80"}, Layer: "tmpfs size"},
		{Name: "fill scratch with files", Act: "fill-inodes", Args: []string{"{tmp}", "9000"}, Layer: "tmpfs inodes"},
		{Name: "one large file", Act: "fill", Args: []string{"{ws}", "24"}, Layer: "file size"},
		{Name: "more descriptors", Act: "descriptors", Args: []string{"5000"}, Layer: "rlimit"},
		{Name: "more time asleep", Act: "last", Args: []string{"3000"}, Timeout: time.Second, Layer: "time limit"},
		{Name: "more time at work", Act: "spin", Args: []string{"3000"}, Timeout: time.Second, Layer: "time limit"},
	})
}
