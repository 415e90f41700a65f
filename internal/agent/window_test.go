package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/tool"
)

// LLM-004: a hundred and twenty results in a window of 8k, in text of many and of few bytes a
// token.
func TestTheWindowIsKept(t *testing.T) {
	const window, results = 8192, 120
	for _, perToken := range []int{4, 2} {
		t.Run(decimal(perToken), func(t *testing.T) {
			s := newStage(planned("t1 read"))
			s.cfg.NumCtx = window
			for i := range results {
				s.model.steps = append(s.model.steps, calls(call(tool.ReadFile, `{"path":"f`+decimal(i)+`"}`)))
			}
			s.model.steps = append(s.model.steps, calls(finish("end")))
			overflows := 0
			for i, inner := range s.model.steps {
				s.model.steps[i] = func(r ChatRequest) (Reply, error) {
					tokens := weight(r.Messages, r.Tools) / perToken
					if tokens > window {
						overflows++
						return Reply{}, fault.New(fault.LLMOverflow, "chat")
					}
					reply, err := inner(r)
					reply.Usage.Input = tokens
					return reply, err
				}
			}
			s.box.results[tool.ReadFile] = func(args json.RawMessage) tool.Result {
				return tool.Result{OK: true, Text: subject(args) + "\n" + strings.Repeat("日", 2000*perToken/3)}
			}
			wantEnd(t, s.run(t), "")
			if overflows > 0 {
				t.Errorf("%d overflows", overflows)
			}
			for i, r := range s.model.requests[1:] {
				all := s.textOf(r)
				for _, kept := range []string{"HEAD", "REQUEST", "Current task t1", "do t1"} {
					if !strings.Contains(all, kept) {
						t.Errorf("request %d lost %q", i, kept)
					}
				}
				if i > 0 && !strings.Contains(r.Messages[len(r.Messages)-1].Content, "日日") {
					t.Errorf("request %d lost the last result", i)
				}
			}
		})
	}
}

// One result alone must not fill a small window: its middle is left out, with a
// word about it, and the Task goes on.
//
// Covers: S1-112
func TestAResultFitsIntoASmallWindow(t *testing.T) {
	s := newStage(planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`)), calls(call(tool.ReadFile, `{"path":"b"}`)), calls(finish("end")))
	s.cfg.NumCtx = 2048
	for i, inner := range s.model.steps {
		s.model.steps[i] = func(r ChatRequest) (Reply, error) {
			if weight(r.Messages, r.Tools) > 4*s.cfg.NumCtx {
				return Reply{}, fault.New(fault.LLMOverflow, "chat")
			}
			return inner(r)
		}
	}
	s.box.results[tool.ReadFile] = func(json.RawMessage) tool.Result {
		return tool.Result{OK: true, Text: "BEGIN" + strings.Repeat("日", 20<<10) + "END"}
	}
	wantEnd(t, s.run(t), "")
	last := s.model.requests[len(s.model.requests)-1].Messages
	answer := last[len(last)-1].Content
	if !strings.Contains(answer, "BEGIN") || !strings.HasSuffix(answer, "END") || !strings.Contains(answer, "left out") || !utf8.ValidString(answer) {
		t.Errorf("%d bytes: %.200q", len(answer), answer)
	}
}

func TestAResultIsWholeWhereItFits(t *testing.T) {
	w := window{tokens: DefaultNumCtx, share: DefaultCompactAt, ratio: bytesPerToken}
	if whole := strings.Repeat("x", 16<<10); w.fit(whole, 7<<10) != whole { // results.read_bytes, head and tools as they are
		t.Error("a result of the default size is cut in the default window")
	}
	for _, fixed := range []int{0, 1 << 20} {
		if got := w.fit(strings.Repeat("日", 1<<20), fixed); len(got) < leastResult || len(got) > 1<<16 || !utf8.ValidString(got) {
			t.Errorf("fixed %d: %d bytes", fixed, len(got))
		}
	}
}

func TestNothingIsShortenedWithoutNeed(t *testing.T) {
	s := newStage(planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`)), calls(call(tool.ReadFile, `{"path":"b"}`)), calls(call(tool.ReadFile, `{"path":"c"}`)), calls(finish("end")))
	s.box.results[tool.ReadFile] = func(json.RawMessage) tool.Result {
		return tool.Result{OK: true, Text: strings.Repeat("x", 4<<10)}
	}
	wantEnd(t, s.run(t), "")
	if strings.Contains(s.said(0), removed) {
		t.Error("a result was shortened")
	}
}

