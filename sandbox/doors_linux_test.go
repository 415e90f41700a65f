package sandbox

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/relay"
	"sunaba/scope"
)

func init() {
	// Keeps as many connections as it gets, each proved by an answer, and
	// prints their number.
	attacks["hold-connections"] = func(args []string) error {
		want, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		held := 0
		for range want {
			c, err := net.DialTimeout("tcp", args[0], 10*time.Second)
			if err != nil {
				continue
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := fmt.Fprintln(c, "x"); err == nil {
				if _, err = bufio.NewReader(c).ReadString('\n'); err == nil {
					held++
				}
			}
		}
		fmt.Println(held)
		return nil
	}
	// Is a broker: starts a sandbox with a network in directory args[0], prints
	// the Worker's process ID and a port of its own, and waits for its end.
	attacks["be-broker"] = func(args []string) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		port := l.Addr().(*net.TCPAddr).Port
		s, err := Start(context.Background(), Options{Policy: policy.Effective{
			Profile:   "development",
			Workspace: policy.Workspace{Root: args[0], Logical: args[0], Name: "workspace", Policy: "deny_outside"},
			Roots:     []policy.Root{{Path: args[0], Logical: args[0], Kind: policy.RootWorkspace, Capability: scope.All}},
			Network:   policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: port, Addresses: []netip.Addr{loopback4}}}},
			Resources: policy.Resources{Profile: "normal", MemoryMiB: 1024, Processes: 16, Timeout: time.Minute},
		}})
		if err != nil {
			return err
		}
		fmt.Println(s.cmd.Process.Pid)
		time.Sleep(time.Hour)
		return nil
	}
	attacks["fetch"] = func(args []string) error { // a URL, with system certificates from SSL_CERT_FILE
		r, err := http.Get(args[0])
		if err != nil {
			return err
		}
		defer r.Body.Close()
		fmt.Println(r.Status)
		return nil
	}
}

// strangers are descriptors that a Worker could send instead of a listener at
// at; each is closed by the caller.
func strangers(t *testing.T, at *net.TCPListener) map[string][]int {
	t.Helper()
	open := func(fd int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	file := func(name string) int { return open(unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)) }
	raw, err := at.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	right := int(raw.Fd())
	connected, err := net.Dial("tcp", at.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connected.Close() })
	c, err := connected.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	e, err := plainTCP(t).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	unixListener := open(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	if err := unix.Bind(unixListener, &unix.SockaddrUnix{Name: filepath.Join(t.TempDir(), "s")}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(unixListener, 1); err != nil {
		t.Fatal(err)
	}
	all := map[string][]int{
		"nothing":           nil,
		"a directory":       {file("/")},
		"a device":          {file("/dev/null")},
		"UDP":               {open(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))},
		"not listening":     {open(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))},
		"connected":         {int(c.Fd())},
		"a unix listener":   {unixListener},
		"listens elsewhere": {int(e.Fd())},
		"twice":             {right, right},
		"right and wrong":   {right, int(e.Fd())},
	}
	for range 253 {
		all["too many"] = append(all["too many"], right)
	}
	return all
}

