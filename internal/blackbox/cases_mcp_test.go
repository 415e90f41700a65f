package blackbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wait reads on until the answer to request id comes; nil when it does not
// within the time of one other answered request after it.
func (c *client) exchange(lines ...string) map[string]map[string]any {
	c.t.Helper()
	for _, line := range lines {
		c.send(line)
	}
	c.next++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"end-%d","method":"ping"}`, c.next))
	got := map[string]map[string]any{}
	for {
		m := c.receive()
		id := fmt.Sprint(m["id"])
		if id == fmt.Sprintf("end-%d", c.next) {
			return got
		}
		got[id] = m
	}
}

// TestCasesMCP: what clients really send, and what they really bear.
//
// Covers: S1-060, S1-071, SD-24
func TestCasesMCP(t *testing.T) {
	t.Parallel()
	b := open(t, "", "logging: { level: debug }\n", nil)

	// A cancelled request gets no late success and the server goes on. The job
	// itself is stopped by agent_status (C-36, C-70).
	b.run(t, "MCP-001", func(t *testing.T) {
		b.model.play("execute", do("run_command", args{"command": "touch begun; sleep 1000"}))
		ticket, _ := b.c.tool("agent_run", args{"request": "wait"})
		b.await("begun")
		id := ticket["task_id"]
		b.c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":%q,"wait_seconds":25}}}`, id))
		began := time.Now()
		got := b.c.exchange(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"the person left"}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never sent"}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`)
		if slow := got["slow"]; slow != nil && slow["error"] == nil {
			t.Errorf("a late success: %v", slow)
		}
		status, _ := b.c.tool("agent_status", args{"task_id": id})
		if status["status"] != "running" || time.Since(began) > 20*time.Second {
			t.Errorf("%v after %v", status, time.Since(began))
		}
		b.c.tool("agent_status", args{"task_id": id, "cancel": true})
		if status, _ := b.c.end(id); status["status"] != "cancelled" {
			t.Errorf("%v", status)
		}
	})

	// Every answer belongs to its request and its job.
	b.run(t, "MCP-003", func(t *testing.T) {
		b.model.play("none")
		b.model.mu.Lock()
		b.model.turns = nil
		for range 3 {
			b.model.turns = append(b.model.turns, do("finish_task", args{"summary": "one", "outcome": "done"}))
		}
		b.model.mu.Unlock()
		var lines []string
		ids := map[string]string{}
		for _, name := range []string{"a", "b", "c"} {
			ticket, _ := b.c.tool("agent_run", args{"request": "job " + name})
			ids[name] = ticket["task_id"].(string)
		}
		for i := range 200 {
			name := string("abc"[i%3])
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s-%d","method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":%q}}}`, name, i, ids[name]))
		}
		got := map[string]map[string]any{}
		for len(lines) > 0 {
			n := min(20, len(lines))
			for id, m := range b.c.exchange(lines[:n]...) {
				got[id] = m
			}
			lines = lines[n:]
		}
		for len(got) < 200 {
			m := b.c.receive()
			got[fmt.Sprint(m["id"])] = m
		}
		for id, m := range got {
			s := m["result"].(args)["structuredContent"].(args)
			if s["task_id"] != ids[id[:1]] {
				t.Errorf("%s got the status of %v", id, s["task_id"])
			}
		}
		for name, id := range ids {
			if status, _ := b.c.end(id); status["status"] != "completed" {
				t.Errorf("%s: %v", name, status)
			}
		}
	})

	// A long answer comes in pages of a known size, the answer first.
	b.run(t, "MCP-005", func(t *testing.T) {
		long := "The point. " + strings.Repeat("日本語 and more. ", 20000)
		b.model.play("none")
		b.model.mu.Lock()
		b.model.turns = []turn{do("finish_task", args{"summary": long, "outcome": "done"})}
		b.model.mu.Unlock()
		status, text := b.c.job("write much")
		id, whole, pages := status["task_id"], "", 0
		first, _ := status["result"].(string)
		if !strings.HasPrefix(first, "The point.") || !strings.Contains(text, "offset") {
			t.Errorf("%s", clip(text))
		}
		for offset := 0; ; pages++ {
			status, text := b.c.tool("agent_status", args{"task_id": id, "offset": offset})
			page, _ := status["result"].(string)
			if len(page) > 12<<10 || len(text) > 14<<10 {
				t.Fatalf("a page of %d bytes", len(page))
			}
			whole += page
			next, _ := status["next_offset"].(float64)
			if next == 0 || pages > 200 {
				break
			}
			offset = int(next)
		}
		if !strings.Contains(whole, strings.TrimSpace(long)) {
			t.Errorf("%d of %d bytes in %d pages", len(whole), len(long), pages)
		}
	})

	// Nothing but MCP on standard output (receive fails otherwise), whatever
	// comes in; children do not have it.
	b.run(t, "MCP-007", func(t *testing.T) {
		for _, line := range []string{`garbage`, ``, `{`, `{"jsonrpc":"2.0"}`, `[]`, `"x"`, `{"jsonrpc":"2.0","id":1e3,"method":"no/such"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, strings.Repeat("[", 100000), "\x00\xff", `{"jsonrpc":"2.0","method":"no/such"}`} {
			b.c.exchange(line)
		}
		b.c.call("tools/list", "{}")
		b.c.call("no/such", "{}")
		if got, _ := b.shell("for fd in /proc/self/fd/*; do readlink $fd; done; echo noise; echo noise >&2; echo noise >/proc/1/fd/1; ls -l /proc/1/fd 2>/dev/null"); strings.Contains(got.text, "socket:") {
			t.Errorf("descriptors: %s", got.text)
		}
		if status := b.try("list_files", args{}); !status.ok {
			t.Error("afterwards nothing works")
		}
	})

	// A client that gives up after 60 s never has to: the id comes at once, and
	// no wait is longer than 25 s, whatever is asked for.
	b.run(t, "MCP-009", func(t *testing.T) {
		b.model.play("execute", do("run_command", args{"command": "touch begun2; sleep 1000"}))
		began := time.Now()
		ticket, _ := b.c.tool("agent_run", args{"request": "wait"})
		if took := time.Since(began); took > 10*time.Second || ticket["status"] != "queued" {
			t.Errorf("agent_run: %v after %v", ticket, took)
		}
		b.await("begun2")
		began = time.Now()
		status, _ := b.c.tool("agent_status", args{"task_id": ticket["task_id"], "wait_seconds": 1})
		if took := time.Since(began); took > 10*time.Second || status["status"] != "running" {
			t.Errorf("agent_status: %v after %v", status, took)
		}
		b.c.tool("agent_status", args{"task_id": ticket["task_id"], "cancel": true})
	})

	// Numbers and booleans as text are taken, what is ambiguous is named, and
	// text that looks like JSON stays text.
	b.run(t, "MCP-011", func(t *testing.T) {
		b.model.play("none")
		status, _ := b.c.job(`["a","b"]`)
		id := status["task_id"]
		if got, text := b.c.tool("agent_status", args{"task_id": id, "wait_seconds": "1", "cancel": "false", "offset": "0"}); got["status"] != "completed" {
			t.Errorf("%v %s", got, text)
		}
		asked := false
		for _, body := range b.model.bodies {
			asked = asked || strings.Contains(body, `[\"a\",\"b\"]`)
		}
		if !asked {
			t.Error("the request did not reach the model as it was")
		}
		for _, bad := range []struct {
			tool  string
			a     args
			field string
		}{
			{"agent_status", args{"task_id": id, "wait_seconds": "soon"}, "wait_seconds"},
			{"agent_status", args{"task_id": id, "wait_seconds": []int{1}}, "wait_seconds"},
			{"agent_status", args{"task_id": id, "wait_seconds": 1.5}, "wait_seconds"},
			{"agent_status", args{"task_id": id, "cancel": "yes"}, "cancel"},
			{"agent_status", args{"task_id": id, "cancel": 1}, "cancel"},
			{"agent_status", args{"task_id": id, "offset": -1}, "offset"},
			{"agent_status", args{"task_id": 7}, "task_id"},
			{"agent_run", args{"request": []string{"x"}}, "request"},
			{"agent_run", args{"request": args{"text": "x"}}, "request"},
			{"agent_run", args{"request": "x", "temperature": "hot"}, "temperature"},
			{"agent_run", args{"request": "x", "images": `"none"`}, "images"},
		} {
			got, text := b.c.tool(bad.tool, bad.a)
			if got["isError"] != true || !strings.Contains(text, bad.field) {
				t.Errorf("%v: %v %q", bad.a, got, text)
			}
		}
	})

	// No arguments are none; what is no object is a protocol error; an unknown
	// one is named, and so are the known.
	b.run(t, "MCP-013", func(t *testing.T) {
		for _, tool := range []string{"agent_run", "agent_status"} {
			for arguments, want := range map[string]string{
				"": "isError", `,"arguments":{}`: "isError", `,"arguments":null`: "-32602",
				`,"arguments":[]`: "-32602", `,"arguments":"x"`: "-32602", `,"arguments":7`: "-32602", `,"arguments":true`: "-32602", `,"arguments":"{}"`: "-32602",
			} {
				got := b.c.call("tools/call", fmt.Sprintf(`{"name":%q%s}`, tool, arguments))
				e, _ := got["error"].(args)
				if want == "isError" && got["isError"] != true || want != "isError" && fmt.Sprint(e["code"]) != want {
					t.Errorf("%s %s: %v", tool, arguments, got)
				}
			}
		}
		for _, more := range []string{"policy", "modell", "paths", "sandbox", "system_prompt", "requests"} {
			got, text := b.c.tool("agent_run", args{"request": "x", more: "y"})
			if got["isError"] != true || !strings.Contains(text, more) || !strings.Contains(text, "client_request_id") {
				t.Errorf("%s: %v %q", more, got, text)
			}
		}
		list := b.c.call("tools/list", "{}")
		raw, _ := json.Marshal(list)
		if strings.Count(string(raw), `"additionalProperties":false`) < 2 {
			t.Errorf("the schemas do not say that other fields are refused: %s", raw)
		}
		if got := b.c.call("tools/call", `{"name":"no_such_tool","arguments":{}}`); got["error"] == nil && got["isError"] != true {
			t.Errorf("%v", got)
		}
	})
	if code := b.c.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
