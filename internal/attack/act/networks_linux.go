package act

import (
	"errors"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// networks are acts with sockets.
func networks() map[string]func([]string) error {
	return map[string]func([]string) error{
		// socket FAMILY TYPE PROTOCOL, which may have bits that the kernel ignores
		"socket":       func(a []string) error { return socket(number(a[0]), number(a[1]), number(a[2])) },
		"pair":         func(a []string) error { return pair(number(a[0]), number(a[1])) },
		"connect":      func(a []string) error { return connect("tcp", a[0]) },
		"send":         func(a []string) error { return send(a[0]) },
		"connect-unix": func(a []string) error { return connect("unix", a[0]) },
		"send-unix":    func(a []string) error { return sendUnix(a[0]) },
		"pair-to-path": func(a []string) error { return pairToPath(a[0], false) },
		"pair-message": func(a []string) error { return pairToPath(a[0], true) },
		"listen":       func(a []string) error { return listen(a[0]) },
	}
}

const patience = 5 * time.Second

func socket(family, kind, protocol uintptr) error {
	fd, _, e := unix.Syscall(unix.SYS_SOCKET, family, kind, protocol)
	if e != 0 {
		return e
	}
	return unix.Close(int(fd))
}

func pair(family, kind uintptr) error {
	var fds [2]int32
	_, _, e := unix.Syscall6(unix.SYS_SOCKETPAIR, family, kind, 0, uintptr(unsafe.Pointer(&fds)), 0, 0)
	return failed(e)
}

func connect(network, address string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	n, err := c.Read(make([]byte, 1)) // whoever stands for the outside says something
	if n == 0 {
		return errors.Join(errors.New("connected to nobody"), err)
	}
	return nil
}

func send(address string) error {
	c, err := net.DialTimeout("udp", address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

func sendUnix(path string) error {
	c, err := net.DialTimeout("unixgram", path, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

// pairToPath sends from one end of a datagram pair to a socket's path, which
// needs no socket() (trap 8).
func pairToPath(path string, message bool) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	to := &unix.SockaddrUnix{Name: path}
	if message {
		return unix.Sendmsg(fds[0], []byte("x"), nil, to, 0)
	}
	return unix.Sendto(fds[0], []byte("x"), 0, to)
}

// listen serves at an address of the machine's.
func listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = l.Close()
	}
	return err
}
