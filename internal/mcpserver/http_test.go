package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// site is a server on HTTP with its access log.
type site struct {
	t    *testing.T
	jobs *fakeJobs
	url  string
	stop context.CancelFunc
	done chan error

	mu      sync.Mutex
	records []AccessRecord
}

func serveHTTP(t *testing.T, cfg Config, peer string, addrs ...string) *site {
	t.Helper()
	if len(addrs) == 0 {
		addrs = []string{"127.0.0.1:0"}
	}
	h := &site{t: t, jobs: newFakeJobs(), done: make(chan error, 1)}
	if cfg.Jobs == nil {
		cfg.Jobs = h.jobs
	}
	cfg.Texts = locale(t, "en")
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	ready := make(chan []string, 1)
	go func() {
		h.done <- New(cfg).ListenAndServe(ctx, addrs, peer, func(e []string) { ready <- e }, func(r AccessRecord) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.records = append(h.records, r)
		})
	}()
	t.Cleanup(func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
		<-h.done
		h.done <- nil
	})
	select {
	case e := <-ready:
		h.url = e[0]
	case err := <-h.done:
		h.done <- err
		t.Fatal(err)
	}
	return h
}

// post sends body with the headers a client sends; each change edits them.
func (h *site) post(body string, changes ...func(*http.Request)) (*http.Response, answer) {
	h.t.Helper()
	r, err := http.NewRequest(http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, change := range changes {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	a := answer{raw: string(raw)}
	if resp.Header.Get("Content-Type") == "application/json" {
		a = parseAnswer(h.t, string(raw))
	}
	return resp, a
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// modern sets the routing headers of 2026-07-28.
func modern(method, name string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
}

// Covers: MCP-TR-03, MCP-TR-04, MCP-2026-01, MCP-2026-02, MCP-2026-03, AT-03
func TestHTTPEras(t *testing.T) {
	h := serveHTTP(t, Config{Version: "1.2.3"}, "any")

	resp, a := h.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+clientMeta+`}}`, modern("server/discover", ""))
	if resp.StatusCode != 200 || len(a.Result.SupportedVersions) == 0 || !strings.Contains(a.raw, `"ttlMs":300000`) || !strings.Contains(a.raw, `"1.2.3"`) {
		t.Errorf("discover: %d %s", resp.StatusCode, a.raw)
	}
	resp, a = h.post(modernCall("2", "agent_run", `{"request":"x"}`), modern("tools/call", "agent_run"))
	if resp.StatusCode != 200 || a.Error != nil || a.Result.ResultType != "complete" || !strings.Contains(a.text(), "queued") {
		t.Errorf("modern call: %d %s", resp.StatusCode, a.raw)
	}
	if resp.Header.Get("Mcp-Session-Id") != "" {
		t.Error("a session id was issued")
	}
	resp, a = h.post(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if resp.StatusCode != 200 || a.Result.ProtocolVersion != "2025-11-25" || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("initialize: %d %s", resp.StatusCode, a.raw)
	}
	if resp, a = h.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, header("MCP-Protocol-Version", "2025-11-25")); resp.StatusCode != 202 || a.raw != "" {
		t.Errorf("notification: %d %s", resp.StatusCode, a.raw)
	}
	if resp, a = h.post(`{"jsonrpc":"2.0","method":"notifications/whatever"}`); resp.StatusCode != 202 || a.raw != "" {
		t.Errorf("unknown notification: %d %s", resp.StatusCode, a.raw)
	}
	resp, a = h.post(call("4", "agent_run", `{"request":"y"}`), header("MCP-Protocol-Version", "2025-11-25"), header("Mcp-Session-Id", "stale"))
	if resp.StatusCode != 200 || a.Error != nil || a.Result.ResultType != "" {
		t.Errorf("legacy call: %d %s", resp.StatusCode, a.raw)
	}
	for _, r := range h.jobs.accepted() {
		if r.Owner != "" {
			t.Errorf("a Task over HTTP is owned by %q", r.Owner)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS", "HEAD"} {
		resp, _ := h.post("", func(r *http.Request) { r.Method = method; r.Header.Set("Accept", "text/event-stream") })
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
}

func TestHTTPRefusesWhatIsMalformed(t *testing.T) {
	const secret = "my-secret"
	h := serveHTTP(t, Config{Limits: Limits{MaxImageBytes: 1 << 10, MaxRequestBytes: 1 << 10}}, "any")
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + clientMeta + `}}`
	tests := []struct {
		name, body   string
		change       func(*http.Request)
		status, code int
	}{
		{"not JSON", secret, nil, 400, -32700},
		{"nothing", ``, nil, 400, -32700},
		{"batch", `[` + list + `]`, nil, 400, -32600},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["my-secret"]}`, nil, 400, -32602},
		{"tool name no string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["my-secret"]}}`, nil, 200, -32602},
		{"arguments null", call("1", "agent_run", "null"), nil, 200, -32602},
		{"arguments null, modern", modernCall("1", "agent_run", "null"), modern("tools/call", "agent_run"), 400, -32602},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"my-secret/list"}`, nil, 200, -32601},
		{"unknown method, modern", `{"jsonrpc":"2.0","id":1,"method":"tasks/list","params":{` + clientMeta + `}}`, modern("tasks/list", ""), 404, -32601},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, modern("tools/list", ""), 400, -32602},
		{"version to come", strings.Replace(list, "2026-07-28", "2027-01-01", 1), func(r *http.Request) { modern("tools/list", "")(r); r.Header.Set("MCP-Protocol-Version", "2027-01-01") }, 400, -32022},
		{"version differs from header", list, func(r *http.Request) { modern("tools/list", "")(r); r.Header.Set("MCP-Protocol-Version", "2026-07-29") }, 400, -32020},
		{"method differs from header", list, modern("tools/call", ""), 400, -32020},
		{"name differs from header", modernCall("1", "agent_run", `{}`), modern("tools/call", "agent_status"), 400, -32020},
		{"name not base64", modernCall("1", "agent_run", `{}`), modern("tools/call", "=?base64?***?="), 400, -32020},
		{"no event stream accepted", list, header("Accept", "application/json"), 400, -32600},
		{"other content type", list, header("Content-Type", "text/plain"), 415, 0},
		{"form", list, header("Content-Type", "application/x-www-form-urlencoded"), 415, 0},
		{"too large", strings.Repeat(" ", 3<<20) + list, nil, 413, 0},
		{"other path", list, func(r *http.Request) { r.URL.Path = "/" }, 404, 0},
		{"path beneath", list, func(r *http.Request) { r.URL.Path = "/mcp/" }, 404, 0},
		{"event stream of old", list, func(r *http.Request) { r.Method = "GET"; r.URL.Path = "/sse" }, 404, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.change == nil {
				tt.change = func(*http.Request) {}
			}
			resp, a := h.post(tt.body, tt.change)
			if resp.StatusCode != tt.status || a.code() != tt.code || strings.Contains(a.raw, secret) {
				t.Errorf("got %d, code %d, want %d, %d: %s", resp.StatusCode, a.code(), tt.status, tt.code, a.raw)
			}
		})
	}
	t.Run("the same with nothing wrong", func(t *testing.T) {
		resp, a := h.post(list, modern("tools/list", ""))
		if resp.StatusCode != 200 || len(a.Result.Tools) != 2 {
			t.Errorf("got %d: %s", resp.StatusCode, a.raw)
		}
		resp, a = h.post(modernCall("1", "agent_run", `{"request":"x"}`), modern("tools/call", "=?base64?YWdlbnRfcnVu?="))
		if resp.StatusCode != 200 || a.Error != nil {
			t.Errorf("name in base64: %d: %s", resp.StatusCode, a.raw)
		}
	})
}

// Covers: SD-30, C-43
func TestHTTPHostAndOrigin(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	tests := []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:99", "", 200},
		{"localhost", "", 200},
		{"LocalHost:80", "http://localhost:3000", 200},
		{"[::1]:80", "https://[::1]", 200},
		{"127.8.9.1", "http://127.0.0.1:1", 200},
		{"rebound.example", "", 403},
		{"localhost.rebound.example", "", 403},
		{"127.0.0.1.rebound.example:80", "", 403},
		{"0.0.0.0", "", 403},
		{"192.168.1.2", "", 403},
		{"localhost@rebound.example", "", 403},
		{"localhost", "http://rebound.example", 403},
		{"localhost", "http://localhost.rebound.example", 403},
		{"localhost", "http://localhost@rebound.example", 403},
		{"localhost", "null", 403},
		{"localhost", "file://", 403},
		{"localhost", "chrome-extension://localhost", 403},
		{"localhost", "%%", 403},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.origin, func(t *testing.T) {
			resp, a := h.post(call("1", "agent_run", `{"request":"x"}`), func(r *http.Request) {
				r.Host = tt.host
				if tt.origin != "" {
					r.Header.Set("Origin", tt.origin)
				}
			})
			if resp.StatusCode != tt.status {
				t.Errorf("got %d, want %d: %s", resp.StatusCode, tt.status, a.raw)
			}
		})
	}
	resp, _ := h.post(call("1", "agent_run", `{"request":"x"}`), func(r *http.Request) {
		r.Header["Origin"] = []string{"http://localhost", "http://rebound.example"}
	})
	if resp.StatusCode != 403 {
		t.Errorf("a second Origin: %d", resp.StatusCode)
	}
}

// Covers: S1-100, S1-101, S1-102
func TestHTTPAccessLog(t *testing.T) {
	const secret = "my-secret"
	h := serveHTTP(t, Config{}, "any")
	h.post(modernCall("1", "agent_run", `{"request":"`+secret+`"}`), modern("tools/call", "agent_run"), func(r *http.Request) {
		r.URL.RawQuery = "token=" + secret
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Cookie", "a="+secret)
		r.Header.Set("X-Forwarded-For", "10.9.8.7")
		r.Header.Set("Forwarded", "for=10.9.8.7")
	})
	h.post("", func(r *http.Request) { r.URL.Path = "/other" })
	h.stop()
	if err := <-h.done; err != nil {
		t.Error(err)
	}
	h.done <- nil
	if len(h.records) != 2 {
		t.Fatalf("%d records", len(h.records))
	}
	got := h.records[0]
	host, _, _ := net.SplitHostPort(got.Remote)
	if host != "127.0.0.1" || "http://"+got.Local+"/mcp" != h.url || got.Duration < 0 {
		t.Errorf("addresses %q %q", got.Remote, got.Local)
	}
	if all := fmt.Sprintf("%+v", h.records); strings.Contains(all, secret) || strings.Contains(all, "10.9.8.7") {
		t.Errorf("tells too much: %s", all)
	}
	got.Remote, got.Local, got.Duration = "", "", 0
	if diff := cmp.Diff(AccessRecord{Method: "POST", Path: "/mcp", Status: 200, Protocol: "2026-07-28", MCPMethod: "tools/call", MCPName: "agent_run"}, got); diff != "" {
		t.Error(diff)
	}
	if h.records[1].Status != 404 || h.records[1].Path != "/other" {
		t.Errorf("a refused request: %+v", h.records[1])
	}
}

// Covers: MCP-TR-02, S1-097, AT-02
func TestHTTPListensOnLoopbackOnly(t *testing.T) {
	s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, "en")})
	for _, addr := range []string{
		"0.0.0.0:0", "[::]:0", ":0", "localhost:0", "192.168.0.1:0", "[::ffff:127.0.0.1]:0",
		"[fe80::1%lo]:0", "[::1%lo]:0", "127.0.0.1", "example.com:80", "/run/socket", "",
	} {
		ready := false
		err := s.ListenAndServe(t.Context(), []string{"127.0.0.1:0", addr}, "any", func([]string) { ready = true }, nil)
		if fault.CodeOf(err) != fault.MCPNotLoopback || ready {
			t.Errorf("%q: %v, ready %v", addr, err, ready)
		}
	}
	if err := s.ListenAndServe(t.Context(), nil, "any", nil, nil); fault.CodeOf(err) != fault.MCPListen {
		t.Errorf("no address: %v", err)
	}
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	err = s.ListenAndServe(t.Context(), []string{taken.Addr().String()}, "any", func([]string) { t.Error("ready") }, nil)
	if fault.CodeOf(err) != fault.MCPListen {
		t.Errorf("a taken port: %v", err)
	}
	if err := s.ListenAndServe(t.Context(), []string{"127.0.0.1:0"}, "everyone", nil, nil); fault.CodeOf(err) != fault.MCPPeerCheck {
		t.Errorf("an unknown kind of peer: %v", err)
	}
}

// Covers: AT-02
func TestHTTPBothFamilies(t *testing.T) {
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("no IPv6 loopback here")
	} else {
		l.Close()
	}
	h := serveHTTP(t, Config{}, "any", "[::1]:0", "127.0.0.1:0")
	if !strings.HasPrefix(h.url, "http://[::1]:") {
		t.Fatalf("endpoint %s", h.url)
	}
	if resp, a := h.post(call("1", "agent_run", `{"request":"x"}`)); resp.StatusCode != 200 {
		t.Errorf("got %d: %s", resp.StatusCode, a.raw)
	}
}

// Stopping ends waits early, and the client still gets its answer.
func TestHTTPStopAnswersWaits(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	h.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
	var once sync.Once
	h.jobs.onStatus = func() { once.Do(h.stop) }
	resp, a := h.post(call("1", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":25}`))
	if resp.StatusCode != 200 || !strings.Contains(a.text(), "running") {
		t.Errorf("got %d: %s", resp.StatusCode, a.raw)
	}
	if err := <-h.done; err != nil {
		t.Error(err)
	}
	h.done <- nil
}

