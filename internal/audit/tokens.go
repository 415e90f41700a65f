package audit

import (
	"context"
	"os"
	"sync"
	"time"

	"sunaba/internal/agent"
)

// TokenLog records measured tokens per call of the model and per Task
// (S1-230). It holds numbers and IDs only. It is safe for concurrent use.
type TokenLog struct {
	mu     sync.Mutex
	file   *os.File
	totals map[string]agent.Usage // by Task, until EndTask
	err    error                  // the first failed write
}

// tokenRecord is one line of tokens-<start>-<pid>.jsonl.
type tokenRecord struct {
	Time      string `json:"time"`
	Kind      string `json:"kind"` // call or task
	SessionID string `json:"session_id,omitempty"`
	TaskID    string `json:"task_id,omitempty"`
	PlanTask  string `json:"plan_task,omitempty"`
	Phase     string `json:"phase,omitempty"`
	Input     int    `json:"input"`
	Output    int    `json:"output"`
	Total     int    `json:"total"`
}

// OpenTokenLog makes a new file tokens-<start>-<pid>.jsonl (0600) in dir (0700).
func OpenTokenLog(dir string, start time.Time) (*TokenLog, error) {
	f, err := diagnostic(dir, "tokens", ".jsonl", start)
	if err != nil {
		return nil, err
	}
	return &TokenLog{file: f, totals: map[string]agent.Usage{}}, nil
}

// MeterModel returns next with the tokens of every answered call recorded in
// t. A nil t returns next itself.
func MeterModel(next agent.Model, t *TokenLog) agent.Model {
	if t == nil {
		return next
	}
	return decorate(next, func(ctx context.Context, r agent.ChatRequest) (agent.Reply, error) {
		reply, err := next.Chat(ctx, r)
		if err == nil {
			t.call(r.Trace, reply.Usage)
		}
		return reply, err
	})
}

// EndTask writes the totals of a Task and forgets it. It does nothing for a
// Task without calls.
func (t *TokenLog) EndTask(sessionID, taskID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum, ok := t.totals[taskID]
	if !ok {
		return
	}
	delete(t.totals, taskID)
	t.write(tokenRecord{Kind: "task", SessionID: sessionID, TaskID: taskID}, sum)
}

// Close closes the file and returns the first error there was in writing it.
func (t *TokenLog) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	if t.err != nil {
		return t.err
	}
	return err
}

func (t *TokenLog) call(trace agent.Trace, u agent.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.totals[trace.TaskID]
	t.totals[trace.TaskID] = agent.Usage{Input: sum.Input + u.Input, Output: sum.Output + u.Output}
	t.write(tokenRecord{
		Kind: "call", SessionID: trace.SessionID, TaskID: trace.TaskID,
		PlanTask: trace.PlanTask, Phase: trace.Phase,
	}, u)
}

func (t *TokenLog) write(r tokenRecord, u agent.Usage) {
	if t.file == nil {
		return
	}
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	r.Input, r.Output, r.Total = u.Input, u.Output, u.Input+u.Output
	line, err := marshal(r)
	if err == nil {
		_, err = t.file.Write(append(line, '\n'))
	}
	if err != nil && t.err == nil {
		t.err = err
	}
}
