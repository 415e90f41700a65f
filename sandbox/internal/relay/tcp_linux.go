package relay

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// idle is how long nothing has come from either side.
func (j *joint) idle() time.Duration { return min(silent(j.inner), silent(j.outer)) }

// silent is how long nothing has come from c's peer; 0 where that is not known.
func silent(c *net.TCPConn) (d time.Duration) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			d = time.Duration(info.Last_data_recv) * time.Millisecond
		}
	})
	return d
}

// unpaced chooses, for a connection that does not leave this machine, a
// congestion control that does not pace: BBR halves what goes through.
func unpaced(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") // it works without
	})
}
