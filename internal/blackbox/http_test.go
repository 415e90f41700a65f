package blackbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

var endpointIn = regexp.MustCompile(`http://\S+/mcp`)

// serveHTTP starts the server over HTTP and returns its endpoints.
func (h *house) serveHTTP(endpoints int) (*exec.Cmd, []string) {
	h.t.Helper()
	cmd := exec.Command(program, h.config)
	cmd.Env, cmd.Dir = h.environ(), h.dir
	errs := &lockedBuffer{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 500 {
		if found := endpointIn.FindAllString(errs.String(), -1); len(found) >= endpoints {
			return cmd, found[:endpoints]
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Fatalf("no ready message\n%s", errs)
	return nil, nil
}

// TestHTTP runs a job over Streamable HTTP, on IPv4 and IPv6, as a client of
// the older and of the present protocol; nothing but POST to /mcp is answered.
//
// Covers: AT-02, AT-03, MCP-TR-02, MCP-TR-03, MCP-TR-04, MCP-2026-01, MCP-2026-02, MCP-2026-03, SD-30, S1-097, S1-098
func TestHTTP(t *testing.T) {
	h := newHouse(t, "mcp: { transport: http, http: { listen: [\"127.0.0.1:0\", \"[::1]:0\"] } }\n")
	h.apply()
	cmd, endpoints := h.serveHTTP(2)
	for _, endpoint := range endpoints {
		for era, meta := range map[string]string{"legacy": "", "modern": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"outsider","version":"1"}}`} {
			t.Run(endpoint+" "+era, func(t *testing.T) {
				h.model.play("none", do("write_file", map[string]any{"path": era + ".txt", "content": "x"}))
				call := func(tool, args string) map[string]any {
					t.Helper()
					head := map[string]string{}
					if meta != "" {
						head = map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
					}
					code, m := post(t, endpoint, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, args, meta), head)
					r, _ := m["result"].(map[string]any)
					s, _ := r["structuredContent"].(map[string]any)
					if code != 200 || s == nil {
						t.Fatalf("%s: HTTP %d %v", tool, code, m)
					}
					return s
				}
				id := call("agent_run", `{"request":"write"}`)["task_id"]
				status := map[string]any{}
				for range 10 {
					status = call("agent_status", fmt.Sprintf(`{"task_id":%q,"wait_seconds":10}`, id))
					if status["status"] == "completed" {
						break
					}
				}
				if status["status"] != "completed" || h.read(era+".txt") != "x" {
					t.Errorf("%v", status)
				}
			})
		}
		for _, refused := range []struct {
			method string
			head   map[string]string
			want   int
		}{
			{http.MethodGet, nil, 405},
			{http.MethodDelete, nil, 405},
			{http.MethodPost, map[string]string{"Origin": "https://example.com"}, 403},
			{http.MethodPost, map[string]string{"Host": "example.com"}, 403},
		} {
			if code, m := request(t, refused.method, endpoint, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, refused.head); code != refused.want {
				t.Errorf("%s with %v: HTTP %d, want %d (%v)", refused.method, refused.head, code, refused.want, m)
			}
		}
		if code, _ := request(t, http.MethodGet, endpoint[:len(endpoint)-len("/mcp")]+"/sse", "", nil); code != 404 {
			t.Errorf("GET /sse: HTTP %d", code)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// TestHTTPOnlyLoopback: any other address is refused before anything listens.
//
// Covers: S1-245, S1-018
func TestHTTPOnlyLoopback(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "localhost:0", ":8765"} {
		h := newHouse(t, fmt.Sprintf("mcp: { transport: http, http: { listen: [%q] } }\n", listen))
		if code, _, errs := h.agent("apply", "--yes", h.config); code != 2 || !bytes.Contains([]byte(errs), []byte("agent.yaml:")) {
			t.Errorf("%s: exit %d\n%s", listen, code, errs)
		}
	}
}

func post(t *testing.T, url, body string, head map[string]string) (int, map[string]any) {
	t.Helper()
	return request(t, http.MethodPost, url, body, head)
}

func request(t *testing.T, method, url, body string, head map[string]string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range head {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	client := http.Client{Timeout: 40 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	_ = json.Unmarshal(text, &m)
	if m == nil {
		m = map[string]any{"text": string(text)}
	}
	return answer.StatusCode, m
}
