package config

import (
	"net/netip"
	"strings"

	"sunaba/fault"
)

// maxEndpoints bounds the list of endpoints: each has listeners in every Task.
const maxEndpoints = 256

func (d *decoder) network(n *Network, o *object) {
	mode, endpoints := o.at("mode"), o.at("endpoints")
	n.Mode = mode.word("none", "none", "local", "restricted")
	seen := make(map[Endpoint]bool)
	for i, c := range endpoints.items() {
		e := c.object()
		end := Endpoint{Host: e.at("host").host(n.Mode)}
		e.at("port").required(func(c cursor) string { end.Port = c.count(0, 1, 65535); return "" })
		e.done()
		n.Endpoints = append(n.Endpoints, end)
		switch {
		case i == maxEndpoints:
			c.problem(fault.ConfigValue, "endpoints_many", "limit", "256")
		case seen[end] && end.Port > 0:
			c.problem(fault.ConfigValue, "endpoint_twice")
		}
		seen[end] = true
	}
	switch { // S1-173
	case n.Mode == "none" && len(n.Endpoints) > 0:
		endpoints.problem(fault.ConfigValue, "endpoints_without_mode")
	case n.Mode != "none" && len(n.Endpoints) == 0 && !endpoints.broken:
		mode.problem(fault.ConfigValue, "endpoints_missing", "value", n.Mode)
	}
	n.UnixSockets = o.at("unix_sockets").word("none", "none", "own")
	o.done()
}

// host reads an endpoint's host: a name, in lower case and without a dot at
// its end, or an address in its shortest form. Mode local has none, and in mode
// none the list itself is the problem.
func (c cursor) host(mode string) string {
	if mode == "local" && c.given() {
		c.problem(fault.ConfigValue, "endpoint_local")
		return ""
	}
	host := c.line("")
	switch {
	case mode == "local", c.broken:
		return ""
	case host == "":
		if mode == "restricted" {
			c.problem(fault.ConfigValue, "endpoint_restricted")
		}
		return ""
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		if a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) ||
			(a.Is6() && a.IsLinkLocalUnicast()) {
			c.problem(fault.ConfigValue, "endpoint_address", "value", host)
		}
		return a.String()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if !isHostName(name) {
		c.problem(fault.ConfigValue, "endpoint_host", "value", host)
	}
	return name
}

// isHostName reports whether name is one a hosts file may hold, and no
// address in one of the old notations that systems read differently: its last
// label begins with a letter.
func isHostName(name string) bool {
	const longest, longestLabel = 253, 63
	if name == "" || len(name) > longest {
		return false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > longestLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, b := range []byte(label) {
			if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '_' {
				return false
			}
		}
	}
	first := labels[len(labels)-1][0]
	return 'a' <= first && first <= 'z'
}
