package ollamatest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start runs a server for one script.
func start(t *testing.T, text string) *Server {
	t.Helper()
	s, err := Parse(t.Name(), text)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// post sends a body and returns the status and the lines of the answer.
func post(t *testing.T, srv *Server, path, body string) (int, []string, error) {
	t.Helper()
	resp, err := http.Post(srv.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), err
}

const (
	userTurn = `{"model":"m","tools":[{}],"messages":[{"role":"user","content":"go"}],"options":{"num_ctx":4096}}`
	planTurn = `{"model":"m","format":{"type":"object"},"messages":[{"role":"user","content":"go"}]}`
)

func TestChunks(t *testing.T) {
	const calls = "\n## t\ncall a {\"x\":1}\ncall b {}\n"
	for _, c := range []struct {
		name, script, body string
		want               []string
	}{
		{"each call in a chunk of its own", calls, userTurn, []string{
			`{"model":"m","created_at":"2026-12-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_00000001","function":{"index":0,"name":"a","arguments":{"x":1}}}]},"done":false}`,
			`{"model":"m","created_at":"2026-12-01T00:00:00.001Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_00000002","function":{"index":1,"name":"b","arguments":{}}}]},"done":false}`,
			`{"model":"m","created_at":"2026-12-01T00:00:00.002Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":3000000,"prompt_eval_count":9,"eval_count":3}`,
		}},
		{"all calls in the last chunk, sharing an index", "wire native" + calls, userTurn, []string{
			`{"model":"m","created_at":"2026-12-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_00000001","function":{"index":0,"name":"a","arguments":{"x":1}}},{"id":"call_00000002","function":{"index":0,"name":"b","arguments":{}}}]},"done":true,"done_reason":"stop","total_duration":1000000,"prompt_eval_count":9,"eval_count":3}`,
		}},
		{"an empty conversation loads the model", "", `{"model":"m"}`, []string{
			`{"model":"m","created_at":"2026-12-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"load","total_duration":1000000}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, lines, err := post(t, start(t, c.script), "/api/chat", c.body)
			if err != nil || status != 200 {
				t.Fatal(status, err)
			}
			if d := cmp.Diff(c.want, lines); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestFailures holds the server's own words (OLLAMA.md §2).
func TestFailures(t *testing.T) {
	const withTools = `{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"a"}}]}`
	long := `{"model":"m","truncate":false,"options":{"num_ctx":8},"messages":[{"role":"user","content":"` + strings.Repeat("word ", 40) + `"}]}`
	for _, c := range []struct {
		name, script, body string
		status             int
		want               string
	}{
		{"no such model", "model other", userTurn, 404, `{"error":"model 'm' not found"}`},
		{"no tools", "capabilities completion", withTools, 400, `{"error":"\"m\" does not support tools"}`},
		{"no thinking", "capabilities completion", `{"model":"m","think":"high","messages":[{"role":"user"}]}`, 400, `{"error":"\"m\" does not support thinking"}`},
		{"busy", "## t\nbusy", userTurn, 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		{"crash", "## t\ncrash", userTurn, 500, `{"error":"llama runner process has terminated: exit status 2"}`},
		{"silent", "## t\nsilent-500", userTurn, 500, ``},
		{"signed out", "## t\nauth https://x.test/s", userTurn, 401, `{"error":"unauthorized","signin_url":"https://x.test/s"}`},
		{"too long", "", long, 400, `{"error":"the input length exceeds the context length"}`},
		{"too long, native", "wire native", long, 400, `{"error":"{\"error\":{\"code\":400,\"message\":\"request (58 tokens) exceeds the available context size (8 tokens), try increasing it\",\"n_ctx\":8,\"n_prompt_tokens\":58,\"type\":\"exceed_context_size_error\"}}"}`},
		{"option of another type", "", `{"model":"m","options":{"num_ctx":"8"},"messages":[{"role":"user"}]}`, 500, `{"error":"option \"num_ctx\" must be of type integer"}`},
		{"malformed call, native", "wire native\n## t\nmalformed a {", userTurn, 500, `{"error":"Failed to parse input at pos 0: a {"}`},
		{"an own status", "## t\nstatus 418 \"tea\"", userTurn, 418, `{"error":"tea"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, lines, err := post(t, start(t, c.script), "/api/chat", c.body)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lines, "\n"); status != c.status || got != c.want {
				t.Errorf("got %d %s\nwant %d %s", status, got, c.status, c.want)
			}
		})
	}
	if _, _, err := post(t, start(t, "## t\nsay hello\ncut"), "/api/chat", userTurn); err == nil {
		t.Error("a cut stream ended like a whole one")
	}
}

func TestSectionsAnswerInOrder(t *testing.T) {
	srv := start(t, `
## plan
say P
## passed over
when user contains "never"
say X
## twice
repeat 2
say A
## then
say B
expect user contains "stop"
`)
	said := func(body string) string {
		t.Helper()
		_, lines, err := post(t, srv, "/api/chat", body)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		for _, l := range lines {
			var c struct{ Message struct{ Content string } }
			if err := json.Unmarshal([]byte(l), &c); err != nil {
				t.Fatal(err)
			}
			text += c.Message.Content
		}
		return text
	}
	var got []string
	for _, body := range []string{userTurn, planTurn, userTurn, userTurn, userTurn} {
		got = append(got, said(body))
	}
	ended := "The script has ended: nothing is left for me to say."
	if d := cmp.Diff([]string{"A", "P", "A", "B", ended}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"passed over"}, srv.Unused()); d != "" {
		t.Error(d)
	}
	if got := srv.Problems(); len(got) != 1 || !strings.Contains(got[0], "then") {
		t.Errorf("problems %q", got)
	}
	var turns []string
	for _, r := range srv.Chats() {
		turns = append(turns, r.Turn)
	}
	if d := cmp.Diff([]string{"twice", "plan", "twice", "then", ""}, turns); d != "" {
		t.Error(d)
	}
}

// TestScriptEnds shows that an agent with a tool to finish is led to use it.
func TestScriptEnds(t *testing.T) {
	_, lines, err := post(t, start(t, ""), "/api/chat",
		`{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"finish_task"}}]}`)
	if err != nil || !strings.Contains(lines[0], `"name":"finish_task"`) || !strings.Contains(lines[0], `"outcome":"failed"`) {
		t.Error(err, lines)
	}
}

func TestOtherEndpoints(t *testing.T) {
	srv := start(t, "model m:1\ncapabilities tools vision\ncontext 512\nversion 9.9")
	for path, want := range map[string]string{
		"/":            "Ollama is running",
		"/api/version": `{"version":"9.9"}`,
		"/api/tags":    `{"models":[{"model":"m:1","name":"m:1","size":1048576}]}`,
		"/api/ps":      `{"models":[{"context_length":512,"model":"m:1","name":"m:1","size":1048576}]}`,
	} {
		resp, err := http.Get(srv.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(bytes.TrimSpace(b)) != want {
			t.Errorf("%s: %s", path, b)
		}
	}
	if status, lines, _ := post(t, srv, "/api/show", `{"model":"m:1"}`); status != 200 || !strings.Contains(lines[0], `"capabilities":["tools","vision"]`) {
		t.Error(status, lines)
	}
	if status, _, _ := post(t, srv, "/api/show", `{"model":"m:2"}`); status != 404 {
		t.Error(status)
	}
	if status, _, _ := post(t, srv, "/api/nothing", ``); status != 404 {
		t.Error(status)
	}
}
