package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/agent"
)

// scripted answers with the given replies in order.
type scripted struct {
	replies []agent.Reply
	err     error
	wait    time.Duration
	n       int
}

func (s *scripted) Chat(context.Context, agent.ChatRequest) (agent.Reply, error) {
	time.Sleep(s.wait)
	if s.err != nil {
		return agent.Reply{}, s.err
	}
	s.n++
	return s.replies[(s.n-1)%len(s.replies)], nil
}

type seeing struct {
	scripted
	takes bool
}

func (s *seeing) Vision(context.Context) (bool, error) { return s.takes, nil }

func lines[T any](t *testing.T, dir, pattern string) []T {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(paths) != 1 {
		t.Fatalf("%s: %q", pattern, paths)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: %v %v", paths[0], info, err)
	}
	var all []T
	for line := range bytes.Lines(read(t, paths[0])) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

func user(text string) agent.Message { return agent.Message{Role: agent.RoleUser, Content: text} }

func said(text string) agent.Reply {
	return agent.Reply{
		Message: agent.Message{Role: agent.RoleAssistant, Content: text, Thinking: "THOUGHT"},
		Ending:  agent.EndStop, Usage: agent.Usage{Input: 7, Output: 3},
	}
}

// Covers: S1-224, S1-225
func TestLLMLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w, err := OpenLLMLog(dir, start, LLMOptions{Model: "m:1", Redactor: NewRedactor("s3cret-value")})
		if err != nil {
			t.Fatal(err)
		}
		first := said("")
		first.Message.ToolCalls = []agent.ToolCall{{ID: "1", Name: "read_file", Arguments: json.RawMessage(`{"path":"s3cret-value`)}}
		m := LogModel(&scripted{replies: []agent.Reply{first}, wait: 1500 * time.Millisecond}, w)
		trace := agent.Trace{SessionID: "s", TaskID: "t", PlanTask: "t1", Phase: "work", Iteration: 1, Replan: 2}
		history := []agent.Message{
			{Role: agent.RoleSystem, Content: "rules"},
			{Role: agent.RoleUser, Content: "use s3cret-value", Images: [][]byte{[]byte("IMAGE")}},
		}
		if _, err := m.Chat(t.Context(), agent.ChatRequest{Messages: history, Trace: trace}); err != nil {
			t.Fatal(err)
		}
		history = append(history, first.Message,
			agent.Message{Role: agent.RoleTool, ToolName: "read_file", ToolCallID: "1", Content: "text"})
		trace.Iteration = 2
		if _, err := m.Chat(t.Context(), agent.ChatRequest{Messages: history, Trace: trace}); err != nil {
			t.Fatal(err)
		}
		call := []llmCall{{"read_file", `{"path":"[redacted]`}}
		response := &llmMessage{Role: "assistant", ToolCalls: call}
		want := []llmRecord{
			{Call: 1, SessionID: "s", TaskID: "t", PlanTask: "t1", Phase: "work", Iteration: 1, Replan: 2, Model: "m:1",
				Messages: []llmMessage{{Role: "system", Content: "rules"}, {Role: "user", Content: "use [redacted]", Images: 1}},
				Response: response, Ending: "stop", Input: 7, Output: 3, DurationMS: 1500},
			{Call: 2, SessionID: "s", TaskID: "t", PlanTask: "t1", Phase: "work", Iteration: 2, Replan: 2, Model: "m:1", From: 3,
				Messages: []llmMessage{{Role: "tool", Content: "text", ToolName: "read_file"}},
				Response: response, Ending: "stop", Input: 7, Output: 3, DurationMS: 1500},
		}
		got := lines[llmRecord](t, dir, "llm-*.jsonl")
		for i := range got {
			got[i].Time = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		paths, _ := filepath.Glob(filepath.Join(dir, "llm-*"))
		for _, bad := range []string{"THOUGHT", "IMAGE", "SU1BR0U", "s3cret-value"} {
			if bytes.Contains(read(t, paths[0]), []byte(bad)) {
				t.Errorf("%q is in the log", bad)
			}
		}
		if _, err := m.Chat(t.Context(), agent.ChatRequest{}); err != nil {
			t.Errorf("after Close: %v", err)
		}
	})
}

