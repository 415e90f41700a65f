package config

import (
	"fmt"
	"slices"
	"testing"
)

// A host is one plain name or one address (S1-175); what a program could read
// as something else is refused with its place.
// Covers: S1-169, S1-172, S1-175
func TestEndpointHosts(t *testing.T) {
	load := func(t *testing.T, host string) (Network, []string) {
		file := fmt.Sprintf("schema_version: 2\nsandbox:\n  workspace: {root: p}\n  network: {mode: restricted, endpoints: [{host: %q, port: 443}]}\n", host)
		if list := problems(t, file); list != nil {
			return Network{}, list
		}
		return mustLoad(t, file, "").Sandbox.Network, nil
	}
	for host, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com.": "example.com", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"db": "db", "_srv.example": "_srv.example", "a1.b2": "a1.b2",
		"192.0.2.7": "192.0.2.7", "127.0.0.1": "127.0.0.1", "169.254.169.254": "169.254.169.254",
		"::1": "::1", "2001:DB8:0::1": "2001:db8::1", "::ffff:192.0.2.7": "192.0.2.7",
	} {
		n, list := load(t, host)
		if list != nil || len(n.Endpoints) != 1 || n.Endpoints[0] != (Endpoint{want, 443}) {
			t.Errorf("%q: %+v %q", host, n.Endpoints, list)
		}
	}
	for host, why := range map[string]string{
		"*.example.com": "host", "*": "host", "http://example.com": "host", "example.com:443": "host", "example.com/x": "host",
		"[::1]": "host", "10.0.0.0/8": "host", "1.2.3": "host", "2130706433": "host", "0x7f.1": "host", "127.0.0.01": "host",
		"bücher.example": "host", "a..b": "host", "-a.example": "host", "a b": "host", ".": "host",
		"0.0.0.0": "address", "::": "address", "224.0.0.1": "address", "ff02::1": "address", "255.255.255.255": "address",
		"fe80::1": "address", "fe80::1%eth0": "address", "::ffff:0.0.0.0": "address",
		"": "restricted",
	} {
		_, list := load(t, host)
		if !slices.Equal(list, []string{"4:50 sandbox.network.endpoints[0].host config.value/endpoint_" + why}) {
			t.Errorf("%q: %q", host, list)
		}
	}
}

// Covers: S1-170, S1-171
func TestNetworkModes(t *testing.T) {
	for text, want := range map[string]Network{
		"{}":           {Mode: "none", UnixSockets: "none"},
		"{mode: none}": {Mode: "none", UnixSockets: "none"},
		"{mode: local, endpoints: [{port: 5432}, {port: 1}]}": {Mode: "local", UnixSockets: "none", Endpoints: []Endpoint{{"", 5432}, {"", 1}}},
		"{unix_sockets: own}": {Mode: "none", UnixSockets: "own"},
		"{mode: restricted, endpoints: [{host: a, port: 80}]}": {Mode: "restricted", UnixSockets: "none", Endpoints: []Endpoint{{"a", 80}}},
	} {
		n := mustLoad(t, "schema_version: 2\nsandbox:\n  workspace: {root: p}\n  network: "+text+"\n", "").Sandbox.Network
		if n.Mode != want.Mode || n.UnixSockets != want.UnixSockets || !slices.Equal(n.Endpoints, want.Endpoints) {
			t.Errorf("%s: %+v", text, n)
		}
	}
}
