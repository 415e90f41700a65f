package policy

import (
	"net"
	"net/netip"
	"slices"
)

// Machine returns the addresses at which this machine answers: those of its
// network devices and what else its kernel delivers to itself.
func Machine() ([]netip.Prefix, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	out, err := localRoutes()
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			return nil, err
		}
		at := prefix.Addr().Unmap().WithZone("")
		out = append(out, netip.PrefixFrom(at, at.BitLen()))
	}
	return out, nil
}

// LeadsTo reports whether a is, or carries for a translator on the way, one of
// the addresses of machine.
func LeadsTo(machine []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if inner, ok := embedded(a); ok {
		a = inner
	}
	return slices.ContainsFunc(machine, func(p netip.Prefix) bool { return p.Contains(a) })
}