// Each message appears once per conversation; a rewritten history is shown
// from where it differs; another conversation starts anew.
func TestLLMLogShowsWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenLLMLog(dir, start, LLMOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := LogModel(&scripted{replies: []agent.Reply{said("A")}}, w)
	a := said("A").Message
	for _, row := range []struct {
		task     string
		messages []agent.Message
	}{
		{"t1", []agent.Message{user("1")}},
		{"t1", []agent.Message{user("1"), a, user("2")}},
		{"t2", []agent.Message{user("1")}},
		{"t1", []agent.Message{user("1"), user("summary"), user("3")}},
		{"t1", []agent.Message{user("1"), user("summary"), user("3")}},
		{"t1", nil},
	} {
		if _, err := m.Chat(t.Context(), agent.ChatRequest{Messages: row.messages, Trace: agent.Trace{PlanTask: row.task}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range lines[llmRecord](t, dir, "llm-*.jsonl") {
		s := r.PlanTask
		for _, m := range r.Messages {
			s += " " + m.Content
		}
		got = append(got, s)
	}
	want := []string{"t1 1", "t1 2", "t2 1", "t1 summary 3", "t1", "t1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLLMLogOfAFailedCall(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenLLMLog(dir, start, LLMOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cause := fault.New(fault.LLMUnavailable, "chat")
	for _, e := range []error{cause, errors.New("boom")} {
		if _, err := LogModel(&scripted{err: e}, w).Chat(t.Context(), agent.ChatRequest{Messages: []agent.Message{user("x")}}); err != e {
			t.Errorf("the error was changed: %v", err)
		}
	}
	got := lines[llmRecord](t, dir, "llm-*.jsonl")
	if len(got) != 2 || got[0].Code != fault.LLMUnavailable || got[0].Response != nil || got[1].Code != fault.LLMFailed {
		t.Errorf("%+v", got)
	}
}

// The log is diagnostic: when it cannot be written, the job goes on.
func TestLLMLogFailureIsNotTheJobs(t *testing.T) {
	var out strings.Builder
	log, closer, err := OpenAppLog(t.TempDir(), start, "info", &out)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	w, err := OpenLLMLog(t.TempDir(), start, LLMOptions{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	w.file.Close()
	m := LogModel(&scripted{replies: []agent.Reply{said("A")}}, w)
	for range 3 {
		if _, err := m.Chat(t.Context(), agent.ChatRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "level=ERROR"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}

func TestVisionPassesThrough(t *testing.T) {
	w, err := OpenLLMLog(t.TempDir(), start, LLMOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tokens, err := OpenTokenLog(t.TempDir(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer tokens.Close()
	for _, takes := range []bool{true, false} {
		m := MeterModel(LogModel(&seeing{takes: takes}, w), tokens)
		v, ok := m.(agent.Vision)
		if !ok {
			t.Fatal("Vision is lost")
		}
		if got, err := v.Vision(t.Context()); got != takes || err != nil {
			t.Errorf("%v %v, want %v", got, err, takes)
		}
	}
	blind := &scripted{}
	if _, ok := MeterModel(LogModel(blind, w), tokens).(agent.Vision); ok {
		t.Error("Vision out of nothing")
	}
	if MeterModel(LogModel(blind, nil), nil) != agent.Model(blind) {
		t.Error("without logs the model must stay itself")
	}
}

// Covers: S1-230
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	tokens, err := OpenTokenLog(dir, start)
	if err != nil {
		t.Fatal(err)
	}
	m := MeterModel(&scripted{replies: []agent.Reply{said("x")}}, tokens)
	failing := MeterModel(&scripted{err: errors.New("no")}, tokens)
	var wait sync.WaitGroup
	for _, task := range []string{"t1", "t2", "t1"} {
		r := agent.ChatRequest{Trace: agent.Trace{SessionID: "s", TaskID: task, PlanTask: "p", Phase: "work"}}
		if _, err := m.Chat(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() { _, _ = failing.Chat(t.Context(), r) })
	}
	wait.Wait()
	tokens.EndTask("s", "t1")
	tokens.EndTask("s", "t1")
	tokens.EndTask("s", "never")
	if err := tokens.Close(); err != nil {
		t.Fatal(err)
	}
	call := func(task string) tokenRecord {
		return tokenRecord{Kind: "call", SessionID: "s", TaskID: task, PlanTask: "p", Phase: "work", Input: 7, Output: 3, Total: 10}
	}
	want := []tokenRecord{call("t1"), call("t2"), call("t1"),
		{Kind: "task", SessionID: "s", TaskID: "t1", Input: 14, Output: 6, Total: 20}}
	got := lines[tokenRecord](t, dir, "tokens-*.jsonl")
	for i := range got {
		if got[i].Time == "" {
			t.Error("no time")
		}
		got[i].Time = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Covers: S1-222, S1-226
func TestAppLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var out strings.Builder
	log, closer, err := OpenAppLog(dir, start, "info", &out, "s3cret-value")
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not this")
	log.With("who", "s3cret-value").WithGroup("g").Info("a s3cret-value b",
		"n", 5, "raw", []byte("s3cret-value"), "prompt", strings.Repeat("日", 1000),
		"err", fault.Wrap(errors.New("s3cret-value"), fault.FSFailed, "op"), "esc", "\x1b[2J", "any", []string{"s3cret-value"})
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	got := lines[map[string]any](t, dir, "app-*.log")
	if len(got) != 1 {
		t.Fatalf("%d lines", len(got))
	}
	delete(got[0], "time")
	want := map[string]any{
		"level": "INFO", "msg": "a [redacted] b", "who": "[redacted]",
		"g": map[string]any{
			"n": 5.0, "raw": "[12 bytes]", "prompt": strings.Repeat("日", 170) + "… [2490 more bytes]",
			"err": "op: fs.failed: [redacted]", "esc": "\x1b[2J", "any": "[[redacted]]",
		},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	text := out.String()
	if strings.Contains(text, "s3cret") || strings.Contains(text, "\x1b") || !strings.Contains(text, "level=INFO") || strings.Contains(text, "not this") {
		t.Errorf("stderr: %s", text)
	}
	if _, _, err := OpenAppLog(dir, start, "loud", &out); fault.CodeOf(err) != fault.ConfigValue {
		t.Errorf("level: %v", err)
	}
}

func TestRetention(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now().Add(-time.Hour)
	put := func(name string, size int, age int) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		at := begin.Add(-time.Duration(age) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	name := func(kind string, i int) string {
		ext := ".jsonl"
		if kind == "app" {
			ext = ".log"
		}
		return kind + "-" + start.Add(time.Duration(i)*time.Second).Format("20060102T150405.000Z") + "-7" + ext
	}
	for i := range 6 {
		put(name("llm", i), 10, i) // the later the name, the longer untouched
		put(name("audit", i), 10, i)
		put(name("app", i), 10, i)
	}
	put("llm-notes.jsonl", 10, 99)
	kept := func() []string {
		paths, _ := filepath.Glob(filepath.Join(dir, "llm-2*"))
		for i := range paths {
			paths[i] = filepath.Base(paths[i])
		}
		return paths
	}
	prune(dir, "llm", 4, 1000)
	if diff := cmp.Diff([]string{name("llm", 0), name("llm", 1), name("llm", 2), name("llm", 3)}, kept()); diff != "" {
		t.Error(diff)
	}
	prune(dir, "llm", 4, 25)
	if diff := cmp.Diff([]string{name("llm", 0), name("llm", 1)}, kept()); diff != "" {
		t.Error(diff)
	}
	for pattern, want := range map[string]int{"audit-*": 6, "app-*": 6, "llm-notes*": 1} {
		if got, _ := filepath.Glob(filepath.Join(dir, pattern)); len(got) != want {
			t.Errorf("%s: %d files, want %d", pattern, len(got), want)
		}
	}
	for i := range 70 {
		f, err := diagnostic(dir, "tokens", ".jsonl", start.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if got, _ := filepath.Glob(filepath.Join(dir, "tokens-*")); len(got) != keepFiles {
		t.Errorf("%d token logs", len(got))
	}
	if !slices.Contains(kept(), name("llm", 0)) {
		t.Error("another kind's files were touched")
	}
}
