package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/session"
)

const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// taskAnswer is an answer whose result is a Task.
type taskAnswer struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		CreatedAt, LastUpdatedAt                  string
		TTLMs                                     *int64
		PollIntervalMs                            int64
		Meta                                      map[string]any `json:"_meta"`
		Result                                    *struct {
			ResultType        string
			Content           []struct{ Text string }
			StructuredContent statusFacts
		}
		Error *struct {
			Code    int
			Message string
			Data    map[string]string
		}
	}
}

func task(t *testing.T, a answer) taskAnswer {
	t.Helper()
	var ta taskAnswer
	if a.Error != nil || json.Unmarshal([]byte(a.raw), &ta) != nil {
		t.Fatalf("no task: %s", a.raw)
	}
	return ta
}

func tasksRequest(method, id, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q,%s}}`, method, id, meta)
}

// Covers: MCP-2026-04, MCP-2026-05, MCP-2026-07
func TestTasksRunIsATask(t *testing.T) {
	stdio(t, Config{TTL: time.Hour, PollInterval: 3 * time.Second}, func(c *client) {
		run := func(meta string) answer {
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"},` + meta + `}}`)
			return c.recv()
		}
		ta := task(t, run(tasksMeta)).Result
		if ta.ResultType != "task" || ta.Status != "working" || ta.TTLMs == nil || *ta.TTLMs != 3_600_000 || ta.PollIntervalMs != 3000 {
			t.Errorf("got %+v", ta)
		}
		for _, stamp := range []string{ta.CreatedAt, ta.LastUpdatedAt} {
			if _, err := time.Parse(time.RFC3339, stamp); err != nil {
				t.Error(err)
			}
		}
		c.send(modernCall("2", "agent_status", `{"task_id":"`+ta.TaskID+`"}`))
		var facts statusFacts
		a := c.recv()
		if json.Unmarshal(a.Result.StructuredContent, &facts) != nil || facts.TaskID != ta.TaskID || facts.SessionID != ta.Meta[sessionMeta] {
			t.Errorf("agent_status on the same id: %s", a.raw)
		}
		if !strings.Contains(ta.StatusMessage, facts.SessionID) {
			t.Errorf("the message does not name the session: %q", ta.StatusMessage)
		}

		// Everyone else gets the text: who does not declare it, who says null
		// for it, and who declared it in the older handshake.
		if a := run(clientMeta); a.Result.ResultType != "complete" || !strings.Contains(a.text(), "queued") {
			t.Errorf("not declared: %s", a.raw)
		}
		if a := run(strings.Replace(tasksMeta, `tasks":{}`, `tasks":null`, 1)); a.Result.ResultType != "complete" {
			t.Errorf("declared as null: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"t","version":"1"}}}`)
		if a := c.recv(); a.Error != nil || strings.Contains(string(a.Result.Capabilities), "extensions") {
			t.Errorf("initialize: %s", a.raw)
		}
		c.send(call("4", "agent_run", `{"request":"x"}`))
		if a := c.recv(); a.Result.ResultType == "task" || !strings.Contains(a.text(), "queued") {
			t.Errorf("after initialize: %s", a.raw)
		}
		if a := run(strings.Replace(tasksMeta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, ``, 1)); a.Result.ResultType == "task" {
			t.Errorf("declared without a version: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{` + clientMeta + `}}`)
		if a := c.recv(); !strings.Contains(string(a.Result.Capabilities), `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
			t.Errorf("discover: %s", a.raw)
		}

		// A refused request is no Task, and agent_status never is one.
		c.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"agent_run","arguments":{},` + tasksMeta + `}}`)
		if a := c.recv(); a.Result.ResultType != "complete" || !a.Result.IsError {
			t.Errorf("refused: %s", a.raw)
		}
		c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":"` + ta.TaskID + `"},` + tasksMeta + `}}`)
		if a := c.recv(); a.Result.ResultType != "complete" || a.Result.IsError {
			t.Errorf("agent_status: %s", a.raw)
		}
	})
}

// Covers: MCP-2026-06
func TestTasksGetStates(t *testing.T) {
	for state, want := range map[session.State]string{
		session.Queued: "working", session.Planning: "working", session.Running: "working",
		session.Completed: "completed", session.Failed: "failed", session.Cancelled: "cancelled",
	} {
		t.Run(string(state), func(t *testing.T) {
			stdio(t, Config{}, func(c *client) {
				st := session.Status{TaskID: taskID, SessionID: sessionID, State: state, Result: "the answer",
					CreatedAt: time.Date(2026, 12, 1, 9, 0, 0, 0, time.FixedZone("JST", 9*3600)), Updated: time.Date(2026, 12, 1, 1, 0, 0, 5e6, time.UTC)}
				if state == session.Failed {
					st.Error = fault.New(fault.AgentServerRestarted, "recover")
				}
				c.jobs.put(st)
				c.send(tasksRequest("tasks/get", taskID, tasksMeta))
				ta := task(t, c.recv()).Result
				if ta.ResultType != "complete" || ta.TaskID != taskID || ta.Status != want || ta.Meta[sessionMeta] != sessionID {
					t.Errorf("got %+v", ta)
				}
				if ta.CreatedAt != "2026-12-01T00:00:00.000Z" || ta.LastUpdatedAt != "2026-12-01T01:00:00.005Z" {
					t.Errorf("times %s %s", ta.CreatedAt, ta.LastUpdatedAt)
				}
				if got := ta.Result != nil; got != (want == "completed") {
					t.Errorf("has a result: %v", got)
				}
				if got := ta.Error != nil; got != (want == "failed") {
					t.Errorf("has an error: %v", got)
				}
				if r := ta.Result; r != nil && (r.ResultType != "complete" || r.StructuredContent.Result != "the answer" || r.StructuredContent.SessionID != sessionID || !strings.Contains(r.Content[0].Text, "the answer")) {
					t.Errorf("result %+v", r)
				}
				if e := ta.Error; e != nil {
					if diff := cmp.Diff(map[string]string{"code": "agent.server_restarted", "task_id": taskID, "session_id": sessionID}, e.Data); diff != "" || e.Code <= -32000 && e.Code >= -32768 || e.Message == "" {
						t.Errorf("error %+v", e)
					}
				}
			})
		})
	}
}

func TestTasksUpdateAndCancel(t *testing.T) {
	stdio(t, Config{}, func(c *client) {
		c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
		for _, responses := range []string{`{}`, `{"k":{"action":"accept"},"other":5}`, `"nonsense"`, `null`} {
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"` + taskID + `","inputResponses":` + responses + `,` + tasksMeta + `}}`)
			if a := c.recv(); a.Error != nil || a.Result.ResultType != "complete" {
				t.Errorf("%s: %s", responses, a.raw)
			}
		}
		for range 2 { // the second finds the Task ended
			c.send(tasksRequest("tasks/cancel", taskID, tasksMeta))
			if a := c.recv(); a.Error != nil || a.Result.ResultType != "complete" {
				t.Errorf("cancel: %s", a.raw)
			}
		}
		c.send(tasksRequest("tasks/get", taskID, tasksMeta))
		if ta := task(t, c.recv()).Result; ta.Status != "cancelled" {
			t.Errorf("got %+v", ta)
		}
	})
}

func TestTasksRefuses(t *testing.T) {
	unknown := "33333333-3333-4333-8333-333333333333"
	tests := []struct {
		name, line string
		code       int
	}{
		{"unknown", tasksRequest("tasks/get", unknown, tasksMeta), -32602},
		{"unknown to update", tasksRequest("tasks/update", unknown, tasksMeta), -32602},
		{"unknown to cancel", tasksRequest("tasks/cancel", unknown, tasksMeta), -32602},
		{"no UUID", tasksRequest("tasks/get", "my-secret", tasksMeta), -32602},
		{"no id", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{` + tasksMeta + `}}`, -32602},
		{"id of other type", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":["my-secret"],` + tasksMeta + `}}`, -32602},
		{"not declared", tasksRequest("tasks/get", taskID, clientMeta), -32021},
		{"not declared for cancel", tasksRequest("tasks/cancel", taskID, clientMeta), -32021},
		{"an older client", tasksRequest("tasks/get", taskID, `"_meta":{}`), -32601},
		{"an older client without params", `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, -32601},
		{"list", tasksRequest("tasks/list", taskID, tasksMeta), -32601},
		{"result", tasksRequest("tasks/result", taskID, tasksMeta), -32601},
		{"subscription without declaring", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["` + taskID + `"]},` + clientMeta + `}}`, -32021},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdio(t, Config{}, func(c *client) {
				c.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
				c.initialize("0")
				c.send(tt.line)
				a := c.recv()
				if a.code() != tt.code || strings.Contains(a.raw, "secret") {
					t.Fatalf("got %s", a.raw)
				}
				if tt.code == -32021 && string(a.Error.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
					t.Errorf("data %s", a.Error.Data)
				}
				if st := c.jobs.tasks[taskID].status.State; st != session.Running {
					t.Errorf("the task is %s", st)
				}
			})
		})
	}
	t.Run("failures without a code", func(t *testing.T) {
		stdio(t, Config{}, func(c *client) {
			c.jobs.statusErr = errors.New("my-secret")
			c.send(tasksRequest("tasks/get", taskID, tasksMeta))
			if a := c.recv(); a.code() != -32603 || strings.Contains(a.raw, "secret") {
				t.Errorf("got %s", a.raw)
			}
		})
	})
}

