package mcpserver

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

const socketTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 112 1 0 20 4 30 10 -1
   2: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 113 1 0 20 4 30 10 -1
   3: 0100007F:C002 0100007F:1F90 06 00000000:00000000 03:00000f4b 00000000     0        0 0 3 0
   4: 0000000000000000FFFF00000100007F:C003 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 114 1 0 20 4 30 10 -1
   5: 00000000000000000000000001000000:C004 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1003        0 115 1 0 20 4 30 10 -1
garbage
`

// Covers: C-43
func TestSocketOwner(t *testing.T) {
	for _, tt := range []struct {
		local, remote string
		uid           int
		found         bool
	}{
		{"127.0.0.1:49153", "127.0.0.1:8080", 1001, true},
		{"127.0.0.1:8080", "127.0.0.1:49153", 1000, true},
		{"127.0.0.1:49154", "127.0.0.1:8080", 0, false}, // no process holds it: not root's
		{"127.0.0.1:49155", "127.0.0.1:8080", 1002, true},
		{"[::1]:49156", "[::1]:8080", 1003, true},
		{"127.0.0.1:49157", "127.0.0.1:8080", 0, false},
	} {
		uid, found, err := socketOwner(strings.NewReader(socketTable), netip.MustParseAddrPort(tt.local), netip.MustParseAddrPort(tt.remote))
		if err != nil || uid != tt.uid || found != tt.found {
			t.Errorf("%s: uid %d, found %v, %v", tt.local, uid, found, err)
		}
	}
}

// The peer check tells this process's user from another one (C-43).
func TestSameUserOfThisProcess(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if same, err := sameUser(conn.RemoteAddr(), conn.LocalAddr()); err != nil || !same {
		t.Errorf("own connection: %v, %v", same, err)
	}
	stranger := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	if same, err := sameUser(l.Addr(), stranger); err == nil || same {
		t.Errorf("a connection nobody has: %v, %v", same, err)
	}
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		if l, err := net.Listen("tcp", addr); err != nil {
			t.Logf("%s cannot be listened on here", addr)
			continue
		} else {
			l.Close()
		}
		h := serveHTTP(t, Config{}, "same_user", addr)
		if resp, a := h.post(call("1", "agent_run", `{"request":"x"}`)); resp.StatusCode != 200 {
			t.Errorf("own user on %s: %d %s", addr, resp.StatusCode, a.raw)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to be another user")
	}
	h := serveHTTP(t, Config{}, "same_user")
	for uid, want := range map[int]int{0: 200, 65534: 403} {
		if got := statusAs(t, uid, h.url); got != want {
			t.Errorf("user %d got %d, want %d", uid, got, want)
		}
	}
	open := serveHTTP(t, Config{}, "any")
	if got := statusAs(t, 65534, open.url); got != 200 {
		t.Errorf("peer any: user 65534 got %d", got)
	}
}
