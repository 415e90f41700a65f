package ollama

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"sunaba/internal/agent"
	"sunaba/tool"
)

// Covers: OLL-03, OLL-05, OLL-06, OLL-14a, OLL-14d
func TestBody(t *testing.T) {
	c, err := New(Config{
		BaseURL: "http://h", Model: "m", Think: "low", KeepAlive: 90 * time.Second, NumCtx: 4096,
		Options: map[string]any{"temperature": 0.2, "top_k": 40, "num_ctx": 1},
		Extra:   map[string]any{"future": []int{1}, "top_k": 1, "num_ctx": 2, "num_predict": -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	hot := 1.5
	schema := json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)
	got, err := c.body(agent.ChatRequest{
		Temperature: &hot,
		Tools:       []tool.Spec{{Name: "z", Description: "<d>", Parameters: schema}, {Name: "a", Parameters: schema}},
		Messages: []agent.Message{
			{Role: agent.RoleUser, Content: "a & b", Thinking: "not mine"},
			{Role: agent.RoleAssistant, Thinking: "hm", ToolCalls: []agent.ToolCall{
				{ID: "1", Name: "z", Arguments: json.RawMessage(`{"n":12345678901234567890}`)},
				{Name: "z", Arguments: json.RawMessage(`{"cut":`)},
			}},
			{Role: agent.RoleTool, Content: "r", ToolName: "z", ToolCallID: "1"},
			{Role: agent.RoleAssistant, Content: "done", Thinking: "secret"},
		},
	}, c.thinking())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","stream":true,"think":"low","keep_alive":"1m30s","truncate":false,"shift":false,` +
		`"options":{"future":[1],"num_ctx":4096,"num_predict":2048,"temperature":1.5,"top_k":40},` +
		`"tools":[{"type":"function","function":{"name":"z","description":"<d>","parameters":` + string(schema) + `}},` +
		`{"type":"function","function":{"name":"a","description":"","parameters":` + string(schema) + `}}],` +
		`"messages":[{"role":"user","content":"a & b"},` +
		`{"role":"assistant","content":"","thinking":"hm","tool_calls":[` +
		`{"id":"1","function":{"index":0,"name":"z","arguments":{"n":12345678901234567890}}},` +
		`{"function":{"index":1,"name":"z","arguments":{}}}]},` +
		`{"role":"tool","content":"r","tool_name":"z","tool_call_id":"1"},` +
		`{"role":"assistant","content":"done"}]}` + "\n"
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFormatSilencesTools: the grammar wins on every server, so the tools
// would only cost tokens (and crash some).
func TestFormatSilencesTools(t *testing.T) {
	c, err := New(Config{BaseURL: "http://h", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	r := ask
	for _, want := range []bool{true, false} {
		b, err := c.body(r, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(b, []byte(`"tools":`)); got != want {
			t.Errorf("tools sent: %v, want %v", got, want)
		}
		r.Format = json.RawMessage(`{"type":"object"}`)
	}
}

// TestHeadIsByteStable: a conversation that grows only appends to its request.
func TestHeadIsByteStable(t *testing.T) {
	c, err := New(Config{BaseURL: "http://h", Model: "m", Options: map[string]any{"seed": 1, "top_p": 0.5, "min_p": 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	r := ask
	before, err := c.body(r, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], agent.Message{Role: agent.RoleUser, Content: string(rune('a' + i))})
		after, err := c.body(r, "")
		if err != nil {
			t.Fatal(err)
		}
		if head := bytes.TrimSuffix(before, []byte("]}\n")); !bytes.HasPrefix(after, head) {
			t.Fatalf("%s\nis no prefix of\n%s", head, after)
		}
		before = after
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name      string
		window    int
		option    any
		asked     int
		predict   int
		keepAlive time.Duration
		keep      string
	}{
		{"the default", 16384, nil, 0, 4096, 0, `0`},
		{"a small window", 2048, nil, 0, 1024, time.Second, `"1s"`},
		{"configured", 16384, 9000, 0, 9000, -1, `-1`},
		{"configured beyond the window", 16384, int64(99999), 0, 16384, -time.Hour, `-1`},
		{"unlimited", 16384, json.Number("-1"), 0, 8192, 0, `0`},
		{"asked", 16384, 9000.0, 100, 100, 0, `0`},
		{"asked for too much", 512, nil, 9999, 512, 0, `0`},
		{"no number", 16384, "many", 0, 4096, 0, `0`},
		{"a fraction", 16384, 1.5, 0, 4096, 0, `0`},
	} {
		cfg := Config{NumCtx: c.window, Options: map[string]any{"num_predict": c.option}, KeepAlive: c.keepAlive}
		if got := cfg.numPredict(c.asked); got != c.predict {
			t.Errorf("%s: num_predict %d, want %d", c.name, got, c.predict)
		}
		if got := string(cfg.keepAlive()); got != c.keep {
			t.Errorf("%s: keep_alive %s, want %s", c.name, got, c.keep)
		}
	}
}