// Over HTTP the routing headers have to agree with the body.
func TestTasksHTTP(t *testing.T) {
	h := serveHTTP(t, Config{}, "any")
	h.jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
	get := tasksRequest("tasks/get", taskID, tasksMeta)
	tests := []struct {
		name, body   string
		change       func(*http.Request)
		status, code int
	}{
		{"get", get, modern("tasks/get", taskID), 200, 0},
		{"name in base64", get, modern("tasks/get", "=?base64?MTExMTExMTEtMTExMS00MTExLTgxMTEtMTExMTExMTExMTEx?="), 200, 0},
		{"other name", get, modern("tasks/get", sessionID), 400, -32020},
		{"no name", get, modern("tasks/get", ""), 400, -32020},
		{"other method", get, modern("tasks/cancel", taskID), 400, -32020},
		{"unknown", tasksRequest("tasks/get", sessionID, tasksMeta), modern("tasks/get", sessionID), 400, -32602},
		{"not declared", tasksRequest("tasks/get", taskID, clientMeta), modern("tasks/get", taskID), 400, -32021},
		{"run", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"},` + tasksMeta + `}}`, modern("tools/call", "agent_run"), 200, 0},
		{"cancel", tasksRequest("tasks/cancel", taskID, tasksMeta), modern("tasks/cancel", taskID), 200, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, a := h.post(tt.body, tt.change)
			if resp.StatusCode != tt.status || a.code() != tt.code {
				t.Errorf("got %d: %s", resp.StatusCode, a.raw)
			}
		})
	}
}

// A client that listens gets an acknowledgement of nothing, and no stream that
// stays open: this server announces no changes.
func TestSubscriptionsEndAtOnce(t *testing.T) {
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"taskIds":["` + taskID + `"]},` + tasksMeta + `}}`
	stdio(t, Config{}, func(c *client) {
		c.send(listen)
		if line := <-c.lines; !strings.Contains(line, "acknowledged") || strings.Contains(line, "toolsListChanged\":true") {
			t.Errorf("got %s", line)
		}
		if a := c.recv(); a.Error != nil || string(a.ID) != "1" {
			t.Errorf("got %s", a.raw)
		}
	})
	h := serveHTTP(t, Config{}, "any")
	resp, a := h.post(listen, modern("subscriptions/listen", ""))
	if resp.StatusCode != 200 || !strings.Contains(a.raw, "acknowledged") {
		t.Errorf("got %d: %s", resp.StatusCode, a.raw)
	}
}
