package sandbox

import (
	"fmt"
	"net/netip"
	"strings"

	"sunaba/fault"
	"sunaba/policy"
)

// maxDoors bounds how many addresses and ports one Task has.
const maxDoors = 512

// network is what the network part of a policy means inside: the same for the
// Worker, which makes it, and the broker, which serves it. It is computed from
// the policy alone, without I/O.
type network struct {
	doors []door
	// literal are the addresses that lo needs besides its own.
	literal []netip.Addr
	names   []nameLine
}

// door is one address and port inside at which the broker takes connections.
type door struct {
	at   netip.AddrPort
	host string       // as configured; "" in mode local
	dial []netip.Addr // on the host's side, in this order
}

// nameLine is one line of /etc/hosts.
type nameLine struct {
	at   netip.Addr
	name string
	host string // the name as configured
}

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
)

// newNetwork compiles n. Closed endpoints have no door, but their names are
// known, so that what is attempted is seen. Without ipv6 there are no doors at
// IPv6 addresses: the host could not reach what is behind them either.
func newNetwork(n policy.Network, ipv6 bool) network {
	var out network
	taken := make(map[netip.AddrPort]bool)
	named := make(map[string]netip.Addr)
	open := func(e policy.Endpoint, at netip.Addr, dial []netip.Addr) {
		p := netip.AddrPortFrom(at, uint16(e.Port))
		if e.Closed != "" || len(dial) == 0 || taken[p] || (at.Is6() && !ipv6) {
			return
		}
		taken[p] = true
		out.doors = append(out.doors, door{at: p, host: e.Host, dial: dial})
	}
	for _, e := range n.Endpoints {
		literal, err := netip.ParseAddr(e.Host)
		switch name := hostName(e.Host); {
		case n.Mode == "local":
			open(e, loopback4, firstOf(loopback4, e.Addresses))
			open(e, loopback6, firstOf(loopback6, e.Addresses))
		case n.Mode != "restricted":
		case err == nil:
			literal = literal.Unmap()
			if !literal.IsLoopback() && (literal.Is4() || ipv6) {
				out.add(literal)
			}
			open(e, literal, e.Addresses)
		case name == "localhost": // which has addresses already
			open(e, loopback4, firstOf(loopback4, e.Addresses))
			open(e, loopback6, firstOf(loopback6, e.Addresses))
		default:
			at, ok := named[name]
			if !ok {
				at = nameAddress(len(named))
				named[name] = at
				out.names = append(out.names, nameLine{at, name, e.Host})
			}
			open(e, at, e.Addresses)
		}
	}
	return out
}

func (n *network) add(a netip.Addr) {
	for _, have := range n.literal {
		if have == a {
			return
		}
	}
	n.literal = append(n.literal, a)
}

// nameAddress is the address inside of the i-th named host.
func nameAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 77, byte(i / 250), byte(i%250 + 1)})
}

// firstOf returns all with a in front, where it is one of them: a program that
// tries one family of addresses after the other shall not stop at a connection
// to the wrong one.
func firstOf(a netip.Addr, all []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(all))
	for _, x := range all {
		if x == a {
			out = append([]netip.Addr{x}, out...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func hostName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// hosts is the content of /etc/hosts.
func (n network) hosts() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost sandbox\n::1 localhost\n")
	for _, l := range n.names {
		fmt.Fprintf(&b, "%s %s\n", l.at, l.name)
	}
	return b.String()
}

// hostOf returns the configured name behind an address inside; "" where there
// is none.
func (n network) hostOf(a netip.AddrPort) string {
	for _, l := range n.names {
		if l.at == a.Addr() {
			return l.host
		}
	}
	for _, d := range n.doors {
		if d.at == a {
			return d.host
		}
	}
	return ""
}

// checkNetwork reports what of n cannot be enforced.
func checkNetwork(n policy.Network) error {
	refuse := func(what, source string) error {
		return fault.New(fault.PlatformUnsupported, "sandbox", "what", what, "source", source, "path", "")
	}
	switch n.UnixSockets {
	case "", "none", "own":
	default:
		return refuse("sandbox.network.unix_sockets: "+n.UnixSockets, "")
	}
	switch n.Mode {
	case "none":
		return nil
	case "local", "restricted":
	default:
		return refuse("sandbox.network.mode: "+n.Mode, "")
	}
	for _, e := range n.Endpoints {
		if e.Port < 1 || e.Port > 0xffff {
			return refuse(fmt.Sprintf("port %d", e.Port), e.Source)
		}
		if !endpointHost(n.Mode, e) {
			return refuse(fmt.Sprintf("sandbox.network.mode: %s, host %q", n.Mode, e.Host), e.Source)
		}
	}
	if doors := len(newNetwork(n, true).doors); doors > maxDoors {
		return refuse(fmt.Sprintf("%d network endpoints, more than %d", doors, maxDoors), n.Endpoints[len(n.Endpoints)-1].Source)
	}
	return nil
}

// oneAddress reports whether a is an address that a device may have and that
// means the same everywhere on this machine.
func oneAddress(a netip.Addr) bool {
	a, broadcast := a.Unmap(), netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if a.Is4() {
		return a.As4()[0] != 0 && !a.IsMulticast() && a != broadcast
	}
	return a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// endpointHost reports whether an endpoint's host is one for its mode.
func endpointHost(mode string, e policy.Endpoint) bool {
	if mode == "local" {
		for _, a := range e.Addresses {
			if a != loopback4 && a != loopback6 {
				return false
			}
		}
		return e.Host == ""
	}
	if a, err := netip.ParseAddr(e.Host); err == nil {
		return oneAddress(a)
	}
	name := hostName(e.Host)
	if name == "" || len(name) > 253 {
		return false
	}
	for _, c := range []byte(name) { // it becomes a line of a file
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}
