package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
)

func init() {
	attacks["exchange"] = func(args []string) error { // address, line: prints the answer
		c, err := net.DialTimeout("tcp", args[0], 10*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c, args[1]); err != nil {
			return err
		}
		answer, err := bufio.NewReader(c).ReadString('\n')
		fmt.Print(answer)
		return err
	}
	attacks["scan"] = func(args []string) error {
		found := 0
		for port := range 5000 {
			c, err := net.DialTimeout("tcp", net.JoinHostPort(args[0], strconv.Itoa(port+1)), 10*time.Second)
			if err == nil {
				c.Close()
				found++
			}
		}
		if found == 0 {
			return fmt.Errorf("0 of 5000")
		}
		return nil
	}
	attacks["stack-protocol"] = func(args []string) error {
		high, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		h, name := uintptr(high)<<32, []byte("mptcp")
		_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP|h, unix.TCP_ULP|h, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), 0)
		return fail(errno)
	}
	attacks["serve-self"] = func(args []string) error { // listens, and connects to itself
		l, err := net.Listen("tcp", args[0])
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// server answers each line with its own name and the line.
func server(t testing.TB, name, at string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					fmt.Fprintf(c, "%s %s\n", name, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// networked makes a fixture with endpoints "host port addresses…".
func networked(t testing.TB, mode string, h *heard, endpoints ...string) *fixture {
	t.Helper()
	return newFixture(t, func(f *fixture) {
		if h != nil {
			f.notify = h.notify
		}
		f.p.Network.Mode = mode
		for _, text := range endpoints {
			f.p.Network.Endpoints = append(f.p.Network.Endpoints, endpoint(t, text))
		}
	})
}

func endpoint(t testing.TB, text string) policy.Endpoint {
	t.Helper()
	words := strings.Fields(text)
	port, err := strconv.Atoi(words[1])
	if err != nil {
		t.Fatal(err)
	}
	e := policy.Endpoint{Host: strings.Trim(words[0], "-"), Port: port}
	for _, w := range words[2:] {
		e.Addresses = append(e.Addresses, netip.MustParseAddr(w))
	}
	if len(e.Addresses) == 0 {
		e.Closed = "unresolved"
	}
	return e
}

func (f *fixture) exchange(address string) report {
	f.t.Helper()
	return f.call("run", order{Argv: []string{self(), attackWord, "exchange", address, "hello"}})
}

// TestLocal: the listed ports of the host's loopback are there at the same
// addresses, and nothing else is.
//
// Covers: S1-169, S1-171, SEC-INV-07, AT-11, C-47
func TestLocal(t *testing.T) {
	four := server(t, "four", "127.0.0.1:0")
	six := server(t, "six", "[::1]:0")
	other := server(t, "other", "127.0.0.1:0")
	away := server(t, "away", "127.0.0.2:0")
	var h heard
	f := networked(t, "local", &h,
		fmt.Sprintf("- %d 127.0.0.1 ::1", four.Port()), fmt.Sprintf("- %d 127.0.0.1 ::1", six.Port()))
	for address, want := range map[string]string{
		four.String():                                     "four",
		six.String():                                      "six",
		fmt.Sprintf("localhost:%d", four.Port()):          "four",
		fmt.Sprintf("localhost:%d", six.Port()):           "six",
		fmt.Sprintf("[::1]:%d", four.Port()):              "four", // nobody is there: the other loopback is
		fmt.Sprintf("127.0.0.1:%d", six.Port()):           "six",
		fmt.Sprintf("[::ffff:127.0.0.1]:%d", four.Port()): "four",
	} {
		if r := f.exchange(address); r.ExitCode != 0 || !strings.HasPrefix(r.Out, want+" hello\n") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	both := server(t, "both4", "127.0.0.1:0")
	server(t, "both6", fmt.Sprintf("[::1]:%d", both.Port()))
	g := networked(t, "local", nil, fmt.Sprintf("- %d 127.0.0.1 ::1", both.Port()))
	for address, want := range map[string]string{both.String(): "both4", fmt.Sprintf("[::1]:%d", both.Port()): "both6"} {
		if r := g.exchange(address); !strings.HasPrefix(r.Out, want+" hello\n") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	h.take()
	for _, address := range []netip.AddrPort{other, away, netip.AddrPortFrom(away.Addr(), four.Port())} {
		if r := f.exchange(address.String()); r.ExitCode != 1 || !strings.Contains(r.Out, "connection refused") {
			t.Errorf("%s: %+v", address, r)
		}
		if got := h.take(); len(got) == 0 || got[len(got)-1] != "refused tcp "+address.String() {
			t.Errorf("%s: heard %q", address, got)
		}
	}
	for _, address := range []netip.AddrPort{other, away} {
		if out, err := exec.Command(self(), attackWord, "exchange", address.String(), "hello").CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %v\n%s", err, out)
		}
	}
}

// TestRestricted: names and literal addresses of both families lead to what the
// broker was given for them, at the exact port; a closed endpoint, another port
// and another address are refused at once and told with what was attempted.
//
// Covers: S1-172, S1-175, S1-174, SEC-INV-07, AT-11, S1-249
func TestRestricted(t *testing.T) {
	at := server(t, "served", "127.0.0.1:0")
	six := server(t, "sixth", "[::1]:0")
	var h heard
	f := networked(t, "restricted", &h,
		fmt.Sprintf("Api.Example %d 127.0.0.1", at.Port()),
		fmt.Sprintf("192.0.2.10 %d 127.0.0.1", at.Port()),
		fmt.Sprintf("2001:db8::7 %d ::1", six.Port()),
		fmt.Sprintf("second.example %d 127.0.0.9 127.0.0.1", at.Port()),
		fmt.Sprintf("api.example %d", six.Port()),
		"closed.example 443",
	)
	for address, want := range map[string]string{
		fmt.Sprintf("api.example:%d", at.Port()):         "served",
		fmt.Sprintf("API.EXAMPLE:%d", at.Port()):         "served",
		fmt.Sprintf("192.0.2.10:%d", at.Port()):          "served",
		fmt.Sprintf("[2001:db8::7]:%d", six.Port()):      "sixth",
		fmt.Sprintf("second.example:%d", at.Port()):      "served", // the first address refuses
		fmt.Sprintf("[::ffff:192.0.2.10]:%d", at.Port()): "served",
	} {
		if r := f.exchange(address); r.ExitCode != 0 || !strings.HasPrefix(r.Out, want+" hello\n") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	if got := h.take(); !slices.Contains(got, "allowed tcp Api.Example "+at.String()) || !slices.Contains(got, "allowed tcp 2001:db8::7 "+six.String()) {
		t.Errorf("heard %q", got)
	}
	for address, want := range map[string]string{
		fmt.Sprintf("127.0.0.1:%d", at.Port()):    at.String(),
		fmt.Sprintf("[::1]:%d", six.Port()):       six.String(),
		fmt.Sprintf("api.example:%d", six.Port()): fmt.Sprintf("Api.Example 127.77.0.1:%d", six.Port()),
		"closed.example:443":                      "closed.example 127.77.0.3:443",
		"closed.example:80":                       "closed.example 127.77.0.3:80",
		"192.0.2.10:1":                            "192.0.2.10:1",
		"192.0.2.11:443":                          "192.0.2.11:443",
		"10.1.2.3:22":                             "10.1.2.3:22",
		"169.254.169.254:80":                      "169.254.169.254:80",
		"[2001:db8::8]:443":                       "[2001:db8::8]:443",
		"255.255.255.255:9":                       "",
	} {
		r := f.exchange(address)
		if r.ExitCode != 1 || r.Duration > 5*time.Second {
			t.Errorf("%s: %+v", address, r)
		}
		if got := h.take(); want != "" && (len(got) == 0 || got[len(got)-1] != "refused tcp "+want) {
			t.Errorf("%s: heard %q", address, got)
		}
	}
	if out, err := exec.Command(self(), attackWord, "exchange", at.String(), "hello").CombinedOutput(); err != nil {
		t.Errorf("the twin outside failed too: %v\n%s", err, out)
	}
}

// TestScan: whoever tries everything is told of in few words, each attempt fails
// at once, and the sandbox stands.
//
// Covers: S1-249
func TestScan(t *testing.T) {
	var h heard
	f := networked(t, "restricted", &h, "a.example 443 127.0.0.1")
	r := f.call("run", order{Argv: []string{self(), attackWord, "scan", "10.20.30.40"}})
	if !r.Ended || r.ExitCode != 1 || !strings.Contains(r.Out, "0 of 5000") {
		t.Errorf("%+v", r)
	}
	if n, kinds := h.count(), len(h.take()); n == 0 || n > 5000 || kinds > 500 {
		t.Errorf("%d attempts told in %d notices", n, kinds)
	}
	if r := f.sh("echo alive"); r.Out != "alive\n" {
		t.Errorf("%+v", r)
	}
}

// TestNames: what can be looked up is what the policy names, in files.
func TestNames(t *testing.T) {
	f := networked(t, "restricted", nil, "One.Example. 80", "192.0.2.1 80 192.0.2.1", "two.example 80", "one.example 443", "localhost 81")
	want := "127.0.0.1 localhost sandbox\n::1 localhost\n127.77.0.1 one.example\n127.77.0.2 two.example\n"
	if r := f.sh("cat /etc/hosts; grep hosts: /etc/nsswitch.conf; ls /etc/resolv.conf 2>&1 | grep -c 'No such'"); r.Out != want+"hosts: files\n1\n" {
		t.Errorf("%s", r.Out)
	}
	if r := f.sh("getent ahostsv4 two.example | head -1; getent hosts three.example || echo none"); !strings.HasPrefix(r.Out, "127.77.0.2 ") || !strings.HasSuffix(r.Out, "none\n") {
		t.Errorf("%s", r.Out)
	}
}

// TestNameAddresses: many hosts have one address each.
func TestNameAddresses(t *testing.T) {
	var n policy.Network
	n.Mode = "restricted"
	for i := range 510 {
		n.Endpoints = append(n.Endpoints, policy.Endpoint{Host: fmt.Sprintf("h%d", i), Port: 443, Addresses: []netip.Addr{loopback4}})
	}
	if err := checkNetwork(n); err != nil {
		t.Error(err)
	}
	seen := make(map[netip.AddrPort]bool)
	for _, d := range newNetwork(n, true).doors {
		if seen[d.at] || !netip.MustParsePrefix("127.77.0.0/16").Contains(d.at.Addr()) {
			t.Errorf("%s", d.at)
		}
		seen[d.at] = true
	}
	if len(seen) != 510 {
		t.Errorf("%d", len(seen))
	}
	f := newFixture(t, func(f *fixture) { f.p.Network = policy.Network{Mode: n.Mode, Endpoints: n.Endpoints} })
	if r := f.sh("grep -c h5 /etc/hosts"); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
}

// TestUnusualAddresses: every address that is not refused can be set up.
func TestUnusualAddresses(t *testing.T) {
	at := server(t, "odd", "127.0.0.1:0")
	odd := []string{"240.0.0.1", "169.254.169.254", "127.1.2.3", "127.0.0.1", "10.0.0.0", "fc00::1", "::ffff:10.9.8.7", "64:ff9b::1", "2001:db8::"}
	var endpoints []string
	for _, o := range odd {
		endpoints = append(endpoints, fmt.Sprintf("%s %d 127.0.0.1", o, at.Port()))
	}
	f := networked(t, "restricted", nil, endpoints...)
	for _, o := range odd {
		if r := f.exchange(net.JoinHostPort(o, fmt.Sprint(at.Port()))); r.ExitCode != 0 {
			t.Errorf("%s: %+v", o, r)
		}
	}
}

// TestWithoutIPv6: on a host that has none, IPv6 endpoints are closed and the
// others are as ever.
func TestWithoutIPv6(t *testing.T) {
	n := policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{
		endpoint(t, "2001:db8::1 80 2001:db8::1"), endpoint(t, "192.0.2.1 80 192.0.2.1"), endpoint(t, "localhost 81 127.0.0.1 ::1"),
	}}
	with, without := newNetwork(n, true), newNetwork(n, false)
	if len(with.doors) != 4 || len(without.doors) != 2 || len(with.literal) != 2 || len(without.literal) != 1 {
		t.Errorf("with %+v\nwithout %+v", with, without)
	}
}

// TestStackedProtocols: nothing is put upon a TCP connection that brings kernel
// code of its own.
func TestStackedProtocols(t *testing.T) {
	f := networked(t, "local", nil, "- 1 127.0.0.1")
	for _, high := range []string{"0", "1"} {
		args := []string{self(), attackWord, "stack-protocol", high}
		if r := f.call("run", order{Argv: args}); r.ExitCode != 1 || !strings.Contains(r.Out, unix.ENOENT.Error()) {
			t.Errorf("%+v", r)
		}
		// Outside the kernel knows the protocol and says for whom it is not.
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err == nil || strings.Contains(string(out), unix.ENOENT.Error()) {
			t.Logf("no twin: this kernel has no such protocol: %s", out)
		}
	}
}

// TestCheckNetwork: what is not understood is refused by name, before anything
// runs.
//
// Covers: S1-173
func TestCheckNetwork(t *testing.T) {
	ok := policy.Endpoint{Port: 80, Host: "a.example", Addresses: []netip.Addr{loopback4}}
	for name, c := range map[string]struct {
		n     policy.Network
		wrong bool
	}{
		"none":            {policy.Network{Mode: "none"}, false},
		"restricted":      {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{ok}}, false},
		"local":           {policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: 80, Addresses: []netip.Addr{loopback4, loopback6}}}}, false},
		"nothing said":    {policy.Network{}, true},
		"open":            {policy.Network{Mode: "allow"}, true},
		"sockets":         {policy.Network{Mode: "none", UnixSockets: "all"}, true},
		"port 0":          {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "a"}}}, true},
		"port 65536":      {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "a", Port: 65536}}}, true},
		"no host":         {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Port: 80}}}, true},
		"two lines":       {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "a\n127.0.0.1 b", Port: 80}}}, true},
		"two words":       {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "a b", Port: 80}}}, true},
		"zone":            {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "fe80::1%lo", Port: 80}}}, true},
		"broadcast":       {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "255.255.255.255", Port: 80}}}, true},
		"mapped nothing":  {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "::ffff:0.0.0.0", Port: 80}}}, true},
		"multicast":       {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "ff02::1", Port: 80}}}, true},
		"link-local":      {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "fe80::1", Port: 80}}}, true},
		"metadata":        {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "169.254.169.254", Port: 80}}}, false},
		"all addresses":   {policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{{Host: "0.0.0.0", Port: 80}}}, true},
		"local with host": {policy.Network{Mode: "local", Endpoints: []policy.Endpoint{ok}}, true},
		"local, LAN":      {policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: 80, Addresses: []netip.Addr{netip.MustParseAddr("192.168.0.1")}}}}, true},
	} {
		err := checkNetwork(c.n)
		if (err != nil) != c.wrong || (c.wrong && fault.CodeOf(err) != fault.PlatformUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := policy.Network{Mode: "restricted"}
	for i := range maxDoors + 1 {
		many.Endpoints = append(many.Endpoints, policy.Endpoint{Host: "a.example", Port: i + 1, Addresses: []netip.Addr{loopback4}})
	}
	if err := checkNetwork(many); err == nil {
		t.Error("more endpoints than there is room for")
	}
}

// TestPrivilegedPorts: ports that only root may listen at are endpoints like any
// other, whoever started the sandbox.
func TestPrivilegedPorts(t *testing.T) {
	var h heard
	f := networked(t, "restricted", &h, "low.example 443 127.0.0.5", "low.example 1 127.0.0.5")
	f.exchange("low.example:1")
	if got := h.take(); len(got) == 0 || got[0] != "failed tcp low.example 127.0.0.5:1" {
		t.Errorf("heard %q", got)
	}
	l, err := net.Listen("tcp", "127.0.0.5:443")
	if err != nil {
		t.Log("only root can listen there outside")
		return
	}
	l.Close()
	server(t, "low", "127.0.0.5:443")
	if r := f.exchange("low.example:443"); r.ExitCode != 0 || !strings.HasPrefix(r.Out, "low hello") {
		t.Errorf("%+v", r)
	}
}

// TestOwnDoors: what the broker is told not to dial it does not dial, be it in
// the policy or not.
//
// Covers: C-89
func TestOwnDoors(t *testing.T) {
	at := server(t, "own", "127.0.0.1:0")
	var h heard
	f := newFixture(t, func(f *fixture) {
		f.notify = h.notify
		f.refuse = func(a netip.AddrPort) bool { return a == at }
		f.p.Network = policy.Network{Mode: "local", Endpoints: []policy.Endpoint{endpoint(t, fmt.Sprintf("- %d 127.0.0.1", at.Port()))}}
	})
	if r := f.exchange(at.String()); r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	if got := h.take(); len(got) == 0 || got[0] != "refused tcp "+at.String() {
		t.Errorf("heard %q", got)
	}
}

// TestNamesDoNotComeHere: an address that has become one of this machine's is not
// dialled for a name, nor is any where that cannot be told; the address itself,
// and a name while the machine does not have its address, lead there.
func TestNamesDoNotComeHere(t *testing.T) {
	at := server(t, "here", "127.0.0.1:0")
	name := fmt.Sprintf("moved.example:%d", at.Port())
	var has atomic.Bool
	for _, row := range []struct {
		what    string
		machine func() ([]netip.Prefix, error)
		closed  bool
	}{
		{"what the system says", policy.Machine, true},
		{"nobody knows", func() ([]netip.Prefix, error) { return nil, errors.New("nobody knows") }, true},
		{"it changes", func() (own []netip.Prefix, err error) {
			if has.Load() {
				own = []netip.Prefix{netip.PrefixFrom(at.Addr(), 32)}
			}
			return own, nil
		}, false},
	} {
		t.Run(row.what, func(t *testing.T) {
			has.Store(false)
			var h heard
			f := newFixture(t, func(f *fixture) {
				f.notify, f.machine = h.notify, row.machine
				f.p.Network = policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{
					endpoint(t, fmt.Sprintf("moved.example %d 127.0.0.1", at.Port())), endpoint(t, fmt.Sprintf("127.0.0.1 %d 127.0.0.1", at.Port())),
				}}
			})
			if r := f.exchange(name); (r.ExitCode != 0) != row.closed {
				t.Errorf("the name: %+v", r)
			}
			if got := h.take(); row.closed && (len(got) == 0 || !strings.HasPrefix(got[0], "refused tcp")) {
				t.Errorf("heard %q", got)
			}
			has.Store(true)
			if !row.closed {
				if r := f.exchange(name); r.ExitCode == 0 {
					t.Errorf("the name, since the machine has the address: %+v", r)
				}
			}
			if r := f.exchange(at.String()); r.ExitCode != 0 { // the twin
				t.Errorf("the address: %+v", r)
			}
		})
	}
}

