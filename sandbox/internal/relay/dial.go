package relay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// minDial is what an address gets of ConnectBound at least, while there is any.
const minDial = 2 * time.Second

// dial tries t's addresses in order.
func (r *Relay) dial(t Target) (*net.TCPConn, Event) {
	e := Event{Target: t, Failed: Unreachable}
	ctx, cancel := context.WithTimeout(r.ctx, ConnectBound)
	defer cancel()
	for i, a := range t.Addresses {
		e.Address = a
		if r.options.Refuse != nil && r.options.Refuse(t.Host, a) {
			e.Failed = Own
			continue
		}
		c, err := dialOne(ctx, a, len(t.Addresses)-i)
		if err == nil {
			e.Failed = ""
			return c, e
		}
		e.Failed = why(err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, e
}

// dialOne gives a its share of what is left of ctx, of which left addresses
// will want some.
func dialOne(ctx context.Context, a netip.AddrPort, left int) (*net.TCPConn, error) {
	deadline, _ := ctx.Deadline()
	share := max(time.Until(deadline)/time.Duration(left), minDial)
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	var d net.Dialer
	d.SetMultipathTCP(false)
	if a.Addr().IsLoopback() {
		d.Control = unpaced
		d.KeepAlive = -1 // whose process ends is known at once
	}
	c, err := d.DialContext(ctx, "tcp", a.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

func why(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return Timeout
	}
	return Unreachable
}
