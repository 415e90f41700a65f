package blackbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// model is an outsider's own scripted model server: it plans one task and then
// plays the given turns, one a request, keeping every tool result it is sent.
type model struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	effect  string
	turns   []turn
	show    string   // the answer about the model
	plans   []string // raw answers of the planner, before the usual one
	results []string // content of tool messages, in order
	answers []string // what was told of each call of this job, in order
	bodies  []string // whole requests
	size    int      // of the last one, in bytes
}

// turn is what the model answers: calls, or plain text, or something raw.
type turn struct {
	calls []call
	text  string
	raw   func(w http.ResponseWriter)
}

type call struct {
	name string
	args any
}

func newModel(t *testing.T) *model {
	m := &model{t: t, effect: "none", show: `{"capabilities":["completion","tools"],"model_info":{}}`}
	m.server = httptest.NewServer(http.HandlerFunc(m.handle))
	t.Cleanup(m.server.Close)
	return m
}

func (m *model) url() string { return m.server.URL }

// play sets what comes next; it ends with finish_task.
func (m *model) play(effect string, turns ...turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.effect, m.results, m.answers = effect, nil, nil
	m.turns = append(turns, do("finish_task", map[string]any{"summary": "The outsider's summary.", "outcome": "done"}))
}

func do(name string, args any) turn { return turn{calls: []call{{name, args}}} }

func (m *model) handle(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.URL.Path {
	case "/api/chat":
	case "/api/show":
		fmt.Fprint(w, m.show)
		return
	case "/api/tags":
		fmt.Fprint(w, `{"models":[{"name":"outsider","model":"outsider"}]}`)
		return
	default:
		fmt.Fprint(w, `{}`)
		return
	}
	var q struct {
		Format   json.RawMessage
		Messages []struct{ Role, Content string }
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
			return // whoever asked was killed
		}
		m.t.Errorf("request: %v", err)
	}
	m.bodies, m.size = append(m.bodies, string(raw)), len(raw)
	if err := json.Unmarshal(raw, &q); err != nil {
		m.t.Errorf("request: %v", err)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if len(q.Format) > 0 {
		if len(m.plans) > 0 {
			plan := m.plans[0]
			m.plans = m.plans[1:]
			m.say(w, map[string]any{"role": "assistant", "content": plan})
			return
		}
		plan := fmt.Sprintf(`{"tasks":[{"id":"t1","title":"The only task","instructions":"Do it.","depends_on":[],"effect":%q,"optimistic_tokens":400,"most_likely_tokens":900,"pessimistic_tokens":2500,"token_budget":"4K"}],"skills":[]}`, m.effect)
		m.say(w, map[string]any{"role": "assistant", "content": plan})
		return
	}
	m.results = nil
	var latest []string
	for _, message := range q.Messages {
		switch message.Role {
		case "tool":
			m.results = append(m.results, message.Content)
			latest = append(latest, message.Content)
		case "assistant":
			latest = nil
		}
	}
	m.answers = append(m.answers, latest...)
	if len(m.turns) == 0 {
		m.say(w, map[string]any{"role": "assistant", "content": "I have nothing more to do."})
		return
	}
	next := m.turns[0]
	m.turns = m.turns[1:]
	m.answer(w, next)
}

// answer says one turn.
func (m *model) answer(w http.ResponseWriter, next turn) {
	if next.raw != nil {
		next.raw(w)
		return
	}
	message := map[string]any{"role": "assistant", "content": next.text}
	var calls []any
	for i, c := range next.calls {
		calls = append(calls, map[string]any{"id": fmt.Sprintf("c%d", i), "function": map[string]any{"index": i, "name": c.name, "arguments": c.args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	m.say(w, message)
}

func (m *model) say(w http.ResponseWriter, message map[string]any) {
	chunk := func(v map[string]any) {
		b, err := json.Marshal(v)
		if err != nil {
			m.t.Errorf("chunk: %v", err)
		}
		fmt.Fprintf(w, "%s\n", b)
	}
	head := map[string]any{"model": "outsider", "created_at": "2026-12-01T00:00:00Z"}
	with := func(more map[string]any) map[string]any {
		out := map[string]any{}
		for _, part := range []map[string]any{head, more} {
			for k, v := range part {
				out[k] = v
			}
		}
		return out
	}
	chunk(with(map[string]any{"message": message, "done": false}))
	chunk(with(map[string]any{
		"message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
		"prompt_eval_count": m.size / 4, "eval_count": 10,
	}))
}

// result returns the n-th tool result's first line, decoded, and the text after it.
func (m *model) result(n int) (map[string]any, string) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n >= len(m.results) {
		m.t.Fatalf("there are %d tool results, no number %d", len(m.results), n)
	}
	first, rest, _ := strings.Cut(m.results[n], "\n")
	var head map[string]any
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		m.t.Fatalf("the first line is no JSON object: %q", first)
	}
	return head, rest
}
