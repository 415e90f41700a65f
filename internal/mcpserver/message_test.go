package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestScrubbed(t *testing.T) {
	for _, tt := range []struct {
		in   jsonrpc.Error
		want jsonrpc.Error
	}{
		{jsonrpc.Error{Message: "my-secret"}, jsonrpc.Error{Code: -32603, Message: "internal error"}},
		{jsonrpc.Error{Code: -32602, Message: `unmarshaling "my-secret" into a X`}, jsonrpc.Error{Code: -32602, Message: "a parameter has the wrong type"}},
		{jsonrpc.Error{Code: -32601, Message: "method not found"}, jsonrpc.Error{Code: -32601, Message: "method not found"}},
		{jsonrpc.Error{Code: -32601, Message: `JSON RPC not handled: "my-secret" unsupported`}, jsonrpc.Error{Code: -32601, Message: "method not found"}},
		{jsonrpc.Error{Code: -32602, Message: `unknown tool "my-\"secret\""`}, jsonrpc.Error{Code: -32602, Message: "unknown tool …"}},
		{jsonrpc.Error{Code: -32602, Message: "Resource not found", Data: json.RawMessage(`{"uri":"my-secret"}`)}, jsonrpc.Error{Code: -32602, Message: "Resource not found"}},
		{jsonrpc.Error{Code: -32020, Message: "header value 'my-secret' does not match body value 'agent_run'"}, jsonrpc.Error{Code: -32020, Message: "header value … does not match body value 'agent_run'"}},
		{jsonrpc.Error{Code: -32602, Message: `missing _meta field "io.modelcontextprotocol/clientCapabilities"`}, jsonrpc.Error{Code: -32602, Message: `missing _meta field "io.modelcontextprotocol/clientCapabilities"`}},
		{jsonrpc.Error{Code: -32021, Message: "x", Data: json.RawMessage(`{"requiredCapabilities":{}}`)}, jsonrpc.Error{Code: -32021, Message: "x", Data: json.RawMessage(`{"requiredCapabilities":{}}`)}},
	} {
		if got := scrubbed(&tt.in); got.Code != tt.want.Code || got.Message != tt.want.Message || string(got.Data) != string(tt.want.Data) {
			t.Errorf("%+v became %+v", tt.in, got)
		}
	}
}

// FuzzStdio sends one arbitrary line to a real server. Whatever it is, nothing
// but JSON-RPC comes out, and the next request is answered.
func FuzzStdio(f *testing.F) {
	for _, method := range []string{
		"initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"logging/setLevel", "completion/complete", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel",
		"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
	} {
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q,"params":{"name":"agent_run","uri":"a:b","taskId":"x","arguments":{"request":"x"},%s}}`, method, tasksMeta))
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":%q,"params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""},"level":"debug","uri":"","protocolVersion":"2025-06-18","notifications":{}}}`, method))
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q,"params":null}`, method))
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":%q}`, method))
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"requestId":5,"progressToken":null}}`, method))
	}
	f.Add(`[]`)
	f.Add(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`)
	texts := locale(f, "en")
	f.Fuzz(func(t *testing.T, line string) {
		var out bytes.Buffer
		in := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
			line + "\n" + `{"jsonrpc":"2.0","id":"bye","method":"ping"}`
		if err := New(Config{Jobs: newFakeJobs(), Texts: texts}).ServeStdio(context.Background(), strings.NewReader(in), &out, nil); err != nil {
			t.Fatal(err)
		}
		answered := false
		for _, l := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			var m struct {
				JSONRPC string
				ID      any
				Error   *struct{ Code int64 }
			}
			if json.Unmarshal([]byte(l), &m) != nil || m.JSONRPC != "2.0" || m.Error != nil && m.Error.Code == 0 {
				t.Fatalf("wrote %q", l)
			}
			answered = answered || m.ID == "bye"
		}
		// The line itself may have cancelled the ping or used its id.
		if !answered && !strings.Contains(line, "bye") {
			t.Fatalf("no answer after it: %s", out.String())
		}
	})
}

// FuzzArguments throws arbitrary arguments at both tools: a result or an error
// of the protocol, never a panic.
func FuzzArguments(f *testing.F) {
	f.Add(`{"request":"x","session_id":"","temperature":"1","images":[{"mime_type":"image/png","data":"bXk="}],"client_request_id":"a"}`)
	f.Add(`{"task_id":"` + taskID + `","wait_seconds":"0","cancel":"true","offset":0}`)
	f.Add(`{"images":[null]}`)
	f.Add(`{"images":[{"data":5,"mime_type":[]}]}`)
	f.Add(`null`)
	texts := locale(f, "en")
	f.Fuzz(func(t *testing.T, args string) {
		if !json.Valid([]byte(args)) || strings.Contains(args, "wait_seconds") {
			t.Skip("not JSON, or would wait")
		}
		s := New(Config{Jobs: newFakeJobs(), Texts: texts})
		for _, known := range [][]string{{"request", "session_id", "temperature", "images", "client_request_id"}, {"task_id", "session_id", "cancel", "offset"}} {
			a, err := decodeArguments(json.RawMessage(args), known...)
			if err != nil {
				continue
			}
			a.text("request", maxRequestText)
			a.id("session_id")
			a.number("temperature", 0, 2)
			a.images("images", s.limits, 0)
			a.integer("offset", 0, 1<<53)
			a.boolean("cancel")
			if a.refused != nil && strings.HasPrefix(s.texts.Text(a.refused.key, a.refused.args), "input.") {
				t.Fatalf("no text for %s", a.refused.key)
			}
		}
	})
}
