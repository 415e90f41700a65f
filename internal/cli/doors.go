package cli

import (
	"net/netip"
	"net/url"
	"slices"
	"sync"
)

// doors are the addresses at which this process listens. Its methods may be
// called from several goroutines.
type doors struct {
	mu   sync.Mutex
	open []netip.AddrPort
}

// add takes in the endpoints of the server: http://address:port/path.
func (d *doors) add(endpoints []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range endpoints {
		if u, err := url.Parse(e); err == nil {
			if a, err := netip.ParseAddrPort(u.Host); err == nil {
				d.open = append(d.open, a)
			}
		}
	}
}

// has reports whether a is one of ours (C-89).
func (d *doors) has(a netip.AddrPort) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.open, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
}
