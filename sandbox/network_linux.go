package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/loopback"
)

const (
	// backlog is how many connections may wait at a door.
	backlog = 256
	// doorsAtOnce is how many listeners travel in one message: the kernel
	// carries no more than 253 descriptors.
	doorsAtOnce = 200
)

// open makes the Task's network in the fresh namespace and hands its listeners
// to the broker. It needs capabilities that are gone when the set-up ends.
func (n network) open(s *setup, r *reporter) error {
	if s.Policy.Network.Mode == "none" {
		return nil // the loopback stays down
	}
	lo, err := loopback.Open()
	if err != nil {
		return err
	}
	defer lo.Close()
	if err := lo.Up(); err != nil {
		return err
	}
	// Nothing here is far away: BBR, where the host uses it, would only slow the
	// relay down. It works without this.
	_ = os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte("reno"), 0)
	for _, a := range n.literal {
		if err := lo.Add(a); err != nil {
			return err
		}
	}
	families := []netip.Addr{netip.IPv4Unspecified()}
	if s.IPv6 {
		families = append(families, netip.IPv6Unspecified())
	}
	r.watchResets(s.IPv6)
	for _, f := range families {
		if lo.Everywhere(f) != nil { // then there is no way to such addresses, and no reset
			r.blind()
		}
	}
	return n.handOver()
}

// handOver opens a listener for every door and gives them away.
func (n network) handOver() (err error) {
	defer unix.Close(workerDoors)
	for some := range slices.Chunk(n.doors, doorsAtOnce) {
		var fds []int
		for _, d := range some {
			fd, err2 := listen(d.at)
			if err2 != nil {
				err = fmt.Errorf("listen at %s: %w", d.at, err2)
				break
			}
			fds = append(fds, fd)
		}
		if err == nil {
			err = unix.Sendmsg(workerDoors, []byte{0}, unix.UnixRights(fds...), nil, 0)
		}
		for _, fd := range fds {
			err = errors.Join(err, unix.Close(fd))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func listen(at netip.AddrPort) (int, error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()})
	if at.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
