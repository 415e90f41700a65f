// Package resets sees connection attempts that nobody took, in a Task's network
// namespace: the kernel answers each with a reset that names what was attempted.
//
// The one rule to keep in mind: it only sees. What it misses, because it came
// too fast, was refused all the same.
package resets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Watcher hears the resets of one family of addresses.
type Watcher struct {
	family family
	file   *os.File
	raw    syscall.RawConn
	mu     sync.Mutex // one reader at a time
	tell   func(netip.AddrPort)
}

// family is how a packet of one IP version is looked at.
type family struct {
	packets uint16
	filter  []bpf.Instruction
	source  func(packet []byte) (netip.AddrPort, bool)
}

// A reset that answers an attempt has the flags below and sequence number 0; one
// that ends a connection has not.
const (
	flags   = 0x14 // RST and ACK
	longest = 128  // bytes of a packet that are looked at
)

var (
	ipv4 = family{
		packets: unix.ETH_P_IP,
		filter: []bpf.Instruction{
			bpf.LoadAbsolute{Off: 9, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 6},
			bpf.LoadMemShift{Off: 0},
			bpf.LoadIndirect{Off: 13, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: flags, SkipTrue: 3},
			bpf.LoadIndirect{Off: 4, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			bpf.RetConstant{Val: longest},
			bpf.RetConstant{Val: 0},
		},
		source: func(p []byte) (netip.AddrPort, bool) {
			if len(p) < 20 {
				return netip.AddrPort{}, false
			}
			head := int(p[0]&0xf) * 4
			if len(p) < head+2 {
				return netip.AddrPort{}, false
			}
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(p[12:16])), binary.BigEndian.Uint16(p[head:])), true
		},
	}
	ipv6 = family{
		packets: unix.ETH_P_IPV6,
		filter: []bpf.Instruction{
			bpf.LoadAbsolute{Off: 6, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 5},
			bpf.LoadAbsolute{Off: 40 + 13, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: flags, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 40 + 4, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			bpf.RetConstant{Val: longest},
			bpf.RetConstant{Val: 0},
		},
		source: func(p []byte) (netip.AddrPort, bool) {
			if len(p) < 42 {
				return netip.AddrPort{}, false
			}
			return netip.AddrPortFrom(netip.AddrFrom16([16]byte(p[8:24])), binary.BigEndian.Uint16(p[40:])), true
		},
	}
)

// IPv4 opens a Watcher of IPv4; it needs CAP_NET_RAW over the namespace.
func IPv4() (*Watcher, error) { return open(ipv4) }

// IPv6 is IPv4 for IPv6.
func IPv6() (*Watcher, error) { return open(ipv6) }

func open(f family) (*Watcher, error) {
	raw, err := bpf.Assemble(f.filter)
	if err != nil {
		return nil, fmt.Errorf("resets: assemble: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	// Without a protocol it hears nothing until it is bound, filter in place.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("resets: socket: %w", err)
	}
	w := &Watcher{family: f, file: os.NewFile(uintptr(fd), "resets")}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err == nil {
		network := f.packets<<8 | f.packets>>8
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: 1})
	}
	if err == nil {
		w.raw, err = w.file.SyscallConn()
	}
	if err != nil {
		w.file.Close()
		return nil, fmt.Errorf("resets: %w", err)
	}
	return w, nil
}

// Serve hands what was attempted to tell, until the Watcher is closed.
func (w *Watcher) Serve(tell func(netip.AddrPort)) {
	w.mu.Lock()
	w.tell = tell
	w.mu.Unlock()
	_ = w.raw.Read(func(fd uintptr) bool { // fails when it is closed
		w.read(int(fd))
		return false
	})
}

// Drain returns when all that has happened so far has been told.
func (w *Watcher) Drain() {
	_ = w.raw.Control(func(fd uintptr) { w.read(int(fd)) })
}

// Close ends Serve.
func (w *Watcher) Close() error { return w.file.Close() }

func (w *Watcher) read(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell == nil {
		return
	}
	packet := make([]byte, longest)
	for {
		n, _, err := unix.Recvfrom(fd, packet, unix.MSG_DONTWAIT)
		if err != nil {
			return // nothing more for now
		}
		if a, ok := w.family.source(packet[:n]); ok {
			w.tell(a)
		}
	}
}
