package broker

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sunaba/fault"
	"sunaba/internal/audit"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/tool"
)

// dialWord makes the test program connect to its second argument and print
// what it is told, as a command of a Task.
const dialWord = "dial"

func dial(address string) int {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	fmt.Printf("%s %v\n", text, err)
	return 0
}

// greeter is a server of the host's that says hello to everybody.
func greeter(t *testing.T) netip.AddrPort {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
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
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// online is a fixture whose Task may reach endpoints, with the test program as
// ./dial in its workspace.
func online(t *testing.T, n policy.Network) *fixture {
	f := newFixture(t, func(e *policy.Effective) { n.UnixSockets = "none"; e.Network = n })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f.write(f.root+"/dial", string(self))
	return f
}

func (f *fixture) dial(address string) tool.Result {
	f.t.Helper()
	r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./dial", dialWord, address}})
	if err != nil || !r.OK {
		f.t.Fatalf("%+v %v", r, err)
	}
	return r
}

func (f *fixture) networkRecords() []audit.Record {
	f.audit.mu.Lock()
	defer f.audit.mu.Unlock()
	var out []audit.Record
	for _, r := range f.audit.records {
		if strings.HasPrefix(r.Event, "network.") && r.Protocol == "tcp" {
			out = append(out, r)
		}
	}
	return out
}

// What a Task reaches and what is refused to it is in the audit with the rule
// that decided, and the model learns what was refused.
// Covers: S1-172, S1-174
func TestNetworkIsRecorded(t *testing.T) {
	server := greeter(t)
	elsewhere := greeter(t) // the twin: it answers, only not to this Task
	f := online(t, policy.Network{Mode: "restricted", Source: "agent.yaml:5:9", Endpoints: []policy.Endpoint{
		{Host: "db.example", Port: int(server.Port()), Addresses: []netip.Addr{server.Addr()}, Source: "agent.yaml:7:9"},
		{Host: "gone.example", Port: 443, Closed: policy.ClosedUnresolved, Source: "agent.yaml:8:9"},
	}})
	if dial(elsewhere.String()) != 0 {
		t.Fatal("the twin does not answer")
	}

	named := fmt.Sprintf("db.example:%d", server.Port())
	if r := f.dial(named); !strings.HasPrefix(r.Text, "hello") || r.Hint != "" {
		t.Errorf("allowed: %+v", r)
	}
	refused := func(address, endpoint string) {
		t.Helper()
		r := f.dial(address)
		var told string
		for _, field := range r.Fields {
			if field.Name == "blocked_endpoints" {
				told = fmt.Sprint(field.Value)
			}
		}
		if strings.Contains(r.Text, "hello") || told != endpoint || r.Hint != "blocked_endpoint" {
			t.Errorf("%s: %+v", address, r)
		}
	}
	refused(elsewhere.String(), elsewhere.String())
	refused("gone.example:443", "gone.example:443")

	var got []string
	for _, r := range f.networkRecords() {
		got = append(got, fmt.Sprintf("%s %s %s %s %s %t %s", r.Event, r.Decision, r.Endpoint, r.Rule, r.Code, r.Reported, r.TaskID))
		if r.Address == "" {
			t.Errorf("no address: %+v", r)
		}
	}
	want := []string{
		"network.allow allow " + named + " agent.yaml:7:9  false task",
		"network.deny deny  agent.yaml:5:9 " + string(fault.NetDenied) + " true task",
		"network.deny deny gone.example:443 agent.yaml:8:9 " + string(fault.NetDenied) + " true task",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What was refused of a file stays told as such when a connection was refused
// as well.
func TestRefusedEndpointsJoinOtherRefusals(t *testing.T) {
	failed := func(fields ...tool.Field) tool.Result {
		return tool.Result{OK: true, Fields: fields, Hint: "blocked", Effects: []tool.Effect{{Kind: tool.EffectExecute, ExitCode: 1}}}
	}
	n := notices{refused: []string{"a.example:80", "192.0.2.1:9"}}
	for _, tt := range []struct {
		r    tool.Result
		want string
	}{
		{failed(), "blocked_endpoint [{blocked network} {blocked_endpoints a.example:80, 192.0.2.1:9}]"},
		{failed(tool.Field{Name: "blocked", Value: "network"}), "blocked_endpoint [{blocked network} {blocked_endpoints a.example:80, 192.0.2.1:9}]"},
		{failed(tool.Field{Name: "blocked", Value: "write"}, tool.Field{Name: "blocked_path", Value: "/etc/y"}),
			"blocked [{blocked write} {blocked_path /etc/y} {blocked_endpoints a.example:80, 192.0.2.1:9}]"},
		{tool.Result{OK: true}, " []"},
	} {
		n.explain(&tt.r)
		if got := fmt.Sprintf("%s %v", tt.r.Hint, tt.r.Fields); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// Where there is no network, a failed command that wanted TCP is told so; one
// that went well, or tried what programs try by the way, is not (SBX-001).
// Covers: C-69
func TestNoNetworkIsTold(t *testing.T) {
	f := online(t, policy.Network{Mode: "none"})
	if r := f.dial("127.0.0.1:9"); r.Hint != "blocked_network" || !slices.Contains(r.Fields, tool.Field{Name: "blocked", Value: "network"}) {
		t.Errorf("%+v", r)
	}
	if r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"program"}}); err != nil || r.Hint != "" {
		t.Errorf("the next command: %+v %v", r, err)
	}
	for protocol, want := range map[string]bool{
		"inet stream": true, "inet6 stream": true, "inet stream mptcp": false, "inet6 dgram": false, "unix stream": false, "netlink raw": false,
	} {
		f.box.network.begin()
		f.box.notice(sandbox.Notice{Protocol: protocol, Count: 1, Reported: true})
		r := tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectExecute, ExitCode: 1}}}
		if f.box.network.explain(&r); (r.Hint != "") != want {
			t.Errorf("%s: %+v", protocol, r)
		}
		r = tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectExecute}}}
		if f.box.network.explain(&r); r.Hint != "" {
			t.Errorf("%s, gone well: %+v", protocol, r)
		}
	}
}

