package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sunaba/internal/session"
)

// client speaks raw lines with a server on stdio.
type client struct {
	t     *testing.T
	jobs  *fakeJobs
	srv   *Server
	in    *io.PipeWriter
	lines chan string
	done  chan error
	stop  context.CancelFunc
}

const clientMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// stdio runs test against a server inside a bubble: whatever would hang is
// reported as a deadlock at once.
func stdio(t *testing.T, cfg Config, test func(*client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		jobs := newFakeJobs()
		if cfg.Jobs == nil {
			cfg.Jobs = jobs
		}
		cfg.Texts = locale(t, "en")
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(context.Background())
		c := &client{t: t, jobs: jobs, srv: New(cfg), in: inW, lines: make(chan string, 4096), done: make(chan error, 1), stop: stop}
		go func() {
			c.done <- c.srv.ServeStdio(ctx, inR, outW, nil)
			outW.Close()
		}()
		go func() {
			defer close(c.lines)
			r := bufio.NewReader(outR)
			for {
				line, err := r.ReadString('\n')
				if line != "" {
					c.lines <- line
				}
				if err != nil {
					return
				}
			}
		}()
		test(c)
		stop()
		inW.Close()
		outR.Close()
		synctest.Wait()
	})
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// answer is a reply, decoded as far as the tests look into it.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
		ResultType      string `json:"resultType"`
		IsError         bool   `json:"isError"`
		Content         []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		Tools             []json.RawMessage `json:"tools"`
		SupportedVersions []string          `json:"supportedVersions"`
		Capabilities      json.RawMessage   `json:"capabilities"`
	} `json:"result"`
	raw string
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

func (a answer) text() string {
	var parts []string
	for _, c := range a.Result.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

func parseAnswer(t *testing.T, line string) answer {
	t.Helper()
	a := answer{raw: line}
	if err := json.Unmarshal([]byte(line), &a); err != nil || a.JSONRPC != "2.0" {
		t.Fatalf("not a JSON-RPC message: %q (%v)", line, err)
	}
	return a
}

func (c *client) recv() answer {
	c.t.Helper()
	line, ok := <-c.lines
	if !ok {
		c.t.Fatal("the server closed its output")
	}
	return parseAnswer(c.t, line)
}

// quiet reports that nothing more came out.
func (c *client) quiet() {
	c.t.Helper()
	synctest.Wait()
	select {
	case line, ok := <-c.lines:
		if ok {
			c.t.Fatalf("unexpected output: %q", line)
		}
	default:
	}
}

func (c *client) initialize(id string) answer {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, id))
	a := c.recv()
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func modernCall(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, args, clientMeta)
}

// Each bad line gets its reply, and the server goes on as if it had not come.
func TestStdioBadLines(t *testing.T) {
	const secret = "my-secret-prompt"
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	tests := []struct {
		name, line string
		code       int
		id         string
	}{
		{"not JSON", `{"jsonrpc":"2.0","id":1,` + secret, -32700, "null"},
		{"header of another framing", `Content-Length: 120`, -32700, "null"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, "null"},
		{"two messages on one line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, -32700, "null"},
		{"nested beyond reason", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`, -32700, "null"},
		{"nested beyond the SDK", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`, -32600, "1"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, "null"},
		{"number", `17`, -32600, "null"},
		{"string", `"` + secret + `"`, -32600, "null"},
		{"null", `null`, -32600, "null"},
		{"no version", `{"id":7,"method":"ping"}`, -32600, "7"},
		{"other version", `{"jsonrpc":"` + secret + `","id":7,"method":"ping"}`, -32600, "7"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "null"},
		{"fractional id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "null"},
		{"id beyond a double", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, "null"},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, "null"},
		{"method no string", `{"jsonrpc":"2.0","id":7,"method":5}`, -32600, "7"},
		{"no method, no result", `{"jsonrpc":"2.0","id":7}`, -32600, "7"},
		{"params array", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["` + secret + `"]}`, -32602, "7"},
		{"params string", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"` + secret + `"}`, -32602, "7"},
		{"meta no object", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":"` + secret + `","name":"agent_run"}}`, -32602, "7"},
		{"tool name no string", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5,"arguments":{"request":"` + secret + `"}}}`, -32602, "7"},
		{"cursor no string", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":["` + secret + `"]}}`, -32602, "7"},
		{"unknown method", `{"jsonrpc":"2.0","id":"x","method":"tasks/list"}`, -32601, `"x"`},
		{"unknown tool", call("7", "agent_delete", "{}"), -32602, "7"},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 3<<20) + `"}`, -32600, "null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdio(t, Config{Limits: Limits{MaxImageBytes: 1 << 10, MaxRequestBytes: 1 << 10}}, func(c *client) {
				c.initialize("0")
				c.send(tt.line)
				a := c.recv()
				if a.code() != tt.code || string(a.ID) != tt.id {
					t.Errorf("got code %d id %s, want %d %s: %.300s", a.code(), a.ID, tt.code, tt.id, a.raw)
				}
				if strings.Contains(a.raw, secret) || len(a.raw) > 400 {
					t.Errorf("the reply repeats the request: %.600s", a.raw)
				}
				c.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
				if a := c.recv(); string(a.ID) != `"after"` || a.Error != nil {
					t.Errorf("after it: %s", a.raw)
				}
				c.quiet()
			})
		})
	}
}