// The end of a request over stateless HTTP ends no Task (REC-05).
//
// Covers: REC-05
func TestHTTPClientGoneLeavesTheTask(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	h.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
	ctx, leave := context.WithCancel(context.Background())
	var once sync.Once
	h.jobs.onStatus = func() { once.Do(leave) }
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(modernCall("1", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":25}`)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	modern("tools/call", "agent_status")(r)
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, a := h.post(call("2", "agent_status", `{"task_id":"`+taskID+`"}`))
	if !strings.Contains(a.text(), "running") || len(h.jobs.ended) != 0 {
		t.Errorf("got %s, ended %v", a.raw, h.jobs.ended)
	}
}

func TestHTTPPanicIsAnInternalError(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	h.jobs.onStatus = func() { panic("my-secret") }
	_, a := h.post(call("1", "agent_status", `{"task_id":"`+taskID+`"}`))
	if a.code() != -32603 || strings.Contains(a.raw, "secret") {
		t.Errorf("got %s", a.raw)
	}
}

func TestHTTPLargeImage(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	data := strings.Repeat("QUFB", 4<<20/3) // 4 MiB, beyond the SDK's own limit once encoded
	resp, a := h.post(call("1", "agent_run", `{"request":"x","images":[{"mime_type":"image/png","data":"`+data+`"}]}`))
	if resp.StatusCode != 200 || a.Error != nil || a.Result.IsError || len(h.jobs.accepted()) != 1 {
		t.Errorf("got %d: %.300s", resp.StatusCode, a.raw)
	}
}

// Exactly two tools, described with scalar types only (NFR-04, MCP-RUN-05).
//
// Covers: NFR-04, MCP-RUN-05
func TestHTTPTwoTools(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	_, a := h.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var names []string
	for _, raw := range a.Result.Tools {
		var tool struct {
			Name, Description string
			InputSchema       struct {
				Properties map[string]struct{ Type json.RawMessage }
			}
			Annotations map[string]any
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		for name, p := range tool.InputSchema.Properties {
			if kindOf(p.Type) != "string" {
				t.Errorf("%s.%s has type %s", tool.Name, name, p.Type)
			}
			if strings.Contains(name, "model") || strings.Contains(name, "prompt") || strings.Contains(name, "path") {
				t.Errorf("%s takes %s", tool.Name, name)
			}
		}
		if !strings.Contains(tool.Description, "agent_") || len(tool.Annotations) == 0 {
			t.Errorf("%s does not state the two steps: %s", tool.Name, raw)
		}
	}
	if diff := cmp.Diff([]string{"agent_run", "agent_status"}, names); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(a.raw, "outputSchema") || strings.Contains(a.raw, "null") {
		t.Errorf("got %s", a.raw)
	}
}
