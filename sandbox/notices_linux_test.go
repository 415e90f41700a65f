package sandbox

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	attacks["socket"] = func(args []string) error { // family, type, protocol, high bits
		var family, kind, protocol, high int
		if _, err := fmt.Sscan(strings.Join(args, " "), &family, &kind, &protocol, &high); err != nil {
			return err
		}
		h := uintptr(high) << 32
		fd, _, errno := unix.Syscall(unix.SYS_SOCKET, uintptr(family)|h, uintptr(kind)|h, uintptr(protocol)|h)
		if errno == 0 {
			unix.Close(int(fd))
		}
		return fail(errno)
	}
	attacks["socket-flood"] = func([]string) error {
		for i := range 20_000 {
			if fd, err := unix.Socket(1000+i, i, i); err == nil {
				unix.Close(fd)
			}
		}
		return nil
	}
}

// heard collects notices.
type heard struct {
	mu  sync.Mutex
	all []Notice
}

func (h *heard) notify(n Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, n)
}

// take returns what was heard since the last time, as text.
func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, n := range h.all {
		word := "refused"
		if n.Allowed {
			word = "allowed"
		}
		if n.Failed != "" {
			word = "failed"
		}
		text := fmt.Sprintf("%s %s", word, n.Protocol)
		if n.Host != "" {
			text += " " + n.Host
		}
		if n.Address.IsValid() {
			text += " " + n.Address.String()
		}
		out = append(out, text)
	}
	h.all = nil
	return out
}

func (h *heard) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.all {
		n += x.Count
	}
	return n
}

// TestRefusedSocketsAreTold: with the network off every socket is refused at
// once, and whoever asked to be told hears what was attempted before the
// command's result.
//
// Covers: S1-170, SEC-INV-06, AT-10, S1-228
func TestRefusedSocketsAreTold(t *testing.T) {
	var h heard
	f := newFixture(t, func(f *fixture) { f.notify = h.notify })
	for _, c := range []struct{ family, kind, protocol, high, want string }{
		{"2", "1", "0", "0", "inet stream"},
		{"2", "2049", "0", "0", "inet stream"}, // SOCK_NONBLOCK
		{"2", "1", "262", "0", "inet stream mptcp"},
		{"10", "2", "17", "0", "inet6 dgram"},
		{"1", "1", "0", "0", "unix stream"},
		{"16", "3", "0", "0", "netlink raw"},
		{"2", "1", "6", "1", "inet stream"},
		{"77", "12", "3", "0", "family 77 type 12"},
	} {
		r := f.call("run", order{Argv: []string{self(), attackWord, "socket", c.family, c.kind, c.protocol, c.high}})
		if r.ExitCode != 1 || !strings.Contains(r.Out, "permission denied") {
			t.Errorf("%+v: %+v", c, r)
		}
		if got := h.take(); len(got) != 1 || got[0] != "refused "+c.want {
			t.Errorf("%+v: heard %q", c, got)
		}
	}
}

// TestFloodOfSockets: many attempts cost few notices, none is lost from their
// sum, and nobody hangs.
func TestFloodOfSockets(t *testing.T) {
	var h heard
	f := newFixture(t, func(f *fixture) { f.notify = h.notify })
	if r := f.call("run", order{Argv: []string{self(), attackWord, "socket-flood"}}); !r.Ended || r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	if n := h.count(); n != 20_000 {
		t.Errorf("sum %d", n)
	}
	if n := len(h.take()); n > 1000 {
		t.Errorf("%d notices", n)
	}
	f.sh(fmt.Sprintf("for i in 1 2 3; do %s %s socket 2 1 0 0; done", self(), attackWord))
	if n, got := h.count(), h.take(); n != 3 || len(got) > 2 {
		t.Errorf("the same three times: %d in %q", n, got)
	}
}

// TestToldByAStranger: the broker takes nothing but well-formed notices.
func TestToldByAStranger(t *testing.T) {
	nobody := func(netip.AddrPort) string { return "" }
	for body, ok := range map[string]bool{
		`{"protocol":"unix stream","address":"","count":1}`:                     true,
		`{"protocol":"tcp","address":"10.0.0.1:80","count":7}`:                  true,
		`{"protocol":"tcp\u001b[2J","address":"","count":1}`:                    false,
		`{"protocol":"","address":"","count":1}`:                                false,
		`{"protocol":"tcp","address":"","count":0}`:                             false,
		`{"protocol":"tcp","address":"","count":-4}`:                            false,
		`{"protocol":"tcp","address":"","count":99999999999}`:                   false,
		`{"protocol":"tcp","address":"[fe80::1%evil\n]:80","count":1}`:          false,
		`{"protocol":"` + strings.Repeat("a", 65) + `","address":"","count":1}`: false,
		`{`: false,
	} {
		var h heard
		n := newNotices(h.notify)
		if err := n.reported([]byte(body), nobody); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
		if got := h.take(); (len(got) == 1) != ok {
			t.Errorf("%s: heard %q", body, got)
		}
		n.flush()
	}
}
