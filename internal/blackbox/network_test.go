package blackbox

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// greet serves hello on this machine's loopback and returns the port.
func greet(t *testing.T) int {
	t.Helper()
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
			_, _ = io.WriteString(c, "hello from outside\n")
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// hear connects to host and port as a program that knows nothing of us, and
// prints what it hears.
func hear(host string, port int) turn {
	return do("run_command", map[string]any{
		"argv": []string{"bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d && cat <&3", host, port)},
	})
}

// An unmodified program reaches exactly the listed endpoints, in both modes;
// what else it tries is refused at once, told to the model and in the audit.
//
// Covers: S1-170, S1-171, S1-172, S1-174, S1-175
func TestNetworkModes(t *testing.T) {
	listed, other := greet(t), greet(t)
	for _, tt := range []struct {
		name, network  string
		reach, refused []turn
		endpoint       string
	}{
		{
			"none", "{ mode: none }",
			nil, []turn{hear("127.0.0.1", listed), hear("localhost", listed)}, "",
		},
		{
			"local", fmt.Sprintf("{ mode: local, endpoints: [ { port: %d } ] }", listed),
			[]turn{hear("127.0.0.1", listed), hear("localhost", listed)},
			[]turn{hear("127.0.0.1", other), hear("198.51.100.1", listed), hear("example.com", 80)},
			fmt.Sprintf(":%d", listed),
		},
		{
			"restricted", fmt.Sprintf("{ mode: restricted, endpoints: [ { host: 127.0.0.1, port: %d }, { host: gone.invalid, port: 80 } ] }", listed),
			[]turn{hear("127.0.0.1", listed)},
			[]turn{hear("127.0.0.1", other), hear("169.254.169.254", 80), hear("gone.invalid", 80)},
			fmt.Sprintf("127.0.0.1:%d", listed),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, "")
			h.configure("sandbox:\n  workspace: { root: ./project }\n  execution: { entries: [ { alias: bash, path: /bin/bash } ] }\n  network: " + tt.network + "\n")
			h.apply()
			c := h.serve()
			h.model.play("none", append(append([]turn(nil), tt.reach...), tt.refused...)...)
			c.job("connect")
			for i := range tt.reach {
				if head, text := h.model.result(i); head["exit_code"] != 0.0 || text != "hello from outside\n" {
					t.Errorf("call %d: %v %s", i, head, text)
				}
			}
			for i := range tt.refused {
				head, text := h.model.result(len(tt.reach) + i)
				if head["exit_code"] == 0.0 || strings.Contains(text, "hello") {
					t.Errorf("refused %d: %v %s", i, head, text)
				}
				if head["blocked"] != "network" {
					t.Errorf("refused %d: the model is not told: %v %s", i, head, text)
				}
			}
			allowed, denied := 0, 0
			for _, r := range h.audit() {
				switch {
				case r["event"] == "network.allow" && r["endpoint"] == tt.endpoint:
					allowed++
				case r["event"] == "network.deny" && r["code"] == "net.denied" && r["protocol"] != "":
					denied++
				case strings.HasPrefix(fmt.Sprint(r["event"]), "network."):
					t.Errorf("%v", r)
				}
			}
			if allowed < min(1, len(tt.reach)) || denied == 0 {
				t.Errorf("allowed %d, denied %d in the audit", allowed, denied)
			}
		})
	}
}
