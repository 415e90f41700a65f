package relay

import (
	"net"
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