// Lines that need no answer get none.
func TestStdioSilentLines(t *testing.T) {
	for name, line := range map[string]string{
		"blank":                    "",
		"spaces":                   " \t ",
		"carriage return":          "\r",
		"unknown notification":     `{"jsonrpc":"2.0","method":"notifications/whatever"}`,
		"response":                 `{"jsonrpc":"2.0","id":4,"result":{}}`,
		"cancelled without id":     `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`,
		"cancelled without params": `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		"cancelled unknown id":     `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		"cancelled object id":      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		"initialized twice":        `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		t.Run(name, func(t *testing.T) {
			stdio(t, Config{}, func(c *client) {
				c.initialize("0")
				c.send(line)
				c.quiet()
				c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r")
				if a := c.recv(); a.Error != nil || string(a.ID) != "1" {
					t.Errorf("after it: %s", a.raw)
				}
			})
		})
	}
}

// A refused initialize leaves no half-open connection behind, and no request is
// answered by "internal error".
func TestStdioRefusedInitialize(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.initialize("0")
		c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`)
		if a := c.recv(); a.code() == 0 {
			t.Errorf("a broken initialize: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if a := c.recv(); a.code() != -32600 {
			t.Errorf("after it: %s", a.raw)
		}
		c.initialize("3")
		c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
		if a := c.recv(); len(a.Result.Tools) != 2 {
			t.Errorf("after a good one: %s", a.raw)
		}
	})
}

// All permitted images together may be more than a request may hold: that is
// said in words, on every transport, and is no line too long to be read.
func TestTheLineHoldsEveryPermittedImage(t *testing.T) {
	for _, l := range []Limits{{}, {MaxImages: 10, MaxImageBytes: 1 << 20, MaxRequestBytes: 1 << 20}, {MaxImages: 1, MaxImageBytes: 1, MaxRequestBytes: 9 << 20}} {
		s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, "en"), Limits: l})
		images := int64(s.limits.MaxImages) * s.limits.MaxImageBytes
		if least := max(images, s.limits.MaxRequestBytes) / 3 * 4; s.lineLimit() < least {
			t.Errorf("%+v: %d bytes, want %d", l, s.lineLimit(), least)
		}
	}
}

// Covers: MCP-2026-03
func TestStdioErasShareOnePipe(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.send("\xEF\xBB\xBF" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if a := c.recv(); a.code() != -32600 || string(a.ID) != "1" {
			t.Errorf("before initialize: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":"p","method":"server/discover"}`)
		if a := c.recv(); a.code() != -32601 {
			t.Errorf("discover of an old client: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + clientMeta + `}}`)
		if a := c.recv(); a.Error != nil || len(a.Result.SupportedVersions) == 0 || a.Result.SupportedVersions[0] != "2026-07-28" {
			t.Errorf("discover: %s", a.raw)
		}
		if a := c.initialize("2"); a.Error != nil || a.Result.ProtocolVersion != "2025-06-18" {
			t.Errorf("initialize: %s", a.raw)
		}
		c.send(modernCall("3", "agent_run", `{"request":"a"}`))
		if a := c.recv(); a.Error != nil || a.Result.ResultType != "complete" {
			t.Errorf("modern call: %s", a.raw)
		}
		c.send(call("4", "agent_run", `{"request":"b"}`))
		if a := c.recv(); a.Error != nil || a.Result.ResultType != "" {
			t.Errorf("legacy call: %s", a.raw)
		}
		if a := c.initialize("5"); a.Error != nil {
			t.Errorf("second initialize: %s", a.raw)
		}
		c.send(call("6", "agent_run", `{"request":"c"}`))
		if a := c.recv(); a.Error != nil {
			t.Errorf("after the second initialize: %s", a.raw)
		}
		owners := map[string]bool{}
		for _, r := range c.jobs.accepted() {
			owners[r.Owner] = true
		}
		if len(owners) != 1 || owners[""] {
			t.Errorf("one pipe is one owner, got %v", owners)
		}
		c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if a := c.recv(); a.code() != -32022 {
			t.Errorf("a version to come: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
		if a := c.recv(); a.code() != -32602 {
			t.Errorf("without clientCapabilities: %s", a.raw)
		}
	})
}

// A request that names an older version in its _meta belongs to the older era.
func TestStdioOlderVersionInMeta(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.initialize("0")
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}}`)
		if a := c.recv(); a.Error != nil || len(a.Result.Tools) != 2 {
			t.Errorf("got %s", a.raw)
		}
	})
}