func TestOverflowIsAnsweredOnce(t *testing.T) {
	reads := []step{planned("t1 read"), calls(call(tool.ReadFile, `{"path":"a"}`)), calls(call(tool.ReadFile, `{"path":"b"}`))}
	long := func(json.RawMessage) tool.Result { return tool.Result{OK: true, Text: strings.Repeat("x", 2000)} }

	s := newStage(append(reads, broken(fault.LLMOverflow), calls(finish("end")))...)
	s.box.results[tool.ReadFile] = long
	wantEnd(t, s.run(t), "")
	last := s.model.requests[len(s.model.requests)-1].Messages
	if n := strings.Count(s.said(0), removed); n != 1 || !strings.Contains(last[len(last)-1].Content, "xxx") {
		t.Errorf("%d results were shortened", n)
	}

	s = newStage(append(reads, broken(fault.LLMOverflow))...)
	s.box.results[tool.ReadFile] = long
	wantEnd(t, s.run(t), fault.LLMOverflow)
	if n := len(s.model.requests); n != 5 {
		t.Errorf("%d requests", n)
	}

	// Nothing to shorten: the same request would fail again.
	s = newStage(broken(fault.LLMOverflow))
	wantEnd(t, s.run(t), fault.LLMOverflow)
	if n := len(s.model.requests); n != 1 {
		t.Errorf("%d requests", n)
	}

	// The Session's history gives way to the request.
	s = newStage(broken(fault.LLMOverflow), planned("t1 none"), text("answer"))
	s.job.History = []Exchange{{"EARLIER", "RESULT"}}
	wantEnd(t, s.run(t), "")
	if all := s.said(0); strings.Contains(all, "EARLIER") || !strings.Contains(all, "REQUEST") {
		t.Errorf("said:\n%s", all)
	}
}

func TestShortenKeepsCallsAndNewestResults(t *testing.T) {
	long := strings.Repeat("x", 1000)
	messages := func() []Message {
		return []Message{
			{Role: RoleSystem, Content: long},
			{Role: RoleUser, Content: long},
			{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1", Name: "write_file", Arguments: json.RawMessage(`{"content":"` + long + `","path":"a"}`)}}},
			{Role: RoleTool, Content: "{\"ok\":true}\n" + long, ToolCallID: "1"},
			{Role: RoleTool, Content: long, ToolCallID: "2"},
			{Role: RoleTool, Content: "short", ToolCallID: "3"},
			{Role: RoleTool, Content: "{\"ok\":true}\n" + long, ToolCallID: "4"},
		}
	}
	m := messages()
	if !shorten(m, 1, func() bool { return false }) {
		t.Fatal("nothing became shorter")
	}
	whole := messages()
	for _, i := range []int{0, 1, 5, 6} {
		if m[i].Content != whole[i].Content {
			t.Errorf("message %d was changed", i)
		}
	}
	if m[3].Content != "{\"ok\":true}\n"+removed || !strings.HasSuffix(m[4].Content, "…\n"+removed) {
		t.Errorf("stubs %q, %q", m[3].Content, m[4].Content)
	}
	if got := string(m[2].ToolCalls[0].Arguments); got != `{"content":"`+removed+`","path":"a"}` {
		t.Errorf("arguments %s", got)
	}
	if shorten(m, 1, func() bool { return false }) {
		t.Error("what is short was shortened again")
	}
	if shorten(messages(), 1, func() bool { return true }) {
		t.Error("shortened although there is room")
	}
	if got := stub(strings.Repeat("日", 200)); !utf8.ValidString(got) {
		t.Errorf("a character was split: %q", got)
	}
}

// The first line of a refusal is one JSON object, shortened or not.
func TestAShortenedRefusalStaysAnObject(t *testing.T) {
	long := strings.Repeat("日", 300)
	got := stub(`{"ok":false,"scope":"workspace","error":{"code":"fs.read_only","message":"` + long + `","hint":"` + long + `"}}`)
	if got != `{"ok":false,"scope":"workspace","error":{"code":"fs.read_only"}}`+"\n"+removed {
		t.Errorf("%q", got)
	}
	if got := stub(long); len(got) > stubBytes+len("…\n")+len(removed) || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

func TestTheEstimateLearns(t *testing.T) {
	w := window{tokens: 1000, share: 1, ratio: bytesPerToken}
	if w.full(3000) {
		t.Error("3000 bytes are estimated as more than 1000 tokens")
	}
	w.learn(3000, 1500) // two bytes a token
	if !w.full(3000) || w.full(1900) {
		t.Errorf("ratio %v", w.ratio)
	}
	w.learn(100, 0)
	if w.ratio != 2 {
		t.Errorf("nothing was measured, ratio %v", w.ratio)
	}
	w.learn(1<<20, 1) // a server that counts only what it did not cache
	if w.ratio > 6 {
		t.Errorf("ratio %v", w.ratio)
	}
}
