package policy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// book is a Lookup that knows some names.
type book map[string][]string

func (b book) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("without a bound")
	}
	list, ok := b[host]
	if !ok {
		return nil, fmt.Errorf("lookup %s: no such host", host)
	}
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// pinned is what becomes of one endpoint: its addresses or why it is closed,
// then the reasons of all warnings and problems.
func pinned(t *testing.T, in Input) string {
	t.Helper()
	r := &resolver{in: in, e: Effective{Network: in.Network}}
	r.network()
	e := r.e.Network.Endpoints[0]
	words := []string{e.Closed}
	for _, a := range e.Addresses {
		words = append(words, a.String())
	}
	for _, w := range r.warnings {
		words = append(words, "warning "+w.Reason)
	}
	for _, p := range r.problems {
		words = append(words, "problem "+p.Reason)
	}
	if in.Network.Endpoints[0].Addresses != nil {
		t.Error("the input was changed")
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func restricted(host string, port int) Network {
	return Network{Mode: "restricted", Endpoints: []Endpoint{{Host: host, Port: port, Source: "agent.yaml:9:3"}}}
}

// Covers: S1-172, S1-174, C-48, C-90
func TestNamesArePinned(t *testing.T) {
	names := book{
		"public.example":  {"198.51.100.7", "2001:db8::7", "::ffff:198.51.100.7"},
		"private.example": {"10.1.2.3"}, "shared.example": {"100.64.0.1"}, "unique.example": {"fc00::1"},
		"rebind.example": {"198.51.100.7", "127.0.0.1"},
		"localhost":      {"127.0.0.1", "::1"},
		"meta.example":   {"169.254.169.254"}, "meta6.example": {"fd00:ec2::254"}, "ali.example": {"100.100.100.200"},
		"link.example": {"fe80::1"}, "any.example": {"0.0.0.0"}, "any6.example": {"::"}, "zero.example": {"0.1.2.3"},
		"multi.example": {"224.0.0.1"}, "all.example": {"255.255.255.255"}, "multi6.example": {"ff02::1"},
		"mapped.example": {"::ffff:127.0.0.1"}, "nat64.example": {"64:ff9b::a9fe:a9fe"}, "sixtofour.example": {"2002:7f00:1::"},
		"compat.example": {"::127.0.0.1"}, "nat64public.example": {"64:ff9b::c633:6407"},
		"empty.example": {},
	}
	for host, want := range map[string]string{
		"public.example":  "198.51.100.7 2001:db8::7",
		"private.example": "10.1.2.3 warning endpoint_private", "shared.example": "100.64.0.1 warning endpoint_private",
		"unique.example":      "fc00::1 warning endpoint_private",
		"rebind.example":      "198.51.100.7 warning endpoint_partly_forbidden",
		"nat64public.example": "64:ff9b::c633:6407",
		"gone.example":        "unresolved warning endpoint_unresolved", "empty.example": "unresolved warning endpoint_unresolved",
		"198.51.100.7": "198.51.100.7", "127.0.0.1": "127.0.0.1", "::1": "::1", "10.0.0.1": "10.0.0.1",
		"169.254.169.254": "169.254.169.254 warning endpoint_special",
	} {
		if got := pinned(t, Input{Network: restricted(host, 443), Lookup: names.lookup}); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	for _, host := range []string{
		"localhost", "meta.example", "meta6.example", "ali.example", "link.example", "any.example", "any6.example", "zero.example",
		"multi.example", "all.example", "multi6.example", "mapped.example", "nat64.example", "sixtofour.example", "compat.example",
	} {
		in := Input{Network: restricted(host, 443), Lookup: names.lookup}
		if got := pinned(t, in); got != "forbidden problem endpoint_forbidden" {
			t.Errorf("%s: %s", host, got)
		}
		in.Starting = true
		if got := pinned(t, in); got != "forbidden warning endpoint_forbidden" {
			t.Errorf("%s at a start: %s", host, got)
		}
	}
}

// No name leads to an address of this machine, however it is written; the address
// itself does. Where nobody can tell, no name leads anywhere.
func TestNamesDoNotLeadHere(t *testing.T) {
	names := book{
		"here.example": {"198.51.100.1"}, "here6.example": {"2001:db8::1"}, "both.example": {"198.51.100.1", "198.51.100.7"},
		"mapped.example": {"::ffff:198.51.100.1"}, "nat64.example": {"64:ff9b::c633:6401"}, "else.example": {"198.51.100.7"},
	}
	machine := func() ([]netip.Prefix, error) {
		return []netip.Prefix{netip.MustParsePrefix("198.51.100.0/30"), netip.MustParsePrefix("2001:db8::1/128")}, nil
	}
	for host, want := range map[string]string{
		"here.example": "forbidden problem endpoint_forbidden", "here6.example": "forbidden problem endpoint_forbidden",
		"mapped.example": "forbidden problem endpoint_forbidden", "nat64.example": "forbidden problem endpoint_forbidden",
		"both.example": "198.51.100.7 warning endpoint_partly_forbidden", "else.example": "198.51.100.7",
		"198.51.100.1": "198.51.100.1",
	} {
		if got := pinned(t, Input{Network: restricted(host, 443), Lookup: names.lookup, Machine: machine}); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	unknown := func() ([]netip.Prefix, error) { return nil, errors.New("nobody knows") }
	in := Input{Network: restricted("else.example", 443), Lookup: names.lookup, Machine: unknown}
	if got := pinned(t, in); got != "forbidden problem endpoint_forbidden" {
		t.Error(got)
	}
	own, err := Machine()
	if err != nil || !LeadsTo(own, netip.MustParseAddr("127.0.0.1")) || LeadsTo(own, netip.MustParseAddr("198.51.100.7")) {
		t.Errorf("%v, %v", own, err)
	}
}

// Covers: S1-171, C-47
func TestLocalEndpoints(t *testing.T) {
	n := Network{Mode: "local", Endpoints: []Endpoint{{Port: 5432}}}
	if got := pinned(t, Input{Network: n}); got != "127.0.0.1 ::1" {
		t.Error(got)
	}
}

// Our own listeners are no endpoints, by whatever name; the model's server is
// one only with a warning (C-89).
//
// Covers: C-89
func TestOwnDoors(t *testing.T) {
	own := Own{
		Listeners: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8765"), netip.MustParseAddrPort("[::1]:9")},
		Model:     "127.0.0.1:11434",
	}
	local := func(port int) Network { return Network{Mode: "local", Endpoints: []Endpoint{{Port: port}}} }
	names := book{"model.example": {"198.51.100.9"}}
	for _, tt := range []struct {
		n     Network
		model string
		want  string
	}{
		{local(8765), "", "127.0.0.1 ::1 problem endpoint_own"},
		{local(9), "", "127.0.0.1 ::1 problem endpoint_own"},
		{local(8766), "", "127.0.0.1 ::1"},
		{restricted("127.0.0.1", 8765), "", "127.0.0.1 problem endpoint_own"},
		{restricted("::1", 8765), "", "::1"}, // nothing of ours listens there
		{local(11434), "", "127.0.0.1 ::1 warning endpoint_model"},
		{local(11434), "localhost:11434", "127.0.0.1 ::1 warning endpoint_model"},
		{local(11434), "0.0.0.0:11434", "127.0.0.1 ::1 warning endpoint_model"},
		{restricted("198.51.100.9", 443), "0.0.0.0:443", "198.51.100.9"},
		{restricted("model.example", 443), "model.example:443", "198.51.100.9 warning endpoint_model"},
		{restricted("198.51.100.9", 443), "198.51.100.9:443", "198.51.100.9 warning endpoint_model"},
		{restricted("model.example", 443), "other.example:443", "198.51.100.9"},
	} {
		o := own
		if tt.model != "" {
			o.Model = tt.model
		}
		if got := pinned(t, Input{Network: tt.n, Own: o, Lookup: names.lookup}); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.n.Endpoints, got, tt.want)
		}
	}
}

// What a name leads to may change from start to start; what is listed may not
// (C-90).
//
// Covers: C-90
func TestPinnedAddressesAreNoDifference(t *testing.T) {
	at := func(address string, port int) Snapshot {
		n := restricted("a.example", port)
		n.Endpoints[0].Addresses = []netip.Addr{netip.MustParseAddr(address)}
		return Snapshot{Effective: Effective{Network: n}}
	}
	applied := at("198.51.100.7", 443)
	if diff := Compare(at("198.51.100.8", 443), applied); diff != nil {
		t.Error(diff)
	}
	want := []Difference{{"limit", "endpoint a.example:443", "listed", ""}, {"limit", "endpoint a.example:80", "", "listed"}}
	if diff := cmp.Diff(want, Compare(at("198.51.100.7", 80), applied)); diff != "" {
		t.Error(diff)
	}
}

func TestManyNamesAreAskedOnce(t *testing.T) {
	asked := make(chan string, 64)
	n := Network{Mode: "restricted"}
	for port := range 40 {
		n.Endpoints = append(n.Endpoints, Endpoint{Host: "a.example", Port: port + 1})
	}
	r := &resolver{e: Effective{Network: n}, in: Input{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		asked <- host
		return slices.Repeat([]netip.Addr{netip.MustParseAddr("198.51.100.7")}, 3), nil
	}}}
	r.network()
	if len(asked) != 1 || len(r.e.Network.Endpoints[39].Addresses) != 1 {
		t.Errorf("asked %d times: %v", len(asked), r.e.Network.Endpoints[39])
	}
}