// A retired connection still answers what it owes.
func TestStdioSecondInitializeKeepsRepliesOwed(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
		c.initialize("1")
		c.send(call("2", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":20}`))
		c.quiet()
		c.initialize("3")
		c.jobs.set(taskID, func(s *session.Status) { s.State = session.Completed })
		if a := c.recv(); string(a.ID) != "2" || a.Error != nil {
			t.Errorf("the open call: %s", a.raw)
		}
		c.quiet()
		if open := len(slices.Collect(c.srv.mcp.Sessions())); open != 1 {
			t.Errorf("%d connections of the SDK are open, want the last one", open)
		}
	})
}

// Covers: MCP-STS-01
func TestStdioCancelledWaitLeavesTheTask(t *testing.T) {
	for _, start := range []func(string, string, string) string{call, modernCall} {
		stdio(t, Config{}, func(c *client) {
			c.initialize("0")
			c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
			c.send(start("1", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":20}`))
			c.quiet()
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			c.quiet() // a cancelled request is not answered
			c.send(start("2", "agent_status", `{"task_id":"`+taskID+`"}`))
			if a := c.recv(); string(a.ID) != "2" || !strings.Contains(a.text(), "running") {
				t.Errorf("after a cancelled wait: %s", a.raw)
			}
			c.send(start("1", "agent_status", `{"task_id":"`+taskID+`"}`))
			if a := c.recv(); string(a.ID) != "1" || a.Error != nil {
				t.Errorf("the id is free again: %s", a.raw)
			}
		})
	}
}

func TestStdioDuplicateID(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.initialize("0")
		c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
		c.send(call("1", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":20}`))
		c.quiet()
		c.send(modernCall("1", "agent_status", `{"task_id":"`+taskID+`"}`))
		if a := c.recv(); a.code() != -32600 || string(a.ID) != "null" {
			t.Errorf("the second request of one id: %s", a.raw)
		}
		c.jobs.set(taskID, func(s *session.Status) { s.State = session.Completed })
		if a := c.recv(); string(a.ID) != "1" || !strings.Contains(a.text(), "completed") {
			t.Errorf("the first: %s", a.raw)
		}
	})
}

// Covers: REC-04
func TestStdioEndOfInput(t *testing.T) {
	t.Run("replies in flight go out first", func(t *testing.T) {
		stdio(t, Config{}, func(c *client) {
			c.initialize("0")
			c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
			c.send(call("1", "agent_status", `{"task_id":"`+taskID+`","wait_seconds":20}`))
			synctest.Wait()
			start := time.Now()
			io.WriteString(c.in, call("2", "agent_run", `{"request":"no newline after me"}`))
			c.in.Close()
			got := map[string]answer{}
			for range 2 {
				a := c.recv()
				got[string(a.ID)] = a
			}
			if a := got["1"]; !strings.Contains(a.text(), "running") {
				t.Errorf("the wait: %s", a.raw)
			}
			if a := got["2"]; !strings.Contains(a.text(), "queued") {
				t.Errorf("the last line: %s", a.raw)
			}
			if err := <-c.done; err != nil {
				t.Errorf("ended with %v", err)
			}
			if time.Since(start) > 0 {
				t.Errorf("the wait was sat out: %v", time.Since(start))
			}
			if owner := c.jobs.accepted()[0].Owner; len(c.jobs.ended) != 1 || c.jobs.ended[0] != owner {
				t.Errorf("ended owners %v, want %q", c.jobs.ended, owner)
			}
		})
	})
	t.Run("a handler that hangs is not waited for", func(t *testing.T) {
		stdio(t, Config{}, func(c *client) {
			release := make(chan struct{})
			defer close(release)
			c.jobs.onStatus = func() { <-release }
			c.initialize("0")
			c.send(call("1", "agent_status", `{"task_id":"`+taskID+`"}`))
			synctest.Wait()
			start := time.Now()
			c.in.Close()
			if err := <-c.done; err != nil || time.Since(start) != drainTime {
				t.Errorf("ended with %v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("context", func(t *testing.T) {
		stdio(t, Config{}, func(c *client) {
			c.initialize("0")
			c.stop()
			if err := <-c.done; err != nil || len(c.jobs.ended) != 1 {
				t.Errorf("ended with %v, owners %v", err, c.jobs.ended)
			}
		})
	})
	t.Run("before the first line", func(t *testing.T) {
		stdio(t, Config{}, func(c *client) {
			c.in.Close()
			if err := <-c.done; err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestStdioBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := newFakeJobs()
		r, w := io.Pipe()
		defer w.Close()
		done := make(chan error, 1)
		go func() {
			done <- New(Config{Jobs: jobs, Texts: locale(t, "en")}).ServeStdio(context.Background(), r, brokenWriter{}, nil)
		}()
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		if err := <-done; err != nil || len(jobs.ended) != 1 {
			t.Errorf("ended with %v, owners %v", err, jobs.ended)
		}
	})
}

// A client that stops reading does not keep the server from stopping.
func TestStdioClientDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := newFakeJobs()
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- New(Config{Jobs: jobs, Texts: locale(t, "en")}).ServeStdio(ctx, inR, outW, nil)
		}()
		io.WriteString(inW, "not JSON\n") // the reply to it blocks
		synctest.Wait()
		stop()
		if err := <-done; err != nil || len(jobs.ended) != 1 {
			t.Errorf("ended with %v, owners %v", err, jobs.ended)
		}
		outR.Close()
		inW.Close()
	})
}

func TestStdioPanicIsAnInternalError(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.jobs.onStatus = func() { panic("my-secret") }
		c.initialize("0")
		for _, line := range []string{
			call("1", "agent_status", `{"task_id":"`+taskID+`"}`),
			modernCall("1", "agent_status", `{"task_id":"`+taskID+`"}`),
		} {
			c.send(line)
			if a := c.recv(); a.code() != -32603 || strings.Contains(a.raw, "secret") {
				t.Errorf("got %s", a.raw)
			}
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if a := c.recv(); a.Error != nil {
			t.Errorf("after it: %s", a.raw)
		}
	})
}

// Two conversations and two hundred questions at once: every answer belongs to
// its question (mcp.concurrent).
func TestStdioConcurrentCalls(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.initialize("0")
		tasks := make([]string, 2)
		for i := range tasks {
			c.send(call(fmt.Sprint(i+1), "agent_run", `{"request":"x"}`))
			var facts queuedFacts
			if err := json.Unmarshal(c.recv().Result.StructuredContent, &facts); err != nil {
				t.Fatal(err)
			}
			tasks[i] = facts.TaskID
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range 200 {
			all.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				start := call
				if i%3 == 0 {
					start = modernCall
				}
				c.send(start(fmt.Sprint(1000+i), "agent_status", `{"task_id":"`+tasks[i%2]+`"}`))
			})
		}
		seen := map[int]bool{}
		for range 200 {
			a := c.recv()
			var id int
			var facts statusFacts
			if json.Unmarshal(a.ID, &id) != nil || json.Unmarshal(a.Result.StructuredContent, &facts) != nil {
				t.Fatalf("got %s", a.raw)
			}
			if seen[id] || facts.TaskID != tasks[(id-1000)%2] {
				t.Errorf("answer %d is about %s", id, facts.TaskID)
			}
			seen[id] = true
		}
		all.Wait()
	})
}

// A client that floods is told so; it does not make the server grow.
func TestStdioTooManyOpenRequests(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.initialize("0")
		c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
		for i := range maxInFlight {
			c.send(call(fmt.Sprint(i+1), "agent_status", `{"task_id":"`+taskID+`","wait_seconds":25}`))
		}
		c.quiet()
		c.send(call("99999", "agent_status", `{"task_id":"`+taskID+`"}`))
		if a := c.recv(); a.code() != -32603 || string(a.ID) != "99999" {
			t.Errorf("got %s", a.raw)
		}
		c.jobs.set(taskID, func(s *session.Status) { s.State = session.Completed })
		for range maxInFlight {
			if a := c.recv(); a.Error != nil {
				t.Fatalf("got %s", a.raw)
			}
		}
	})
}
