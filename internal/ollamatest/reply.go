package ollamatest

import (
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"
)

// answer is one HTTP answer: a head and lines, with pauses between them.
type answer struct {
	status int
	header http.Header
	lines  []line
	end    end
}

type line struct {
	pause time.Duration
	text  string
}

// end is how the body of an answer ends.
type end int

const (
	endWhole end = iota
	endCut       // the connection breaks
	endHang      // nothing more comes
)

func text(status int, body string) *answer {
	a := &answer{status: status, header: http.Header{"Content-Type": {"text/plain"}}}
	if body != "" {
		a.lines = []line{{text: body}}
	}
	return a
}

func object(status int, v any) *answer {
	return &answer{
		status: status, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		lines: []line{{text: string(encode(v))}},
	}
}

func failed(status int, message string) *answer {
	return object(status, map[string]string{"error": message})
}

// write sends the answer; it ends early when the client or the server goes.
func (a *answer) write(w http.ResponseWriter, gone <-chan struct{}, closed <-chan struct{}) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	started := false
	for _, l := range a.lines {
		if l.pause > 0 {
			select {
			case <-time.After(l.pause):
			case <-gone:
				return
			case <-closed:
				return
			}
		}
		if !started {
			w.WriteHeader(a.status)
			started = true
		}
		if _, err := w.Write([]byte(l.text)); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	switch {
	case a.end == endHang:
		select {
		case <-gone:
		case <-closed:
		}
	case a.end == endCut:
		panic(http.ErrAbortHandler) // the way net/http breaks a connection
	case !started:
		w.WriteHeader(a.status)
	}
}

// reply collects what the model says in one turn and prints its chunks.
type reply struct {
	model        string
	native       bool
	thinks       bool // the request wants thinking
	reason       string
	promptTokens int
	callID       func() string

	lines   []line
	pending time.Duration
	calls   []wireCall // native wire: kept for the last chunk
	bytes   int        // of output
}

type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

// head stands at the front of every chunk.
type head struct {
	Model     string      `json:"model"`
	CreatedAt string      `json:"created_at"`
	Message   wireMessage `json:"message"`
}

func (r *reply) raw(s string) {
	r.lines = append(r.lines, line{r.pending, s + "\n"})
	r.pending = 0
}

func (r *reply) head(m wireMessage) head {
	at := time.Date(2026, 12, 1, 0, 0, 0, len(r.lines)*int(time.Millisecond), time.UTC)
	return head{r.model, at.Format(time.RFC3339Nano), m}
}

func (r *reply) chunk(m wireMessage) {
	r.raw(string(encode(struct {
		head
		Done bool `json:"done"`
	}{r.head(m), false})))
}

func (r *reply) pause(d time.Duration) { r.pending += d }

func (r *reply) think(s string) {
	if !r.thinks {
		return
	}
	r.bytes += len(s)
	for _, part := range pieces(s) {
		r.chunk(wireMessage{Role: "assistant", Thinking: part})
	}
}

func (r *reply) say(s string) {
	r.bytes += len(s)
	for _, part := range pieces(s) {
		r.chunk(wireMessage{Role: "assistant", Content: part})
	}
}

func (r *reply) call(name string, arguments json.RawMessage) {
	c := wireCall{ID: r.callID()}
	c.Function.Name, c.Function.Arguments = name, arguments
	r.bytes += len(name) + len(arguments)
	if !r.native {
		c.Function.Index = len(r.calls)
	}
	r.calls = append(r.calls, c)
	if !r.native {
		r.chunk(wireMessage{Role: "assistant", ToolCalls: []wireCall{c}})
	}
}

func (r *reply) unfinished(e end) *answer {
	return &answer{
		status: http.StatusOK, header: http.Header{"Content-Type": {"application/x-ndjson"}},
		lines: r.lines, end: e,
	}
}

// answer ends the reply with its last chunk.
func (r *reply) answer() *answer {
	if r.reason == "" {
		r.reason = "stop"
	}
	last := wireMessage{Role: "assistant"}
	if r.native {
		last.ToolCalls = r.calls
	}
	chunk := struct {
		head
		Done       bool   `json:"done"`
		DoneReason string `json:"done_reason"`
		Total      int64  `json:"total_duration,omitempty"`
		Prompt     int    `json:"prompt_eval_count,omitempty"`
		Eval       int    `json:"eval_count,omitempty"`
	}{r.head(last), true, r.reason, int64(len(r.lines)+1) * 1e6, r.promptTokens, tokens(r.bytes)}
	r.raw(string(encode(chunk)))
	return r.unfinished(endWhole)
}

// pieces cuts s as a model would say it, never within a character.
func pieces(s string) []string {
	const size = 24
	var parts []string
	for len(s) > size {
		cut := size
		for !utf8.RuneStart(s[cut]) && cut > 1 {
			cut--
		}
		parts = append(parts, s[:cut])
		s = s[cut:]
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}
