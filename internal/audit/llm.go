package audit

import (
	"context"
	"hash/maphash"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
)

// maxConversations bounds how many conversations the log remembers the length
// of; when it is reached they are forgotten and logged anew in full.
const maxConversations = 256

// LLMOptions say what the log cannot learn from a request.
type LLMOptions struct {
	Model    string       // the configured model's name
	Redactor *Redactor    // nil: the general patterns only
	Logger   *slog.Logger // is told once when the log cannot be written; nil: nobody
}

// LLMLog records the conversations with the model, without thinking and
// without images. It is safe for concurrent use.
type LLMLog struct {
	options LLMOptions
	seed    maphash.Seed

	mu     sync.Mutex
	file   *os.File
	calls  uint64
	seen   map[agent.Trace][]uint64 // digests of the messages already logged
	failed bool
}

// llmRecord is one line of llm-<start>-<pid>.jsonl (S1-224, S1-225).
type llmRecord struct {
	Call       uint64       `json:"call"`
	Time       string       `json:"time"`
	SessionID  string       `json:"session_id,omitempty"`
	TaskID     string       `json:"task_id,omitempty"`
	PlanTask   string       `json:"plan_task,omitempty"`
	Phase      string       `json:"phase,omitempty"`
	Iteration  int          `json:"iteration"`
	Replan     int          `json:"replan"`
	Model      string       `json:"model"`
	From       int          `json:"from"` // index of the first message below in its conversation
	Messages   []llmMessage `json:"messages"`
	Response   *llmMessage  `json:"response,omitempty"`
	Ending     agent.Ending `json:"ending,omitempty"`
	Input      int          `json:"input_tokens"`
	Output     int          `json:"output_tokens"`
	DurationMS int64        `json:"duration_ms"`
	Code       fault.Code   `json:"code,omitempty"`
}

type llmMessage struct {
	Role      agent.Role `json:"role"`
	Content   string     `json:"content,omitempty"`
	ToolCalls []llmCall  `json:"tool_calls,omitempty"`
	ToolName  string     `json:"tool_name,omitempty"`
	Images    int        `json:"images,omitempty"` // how many; never the images
}

type llmCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// OpenLLMLog makes a new file llm-<start>-<pid>.jsonl (0600) in dir (0700).
func OpenLLMLog(dir string, start time.Time, o LLMOptions) (*LLMLog, error) {
	f, err := diagnostic(dir, "llm", ".jsonl", start)
	if err != nil {
		return nil, err
	}
	return &LLMLog{options: o, seed: maphash.MakeSeed(), file: f, seen: map[agent.Trace][]uint64{}}, nil
}

// Close closes the file; calls after it are not logged.
func (w *LLMLog) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return f.Close()
}

// LogModel returns next with every call recorded in w. When next knows whether
// it takes images, so does the result. A nil w returns next itself.
func LogModel(next agent.Model, w *LLMLog) agent.Model {
	if w == nil {
		return next
	}
	return decorate(next, func(ctx context.Context, r agent.ChatRequest) (agent.Reply, error) {
		began := time.Now()
		reply, err := next.Chat(ctx, r)
		w.record(r, reply, err, began)
		return reply, err
	})
}

func (w *LLMLog) record(r agent.ChatRequest, reply agent.Reply, err error, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	w.calls++
	from := w.remember(r, reply, err)
	line := llmRecord{
		Call: w.calls, Time: began.UTC().Format(time.RFC3339Nano),
		SessionID: r.Trace.SessionID, TaskID: r.Trace.TaskID, PlanTask: r.Trace.PlanTask,
		Phase: r.Trace.Phase, Iteration: r.Trace.Iteration, Replan: r.Trace.Replan,
		Model: w.options.Model, From: from, Messages: []llmMessage{},
		DurationMS: time.Since(began).Milliseconds(),
	}
	for _, m := range r.Messages[from:] {
		line.Messages = append(line.Messages, w.message(m))
	}
	if err != nil {
		line.Code = fault.CodeOf(err)
		if line.Code == "" {
			line.Code = fault.LLMFailed
		}
	} else {
		response := w.message(reply.Message)
		line.Response, line.Ending = &response, reply.Ending
		line.Input, line.Output = reply.Usage.Input, reply.Usage.Output
	}
	w.write(line)
}

// remember returns the index of the first message of r that its conversation
// has not shown before. A history that was rewritten (compaction) is shown
// again from where it differs.
func (w *LLMLog) remember(r agent.ChatRequest, reply agent.Reply, err error) (from int) {
	key := r.Trace
	key.Iteration, key.Replan = 0, 0
	before := w.seen[key]
	now := make([]uint64, 0, len(r.Messages)+1)
	for i, m := range r.Messages {
		now = append(now, w.digest(m))
		if from == i && i < len(before) && before[i] == now[i] {
			from = i + 1
		}
	}
	if err == nil { // the answer stands in the log, too
		now = append(now, w.digest(reply.Message))
	}
	if len(w.seen) >= maxConversations {
		clear(w.seen)
	}
	w.seen[key] = now
	return from
}

func (w *LLMLog) digest(m agent.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	part := func(s string) { maphash.WriteComparable(&h, s) }
	part(string(m.Role))
	part(m.Content)
	part(m.ToolName)
	for _, c := range m.ToolCalls {
		part(c.Name)
		part(string(c.Arguments))
	}
	maphash.WriteComparable(&h, len(m.Images))
	return h.Sum64()
}

func (w *LLMLog) message(m agent.Message) llmMessage {
	out := llmMessage{
		Role: m.Role, Content: w.clean(m.Content), ToolName: w.clean(m.ToolName), Images: len(m.Images),
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, llmCall{w.clean(c.Name), w.clean(string(c.Arguments))})
	}
	return out
}

func (w *LLMLog) clean(s string) string {
	return w.options.Redactor.Redact(strings.ToValidUTF8(s, "\ufffd"))
}

func (w *LLMLog) write(v any) {
	line, err := marshal(v)
	if err == nil {
		_, err = w.file.Write(append(line, '\n'))
	}
	if err != nil && !w.failed {
		w.failed = true
		if w.options.Logger != nil {
			w.options.Logger.Error("llm log", "error", err)
		}
	}
}
