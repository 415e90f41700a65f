package resets

import (
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"
)

// packets of TCP as they come over loopback: IP head, ports, sequence number,
// acknowledgement, offset and flags.
func packet4(flags byte, sequence byte, options int) []byte {
	p := make([]byte, 20+4*options+20)
	p[0] = 0x45 + byte(options)
	p[9] = 6
	copy(p[12:], []byte{10, 1, 2, 3})
	tcp := p[20+4*options:]
	copy(tcp, []byte{0x1f, 0x90, 0xc0, 0x01})
	tcp[7] = sequence
	tcp[13] = flags
	return p
}

func packet6(flags byte, sequence byte) []byte {
	p := make([]byte, 60)
	p[0], p[6] = 0x60, 6
	copy(p[8:], netip.MustParseAddr("2001:db8::5").AsSlice())
	copy(p[40:], []byte{0x1f, 0x90, 0xc0, 0x01})
	p[47], p[53] = sequence, flags
	return p
}

// TestFilters: of all packets the kernel hands over only resets that answer an
// attempt, and these name what was attempted.
func TestFilters(t *testing.T) {
	udp := packet4(flags, 0, 0)
	udp[9] = 17
	for name, c := range map[string]struct {
		f      family
		packet []byte
		want   string
	}{
		"answered":               {ipv4, packet4(flags, 0, 0), "10.1.2.3:8080"},
		"answered, with options": {ipv4, packet4(flags, 0, 3), "10.1.2.3:8080"},
		"established":            {ipv4, packet4(0x12, 0, 0), ""},
		"attempt":                {ipv4, packet4(0x02, 0, 0), ""},
		"reset of a connection":  {ipv4, packet4(flags, 9, 0), ""},
		"reset without ACK":      {ipv4, packet4(0x04, 0, 0), ""},
		"no TCP":                 {ipv4, udp, ""},
		"IPv6":                   {ipv6, packet6(flags, 0), "[2001:db8::5]:8080"},
		"IPv6, a connection":     {ipv6, packet6(flags, 9), ""},
		"IPv6, data":             {ipv6, packet6(0x10, 0), ""},
	} {
		vm, err := bpf.NewVM(c.f.filter)
		if err != nil {
			t.Fatal(err)
		}
		n, err := vm.Run(c.packet)
		if err != nil || (n > 0) != (c.want != "") {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if a, ok := c.f.source(c.packet); c.want != "" && (!ok || a.String() != c.want) {
			t.Errorf("%s: %v, %v", name, a, ok)
		}
	}
}

// TestShortPackets: whatever is cut off is no address, and no mistake either.
func TestShortPackets(t *testing.T) {
	for _, f := range []family{ipv4, ipv6} {
		for n := range 60 {
			p := make([]byte, n)
			if n > 0 {
				p[0] = 0x4f
			}
			f.source(p)
		}
	}
}