// TestStrangersAtTheDoor: whatever a Worker sends that is not the listener of an
// endpoint ends the set-up, and leaves no descriptor in the broker.
func TestStrangersAtTheDoor(t *testing.T) {
	at := plainTCP(t)
	port := at.Addr().(*net.TCPAddr).Port
	try := func(port int, fds ...int) error {
		ours, theirs, err := socketPair(unix.SOCK_SEQPACKET)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.FileConn(ours)
		if err != nil {
			t.Fatal(err)
		}
		ours.Close()
		n := policy.Network{Mode: "local", Endpoints: []policy.Endpoint{{Port: port, Addresses: []netip.Addr{loopback4}}}}
		s := &Sandbox{doors: c.(*net.UnixConn), network: newNetwork(n, false), relay: relay.New(relay.Options{})}
		defer s.relay.Close()
		if err := unix.Sendmsg(int(theirs.Fd()), []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		return s.openDoors()
	}
	all := strangers(t, at)
	before := openDescriptors(t)
	for name, fds := range all {
		if err := try(port, fds...); err == nil {
			t.Errorf("%s: was taken", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	// These are where the door is, and are no listeners of TCP.
	for name, c := range map[string]struct{ protocol, backlog int }{"bound only": {unix.IPPROTO_TCP, -1}, "MPTCP": {unix.IPPROTO_MPTCP, 1}} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, c.protocol)
		if err != nil {
			t.Logf("%s: %v", name, err) // not every kernel has it
			continue
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback4.As4()}); err != nil {
			t.Fatal(err)
		}
		if c.backlog > 0 {
			if err := unix.Listen(fd, c.backlog); err != nil {
				t.Fatal(err)
			}
		}
		name4, err := unix.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		if err := try(name4.(*unix.SockaddrInet4).Port, fd); err == nil {
			t.Errorf("%s: was taken", name)
		}
		unix.Close(fd)
	}
	raw, err := at.File()
	if err != nil {
		t.Fatal(err)
	}
	if err := try(port, int(raw.Fd())); err != nil {
		t.Errorf("the right one: %v", err)
	}
	raw.Close()
	if after := openDescriptors(t); after != before {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
}

// plainTCP listens without MPTCP, which Go would take.
func plainTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestNetworkState: what is not heard of is named.
func TestNetworkState(t *testing.T) {
	f := networked(t, "restricted", nil, "a.example 80 127.0.0.1", "a.example 81")
	probed, err := Probe(t.Context(), Options{Policy: f.p})
	if err != nil {
		t.Fatal(err)
	}
	want := []Mechanism{{Name: "network", Full: true, Detail: "addresses and ports: 1"}, {Name: "network notices", Full: true, Detail: "sockets, connections"}}
	got := slices.DeleteFunc(probed, func(m Mechanism) bool { return !strings.HasPrefix(m.Name, "network") })
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	f.s.standing.Unwatched = []string{unwatchedConnections, "\x1b[2J", unwatchedSockets}
	if got := f.s.networkState()[1]; got != (Mechanism{Name: "network notices", Full: false, Detail: "sockets, connections"}) {
		t.Errorf("%+v", got)
	}
}

// TestFloodOfConnections: more connections than there are places end at once;
// the rest work, and so does the next command.
func TestFloodOfConnections(t *testing.T) {
	at := server(t, "flooded", "127.0.0.1:0")
	var h heard
	f := networked(t, "local", &h, fmt.Sprintf("- %d 127.0.0.1", at.Port()))
	r := f.call("run", order{Argv: []string{self(), attackWord, "hold-connections", at.String(), strconv.Itoa(relay.Connections + 100)}})
	if held, _, _ := strings.Cut(r.Out, "\n"); held != strconv.Itoa(relay.Connections) {
		t.Errorf("%+v", r)
	}
	allowed, failed := 0, 0
	for _, n := range h.all {
		if n.Failed == relay.TooMany {
			failed += n.Count
		} else if n.Allowed {
			allowed += n.Count
		}
	}
	if allowed != relay.Connections || failed != 100 || len(h.all) > 100 {
		t.Errorf("%d allowed, %d failed in %d notices", allowed, failed, len(h.all))
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if r := f.exchange(at.String()); r.ExitCode == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("afterwards: %+v", r)
		}
	}
}

// TestTLS: names stay what they are, so that certificates are checked as ever,
// with Go's, OpenSSL's and whatever else's library.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	at := netip.MustParseAddrPort(web.Listener.Addr().String())
	f := newFixture(t, func(f *fixture) {
		f.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
		f.p.Environment = map[string]string{"SSL_CERT_FILE": f.root + "/ca.pem"}
		f.p.Network.Mode = "restricted"
		for _, host := range []string{"example.com", "example.org"} { // the certificate is the first's
			f.p.Network.Endpoints = append(f.p.Network.Endpoints, endpoint(t, fmt.Sprintf("%s %d 127.0.0.1", host, at.Port())))
		}
	})
	get := func(host string) report {
		return f.call("run", order{Argv: []string{self(), attackWord, "fetch", fmt.Sprintf("https://%s:%d/", host, at.Port())}})
	}
	if r := get("example.com"); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if r := get("example.org"); r.ExitCode != 1 || !strings.Contains(r.Out, "certificate is valid for") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat("/usr/bin/curl"); err != nil {
		t.Log("no curl to try")
		return
	}
	if r := f.sh(fmt.Sprintf("curl -sS --cacert ca.pem https://example.com:%d/ && ! curl -sS --cacert ca.pem https://example.org:%d/", at.Port(), at.Port())); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
}

// TestBrokerKilled: nothing of a networked Task outlives its broker.
//
// Covers: REC-03, SEC-INV-10
func TestBrokerKilled(t *testing.T) {
	broker := exec.Command(self(), attackWord, "be-broker", policyOnly(t).root)
	out, err := broker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	var worker int
	if _, err := fmt.Fscanln(out, &worker); err != nil {
		_ = broker.Wait()
		t.Fatal(err)
	}
	pidfd, err := unix.PidfdOpen(worker, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	if err := broker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = broker.Wait()
	defer func() { // nobody journalled its control groups; those of agent-mcp go at its next start
		left := groupsOf(broker.Process.Pid)
		for _, dir := range left {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	}()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 20_000)
	if n != 1 {
		t.Errorf("the Worker lives on: %v", err)
	}
}