// TestTwoTasks: two Tasks with the same endpoints do not meet.
func TestTwoTasks(t *testing.T) {
	at := server(t, "both", "127.0.0.1:0")
	text := fmt.Sprintf("same.example %d 127.0.0.1", at.Port())
	a, b := networked(t, "restricted", nil, text), networked(t, "restricted", nil, text)
	for _, f := range []*fixture{a, b, a} {
		if r := f.exchange(fmt.Sprintf("same.example:%d", at.Port())); r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
	}
	if err := a.s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := b.exchange(fmt.Sprintf("same.example:%d", at.Port())); r.ExitCode != 0 {
		t.Errorf("after the other's end: %+v", r)
	}
}

// TestOwnServers: a command may listen, where only its own Task reaches it.
func TestOwnServers(t *testing.T) {
	f := networked(t, "local", nil, "- 1 127.0.0.1")
	r := f.call("run", order{Argv: []string{self(), attackWord, "serve-self", "127.0.0.1:0"}})
	if r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSocketFamilies: with a network there are TCP sockets of IPv4 and IPv6, and
// no others.
//
// Covers: SEC-INV-07
func TestSocketFamilies(t *testing.T) {
	var h heard
	f := networked(t, "local", &h, "- 1 127.0.0.1")
	const high = "1"
	for _, c := range []struct {
		family, kind, protocol int
		name                   string
		allowed                bool
	}{
		{unix.AF_INET, unix.SOCK_STREAM, 0, "", true},
		{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP, "", true},
		{unix.AF_INET6, unix.SOCK_STREAM, 0, "", true},
		{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP, "", true},
		{unix.AF_INET, unix.SOCK_DGRAM, 0, "inet dgram", false},
		{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP, "inet6 dgram", false},
		{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, "inet dgram icmp", false},
		{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, "inet raw icmp", false},
		{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "inet stream mptcp", false},
		{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "inet6 stream mptcp", false},
		{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, "inet stream sctp", false},
		{unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP, "inet seqpacket sctp", false},
		{unix.AF_INET, unix.SOCK_STREAM, 256, "inet stream protocol 256", false}, // SMC
		{unix.AF_INET, unix.SOCK_DCCP, 33, "inet dccp protocol 33", false},
		{unix.AF_INET, unix.SOCK_PACKET, 0, "inet packet", false},
		{unix.AF_PACKET, unix.SOCK_RAW, 0x300, "packet raw", false},
		{unix.AF_PACKET, unix.SOCK_DGRAM, 0, "packet dgram", false},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, "netlink raw", false},
		{unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_SOCK_DIAG, "netlink dgram", false},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, "unix stream", false},
		{unix.AF_UNIX, unix.SOCK_DGRAM, 0, "unix dgram", false},
		{unix.AF_VSOCK, unix.SOCK_STREAM, 0, "vsock stream", false},
		{unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "alg seqpacket", false},
		{unix.AF_TIPC, unix.SOCK_SEQPACKET, 0, "tipc seqpacket", false},
		{unix.AF_XDP, unix.SOCK_RAW, 0, "xdp raw", false},
		{unix.AF_SMC, unix.SOCK_STREAM, 0, "smc stream", false},
	} {
		for _, bits := range []string{"0", high} {
			args := []string{self(), attackWord, "socket", fmt.Sprint(c.family), fmt.Sprint(c.kind), fmt.Sprint(c.protocol), bits}
			r := f.call("run", order{Argv: args})
			if (r.ExitCode == 0) != c.allowed || (!c.allowed && !strings.Contains(r.Out, "permission denied")) {
				t.Errorf("%+v: %+v", c, r)
			}
			if got := h.take(); !c.allowed && (len(got) != 1 || got[0] != "refused "+c.name) || c.allowed && len(got) != 0 {
				t.Errorf("%+v: heard %q", c, got)
			}
			if bits == high || c.allowed {
				continue
			}
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				// Not every kernel has every family, nor may everybody use them.
				t.Logf("no twin for %s: %s", c.name, out)
			}
		}
	}
}

// TestNetworkedWorker: the capabilities that made the network are gone when the
// Worker stands.
//
// Covers: SEC-INV-03
func TestNetworkedWorker(t *testing.T) {
	f := networked(t, "restricted", nil, "a.example 443 127.0.0.1")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		for _, set := range []string{"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"} {
			if strings.HasPrefix(line, set) && !strings.Contains(line, "\t0000000000000000\n") {
				t.Errorf("%s", line)
			}
		}
	}
	if r := f.sh("ls -l /proc/self/fd | grep -c socket"); strings.TrimSpace(r.Out) != "0" {
		t.Errorf("sockets of a command: %s", r.Out)
	}
}