// A flood of connections makes few records, and none is lost in the counts.
func TestNetworkFloodIsBounded(t *testing.T) {
	server := greeter(t)
	f := online(t, policy.Network{Mode: "local", Endpoints: []policy.Endpoint{
		{Port: int(server.Port()), Addresses: []netip.Addr{server.Addr()}, Source: "agent.yaml:7:9"},
	}})
	f.write(f.root+"/flood", fmt.Sprintf("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do ./dial %s localhost:%d; done\n", dialWord, server.Port()))
	if r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./flood"}}); err != nil || strings.Count(r.Text, "hello") != 10 {
		t.Fatalf("%+v %v", r, err)
	}
	if err := f.box.Close(); err != nil {
		t.Fatal(err)
	}
	times := 0
	records := f.networkRecords()
	for _, r := range records {
		times += max(r.Count, 1)
		if r.Event != "network.allow" || r.Endpoint != fmt.Sprintf(":%d", server.Port()) {
			t.Errorf("%+v", r)
		}
	}
	if times != 10 || len(records) > 6 {
		t.Errorf("%d connections in %d records", times, len(records))
	}
}

// What cannot be recorded is not done: the connection that could not be written
// down carries nothing, and the Task is over.
func TestNetworkWithoutRecord(t *testing.T) {
	server := greeter(t)
	f := online(t, policy.Network{Mode: "restricted", Endpoints: []policy.Endpoint{
		{Host: "db.example", Port: int(server.Port()), Addresses: []netip.Addr{server.Addr()}},
	}})
	f.audit.failAt = 2 // the call itself is recorded
	r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./dial", dialWord, fmt.Sprintf("db.example:%d", server.Port())}})
	if fault.CodeOf(err) != fault.PlatformAudit || strings.Contains(r.Text, "hello") {
		t.Errorf("%+v %v", r, err)
	}
}
