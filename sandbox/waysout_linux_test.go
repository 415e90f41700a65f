package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waysOut are the ways in which a TCP socket can be made to reach an address;
// each gets a fresh socket. A first, permitted connection is made to "first".
var waysOut = map[string]func(fd int, first, to netip.AddrPort) error{
	"connect": func(fd int, _, to netip.AddrPort) error { return unix.Connect(fd, socketAddress(to)) },
	"high bits": func(fd int, _, to netip.AddrPort) error { // the length is an int as well
		raw := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: to.Port()<<8 | to.Port()>>8, Addr: to.Addr().As4()}
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd)|1<<32, uintptr(unsafe.Pointer(&raw)), unsafe.Sizeof(raw))
		return fail(errno)
	},
	"send without connecting": func(fd int, _, to netip.AddrPort) error {
		return unix.Sendto(fd, []byte("x\n"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, socketAddress(to))
	},
	"send a message without connecting": func(fd int, _, to netip.AddrPort) error {
		_, err := unix.SendmsgN(fd, []byte("x\n"), nil, socketAddress(to), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL)
		return err
	},
	"fast open": func(fd int, _, to netip.AddrPort) error {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
			return err
		}
		if err := unix.Connect(fd, socketAddress(to)); err != nil {
			return err
		}
		_, err := unix.SendmsgN(fd, []byte("x\n"), nil, nil, unix.MSG_NOSIGNAL)
		return err
	},
	"connect anew": func(fd int, first, to netip.AddrPort) error {
		if err := unix.Connect(fd, socketAddress(first)); err != nil {
			return err
		}
		var none unix.RawSockaddr // AF_UNSPEC
		if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none)); errno != 0 {
			return errno
		}
		return unix.Connect(fd, socketAddress(to))
	},
	"by the loopback device": func(fd int, _, to netip.AddrPort) error {
		if err := unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, "lo"); err != nil {
			return err
		}
		return unix.Connect(fd, socketAddress(to))
	},
	"from the port of an endpoint": func(fd int, first, to netip.AddrPort) error {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 9}), first.Port())
		if err := unix.Bind(fd, socketAddress(at)); err != nil {
			return err
		}
		return unix.Connect(fd, socketAddress(to))
	},
	"mapped to IPv6": func(_ int, _, to netip.AddrPort) error {
		fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return answeredOn(fd, unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}))
	},
	"in the host's namespace": func(fd int, _, to netip.AddrPort) error {
		for _, pid := range []string{"1", "self"} {
			ns, err := unix.Open("/proc/"+pid+"/ns/net", unix.O_RDONLY, 0)
			if err != nil {
				continue
			}
			_ = unix.Setns(ns, unix.CLONE_NEWNET)
			unix.Close(ns)
		}
		return unix.Connect(fd, socketAddress(to))
	},
}

func socketAddress(a netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// answeredOn demands an answer to a line sent on fd: to be connected to nobody
// is no success.
func answeredOn(fd int, err error) error {
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte("x\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	if n, err := unix.Read(fd, answer); err != nil || n == 0 {
		return fmt.Errorf("no answer: %d, %w", n, errors.Join(err))
	}
	return nil
}

func init() {
	attacks["way-out"] = func(args []string) error { // name, first, to
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
			return err
		}
		err = waysOut[args[0]](fd, netip.MustParseAddrPort(args[1]), netip.MustParseAddrPort(args[2]))
		if args[0] == "mapped to IPv6" {
			return err
		}
		return answeredOn(fd, err)
	}
}

// TestWaysOut: no way of using a TCP socket reaches a listener of the host that
// is no endpoint; each does so without the sandbox, and each reaches an endpoint.
//
// Covers: SEC-INV-07, AT-11
func TestWaysOut(t *testing.T) {
	first, other := server(t, "endpoint", "127.0.0.1:0"), server(t, "other", "127.0.0.1:0")
	f := networked(t, "local", nil, fmt.Sprintf("- %d 127.0.0.1", first.Port()))
	for way := range waysOut {
		args := []string{self(), attackWord, "way-out", way, first.String()}
		if r := f.call("run", order{Argv: append(args, other.String())}); r.ExitCode != 1 || strings.Contains(r.Out, "no such attack") {
			t.Errorf("%s: %+v", way, r)
		}
		if r := f.call("run", order{Argv: append(args, first.String())}); r.ExitCode != 0 {
			t.Errorf("%s, to the endpoint: %+v", way, r)
		}
		twin := append(args, other.String())
		if out, err := exec.Command(twin[0], twin[1:]...).CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %s: %v\n%s", way, err, out)
		}
	}
}
