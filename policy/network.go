package policy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sunaba/fault"
)

// Lookup returns the addresses of a host name. It is called from several
// goroutines and ends with ctx.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// lookupBound is how long all names together may take.
const lookupBound = 5 * time.Second

// maxAddresses is how many addresses of one name are pinned.
const maxAddresses = 16

// Why an Endpoint is closed: locale key "view.closed." + one of these.
const (
	ClosedUnresolved = "unresolved" // its name has no address
	ClosedForbidden  = "forbidden"  // its name leads only where a name may not lead
)

// network pins what the endpoints lead to (C-90) and keeps them off our own
// doors (C-89).
func (r *resolver) network() {
	n := &r.e.Network
	n.Endpoints = slices.Clone(n.Endpoints)
	switch n.Mode {
	case "local":
		for i := range n.Endpoints {
			n.Endpoints[i].Addresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
		}
	case "restricted":
		r.pin(n.Endpoints)
	}
	for i := range n.Endpoints {
		r.ownDoors(&n.Endpoints[i])
	}
}

// pin fills in the addresses of every endpoint; all names are asked for at
// once.
func (r *resolver) pin(endpoints []Endpoint) {
	lookup := r.in.Lookup
	if lookup == nil {
		lookup = systemLookup
	}
	type answer struct {
		addresses []netip.Addr
		err       error
	}
	answers := make(map[string]*answer)
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), lookupBound)
	defer cancel()
	for _, e := range endpoints {
		if _, literal := literalAddress(e.Host); literal || answers[e.Host] != nil {
			continue
		}
		a := new(answer)
		answers[e.Host] = a
		all.Go(func() { a.addresses, a.err = lookup(ctx, e.Host) })
	}
	all.Wait()
	machine := r.in.Machine
	if machine == nil {
		machine = Machine
	}
	own, unknown := machine()
	here := func(a netip.Addr) bool { return unknown != nil || LeadsTo(own, a) }
	for i := range endpoints {
		e := &endpoints[i]
		if a, ok := literalAddress(e.Host); ok {
			e.Addresses = []netip.Addr{a}
			if what := special(a); what != "" && what != "loopback" {
				r.warn(fault.PolicyEndpoint, "endpoint_special", e.Source, "endpoint", e.Name(), "kind", what)
			}
			continue
		}
		if a := answers[e.Host]; a.err != nil || len(a.addresses) == 0 {
			e.Closed = ClosedUnresolved
			r.warn(fault.PolicyEndpoint, "endpoint_unresolved", e.Source, "endpoint", e.Name())
		} else {
			r.judge(e, a.addresses, here)
		}
	}
}

// judge takes over those of the addresses of a name that a name may lead to: none
// that is special, and none of this machine.
func (r *resolver) judge(e *Endpoint, addresses []netip.Addr, here func(netip.Addr) bool) {
	var forbidden, private []string
	for _, a := range addresses {
		a = a.Unmap().WithZone("")
		what := special(a)
		switch {
		case what != "" || here(a):
			forbidden = append(forbidden, a.String())
			continue
		case slices.Contains(e.Addresses, a) || len(e.Addresses) == maxAddresses:
			continue
		case isPrivate(a):
			private = append(private, a.String())
		}
		e.Addresses = append(e.Addresses, a)
	}
	facts := func(list []string) []string {
		return []string{"endpoint", e.Name(), "addresses", strings.Join(list, ", ")}
	}
	switch {
	case len(forbidden) > 0 && len(e.Addresses) > 0:
		r.warn(fault.PolicyEndpoint, "endpoint_partly_forbidden", e.Source, facts(forbidden)...)
	case len(forbidden) > 0:
		e.Closed = ClosedForbidden
		if r.in.Starting {
			r.warn(fault.PolicyEndpoint, "endpoint_forbidden", e.Source, facts(forbidden)...)
		} else {
			r.problem(fault.PolicyEndpoint, "endpoint_forbidden", e.Source, facts(forbidden)...)
		}
	}
	if len(private) > 0 {
		r.warn(fault.PolicyEndpoint, "endpoint_private", e.Source, facts(private)...)
	}
}

// ownDoors refuses an endpoint that is a listener of ours and warns of the
// model's: whoever reaches that can ask it anything.
func (r *resolver) ownDoors(e *Endpoint) {
	for _, a := range e.Addresses {
		if at := netip.AddrPortFrom(a, uint16(e.Port)); slices.Contains(r.in.Own.Listeners, at) {
			r.problem(fault.PolicyEndpoint, "endpoint_own", e.Source, "endpoint", e.Name(), "address", at.String())
			return
		}
	}
	host, port, err := net.SplitHostPort(r.in.Own.Model)
	if err != nil || port != strconv.Itoa(e.Port) {
		return
	}
	same := strings.EqualFold(host, e.Host)
	if a, ok := literalAddress(host); ok {
		same = same || slices.Contains(e.Addresses, a) || // 0.0.0.0 leads to this machine
			a.IsUnspecified() && slices.ContainsFunc(e.Addresses, netip.Addr.IsLoopback)
	} else if strings.EqualFold(host, "localhost") {
		same = same || slices.ContainsFunc(e.Addresses, netip.Addr.IsLoopback)
	}
	if same {
		r.warn(fault.PolicyEndpoint, "endpoint_model", e.Source, "endpoint", e.Name())
	}
}

// Name is the endpoint as a person writes it: host:port, or :port in mode local.
func (e Endpoint) Name() string {
	if e.Host == "" {
		return fmt.Sprintf(":%d", e.Port)
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
}

func literalAddress(host string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(host)
	return a.Unmap(), err == nil
}

// special says what is particular about an address to which a name may not
// lead, "" for any other one. An IPv4 address in an IPv6 one counts as itself.
func special(a netip.Addr) string {
	if inner, ok := embedded(a); ok {
		a = inner
	}
	switch {
	case a.IsUnspecified() || network4(0, 8).Contains(a):
		return "unspecified"
	case a.IsLoopback():
		return "loopback"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case slices.Contains(metadata(), a):
		return "metadata"
	case a.IsMulticast() || network4(240, 4).Contains(a): // reserved and broadcast too
		return "multicast"
	}
	return ""
}

func network4(first byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{first}), bits)
}

// metadata are the addresses at which clouds tell a machine its secrets, other
// than link-local ones.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("fd00:42::42"),
		netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("168.63.129.16"),
	}
}

// embedded returns the IPv4 address that an IPv6 address carries for a
// translator on the way: NAT64, 6to4, and the old compatible form.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	raw := a.As16()
	four := func(at int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(raw[at : at+4])), true }
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("64:ff9b:1::/48").Contains(a):
		return four(12)
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return four(2)
	case netip.MustParsePrefix("::/96").Contains(a) && !a.IsUnspecified() && !a.IsLoopback():
		return four(12)
	}
	return a, false
}

// isPrivate reports whether a is of somebody's own network.
func isPrivate(a netip.Addr) bool {
	if inner, ok := embedded(a); ok {
		a = inner
	}
	return a.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
