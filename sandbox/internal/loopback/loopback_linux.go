// Package loopback sets up the only device of a Task's network namespace.
//
// The one rule to keep in mind: it acts on the namespace it runs in; call it
// only where that is a fresh one.
package loopback

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// index is lo's in every namespace: it is the first device there.
const index = 1

// Device is a way to change lo. It must be closed.
type Device struct{ fd int }

// Open needs CAP_NET_ADMIN over the namespace for all that the Device does.
func Open() (*Device, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("loopback: open: %w", err)
	}
	return &Device{fd}, nil
}

// Close gives the socket back; lo stays as it is.
func (d *Device) Close() error { return unix.Close(d.fd) }

// Up switches lo on, with 127.0.0.1/8 and, where the host has IPv6, ::1.
func (d *Device) Up() error {
	head := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(head[4:], index)
	binary.NativeEndian.PutUint32(head[8:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(head[12:], unix.IFF_UP)
	return d.do("up", unix.RTM_NEWLINK, 0, head)
}

// Add gives lo one more address.
func (d *Device) Add(a netip.Addr) error {
	family, raw := parts(a)
	head := []byte{family, byte(len(raw) * 8), unix.IFA_F_PERMANENT | unix.IFA_F_NODAD, unix.RT_SCOPE_HOST}
	head = binary.NativeEndian.AppendUint32(head, index)
	return d.do("add "+a.String(), unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, head,
		attribute{unix.IFA_LOCAL, raw}, attribute{unix.IFA_ADDRESS, raw})
}

// Everywhere makes every address of a's family one of lo's, so that whatever is
// tried is answered at once, and seen.
func (d *Device) Everywhere(a netip.Addr) error {
	family, _ := parts(a)
	head := make([]byte, unix.SizeofRtMsg)
	head[0] = family
	head[4] = unix.RT_TABLE_LOCAL
	head[5] = unix.RTPROT_STATIC
	head[6] = unix.RT_SCOPE_HOST
	head[7] = unix.RTN_LOCAL
	return d.do("route everything", unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, head,
		attribute{unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, index)})
}

func parts(a netip.Addr) (family byte, raw []byte) {
	if a.Is4() {
		return unix.AF_INET, a.AsSlice()
	}
	return unix.AF_INET6, a.AsSlice()
}

type attribute struct {
	kind  uint16
	value []byte
}

// do sends one request and reads its acknowledgement, which the kernel has
// ready when the request returns.
func (d *Device) do(what string, kind, flags uint16, head []byte, attributes ...attribute) error {
	body := head
	for _, a := range attributes {
		body = binary.NativeEndian.AppendUint16(body, uint16(unix.SizeofRtAttr+len(a.value)))
		body = binary.NativeEndian.AppendUint16(body, a.kind)
		body = append(body, a.value...) // all of ours are multiples of four bytes
	}
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...) // sequence and sender: one request at a time
	if err := unix.Sendto(d.fd, append(m, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("loopback: %s: %w", what, err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(d.fd, answer, 0)
	if err != nil {
		return fmt.Errorf("loopback: %s: %w", what, err)
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("loopback: %s: an answer of %d bytes that is none", what, n)
	}
	if errno := -int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
		return fmt.Errorf("loopback: %s: %w", what, unix.Errno(errno))
	}
	return nil
}
