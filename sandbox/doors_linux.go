package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/relay"
)

// hostIPv6 reports whether this host has any IPv6 address.
func hostIPv6() bool {
	text, err := os.ReadFile("/proc/net/if_inet6")
	return err == nil && len(bytes.TrimSpace(text)) > 0
}

// openDoors takes the Worker's listeners and serves each as the policy says;
// what a descriptor is, and which endpoint it stands for, is looked up here and
// not asked.
func (s *Sandbox) openDoors() error {
	if s.doors == nil {
		return nil
	}
	defer s.doors.Close()
	if err := s.doors.SetReadDeadline(time.Now().Add(startBound)); err != nil {
		return err
	}
	want := make(map[netip.AddrPort]door, len(s.network.doors))
	for _, d := range s.network.doors {
		want[d.at] = d
	}
	for len(want) > 0 {
		listeners, err := receiveListeners(s.doors)
		for i, l := range listeners {
			at := l.Addr().(*net.TCPAddr).AddrPort()
			at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
			d, ok := want[at]
			if !ok {
				err = fmt.Errorf("the Worker sent a listener at %s, which is no endpoint or was sent before", at)
			}
			if err != nil {
				closeAll(listeners[i:])
				return err
			}
			delete(want, at)
			s.relay.Serve(l, d.target())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d door) target() relay.Target {
	t := relay.Target{Host: d.host}
	for _, a := range d.dial {
		t.Addresses = append(t.Addresses, netip.AddrPortFrom(a, d.at.Port()))
	}
	return t
}

// refuses reports whether a must not be dialled, whatever the policy says: it is
// ours, or it has become one of this machine's, to which host, a name, may not
// lead. Where that cannot be told, it may not be either.
func (o *Options) refuses(host string, a netip.AddrPort) bool {
	if o.Refuse != nil && o.Refuse(a) {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return false
	}
	machine := o.Machine
	if machine == nil {
		machine = policy.Machine
	}
	own, err := machine()
	return err != nil || policy.LeadsTo(own, a.Addr())
}

func closeAll(listeners []*net.TCPListener) {
	for _, l := range listeners {
		l.Close()
	}
}

// receiveListeners reads one message of descriptors, every one a listening TCP
// socket, or an error with none.
func receiveListeners(c *net.UnixConn) (_ []*net.TCPListener, err error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*(doorsAtOnce+1)))
	n, nrights, flags, _, err := c.ReadMsgUnix(data, rights) // close-on-exec
	if err != nil {
		return nil, fmt.Errorf("listeners of the Worker: %w", err)
	}
	fds, err := parseRights(rights[:nrights])
	var out []*net.TCPListener
	for _, fd := range fds {
		l, err2 := asListener(fd)
		if err2 != nil {
			err = err2
			continue
		}
		out = append(out, l)
	}
	switch {
	case err != nil:
	case flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0:
		err = errors.New("listeners of the Worker: more than agreed")
	case n == 0 || len(out) == 0:
		err = errors.New("listeners of the Worker: some are missing")
	}
	if err != nil {
		closeAll(out)
		return nil, err
	}
	return out, nil
}

func parseRights(raw []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(raw)
	if err != nil {
		return nil, fmt.Errorf("listeners of the Worker: %w", err)
	}
	for _, m := range messages {
		some, err2 := unix.ParseUnixRights(&m)
		if err2 != nil {
			err = fmt.Errorf("listeners of the Worker: %w", err2)
		}
		fds = append(fds, some...)
	}
	return fds, err
}

// asListener takes fd over when it is a TCP socket that accepts, and closes it
// when it is anything else.
func asListener(fd int) (*net.TCPListener, error) {
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	option := func(which int) int {
		v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, which)
		if err != nil {
			return -1
		}
		return v
	}
	domain := option(unix.SO_DOMAIN)
	if (domain != unix.AF_INET && domain != unix.AF_INET6) || option(unix.SO_TYPE) != unix.SOCK_STREAM ||
		option(unix.SO_PROTOCOL) != unix.IPPROTO_TCP || option(unix.SO_ACCEPTCONN) != 1 {
		return nil, errors.New("the Worker sent a descriptor that is no listener")
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("listener of the Worker: %w", err)
	}
	t, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, errors.New("the Worker sent a listener that is not TCP's")
	}
	return t, nil
}

// networkState says how fully the network is as the policy wants it, and whether
// all that it refuses is heard of.
func (s *Sandbox) networkState() []Mechanism {
	detail := "no device up"
	if s.relay != nil {
		detail = fmt.Sprintf("addresses and ports: %d", len(s.network.doors))
		if !s.ipv6 {
			detail += ", no IPv6"
		}
	}
	var deaf []string
	kinds := []string{unwatchedSockets, unwatchedConnections}
	for _, kind := range kinds { // in our words, not the Worker's
		if slices.Contains(s.standing.Unwatched, kind) {
			deaf = append(deaf, kind)
		}
	}
	heard := Mechanism{Name: "network notices", Full: len(s.standing.Unwatched) == 0, Detail: strings.Join(kinds, ", ")}
	if !heard.Full {
		heard.Detail = strings.Join(deaf, ", ")
	}
	return []Mechanism{{Name: "network", Full: true, Detail: detail}, heard}
}
