package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// little is read at once while a connection is used for questions and
	// answers: it costs less than a pipe. Who fills it has more to say.
	little = 32 << 10
	// pipeBytes is the size of a pipe, which counts its places as full pages; a
	// place holds up to 32 KiB of what comes over loopback, so that atOnce is
	// more. Fewer and larger portions are what makes the relay fast: each costs
	// two wake-ups.
	pipeBytes = 1 << 20
	atOnce    = 4 << 20
)

var buffers = sync.Pool{New: func() any { return new([little]byte) }}

// stream copies from one connection to the other until the first ends.
func stream(to, from *net.TCPConn) error {
	if more, err := exchange(to, from); err != nil || !more {
		return err
	}
	return through(to, from)
}

// exchange copies small portions; it returns true at the first large one.
func exchange(to, from *net.TCPConn) (more bool, err error) {
	buffer := buffers.Get().(*[little]byte)
	defer buffers.Put(buffer)
	for {
		n, err := from.Read(buffer[:])
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return false, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case n == little:
			return true, nil
		}
	}
}

// through lets the kernel pass the bytes on by reference.
func through(to, from *net.TCPConn) error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		_, err := io.Copy(to, from) // short of descriptors: slower
		return err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	_, _ = unix.FcntlInt(uintptr(pipe[0]), unix.F_SETPIPE_SZ, pipeBytes) // a smaller one does as well
	in, err := from.SyscallConn()
	if err != nil {
		return err
	}
	out, err := to.SyscallConn()
	if err != nil {
		return err
	}
	for {
		n, err := splice(in.Read, func(fd int) (int64, error) {
			return unix.Splice(fd, nil, pipe[1], nil, atOnce, unix.SPLICE_F_NONBLOCK)
		})
		if err != nil || n == 0 {
			return err
		}
		for n > 0 {
			k, err := splice(out.Write, func(fd int) (int64, error) {
				return unix.Splice(pipe[0], nil, fd, nil, int(n), unix.SPLICE_F_NONBLOCK)
			})
			if err != nil {
				return err
			}
			if k == 0 {
				return io.ErrNoProgress
			}
			n -= k
		}
	}
}

// splice does act when the connection that wait belongs to is ready for it.
func splice(wait func(func(fd uintptr) bool) error, act func(fd int) (int64, error)) (n int64, err error) {
	closed := wait(func(fd uintptr) bool {
		for {
			if n, err = act(int(fd)); !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	return n, errors.Join(err, closed)
}
