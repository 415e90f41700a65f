package mcpserver

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/internal/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update after checking):\n%s", name, diff)
	}
}

// sample are Statuses that between them show every line.
func sample() map[string]session.Status {
	base := session.Status{TaskID: taskID, SessionID: sessionID}
	with := func(change func(*session.Status)) session.Status {
		st := base
		change(&st)
		return st
	}
	return map[string]session.Status{
		"queued": with(func(s *session.Status) { s.State = session.Queued }),
		"running": with(func(s *session.Status) {
			s.State = session.Running
			s.Progress = session.Progress{Completed: 1, Total: 3, Current: "Write the tests"}
			s.Iterations, s.Replans = 12, 1
			s.Tokens = session.Tokens{Input: 5120, Output: 640, Total: 5760}
			s.AwaitsApproval = true
			s.Error = fault.New(fault.LLMBadOutput, "plan")
		}),
		"failed": with(func(s *session.Status) {
			s.State = session.Failed
			s.Progress = session.Progress{Completed: 1, Total: 3, Current: "Write the tests"}
			s.Iterations, s.Replans = 40, 3
			s.Tokens = session.Tokens{Input: 9000, Output: 1000, Total: 10000}
			s.Error = fault.New(fault.AgentNoEffect, "run", "task", "Write the tests")
		}),
		"completed": with(func(s *session.Status) {
			s.State = session.Completed
			s.Progress = session.Progress{Completed: 3, Total: 3}
			s.Iterations = 9
			s.Tokens = session.Tokens{Input: 3000, Output: 500, Total: 3500}
			s.Result = "All tests pass.\n\n- fixed `clean`"
		}),
	}
}

// Covers: S1-060, S1-061, S1-062, S1-063, I18N-07
func TestTextsOfBothTools(t *testing.T) {
	for _, lang := range []string{"en", "ja", "zh-CN"} {
		t.Run(lang, func(t *testing.T) {
			s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, lang)})
			queued := s.queued(session.Ticket{TaskID: taskID, SessionID: sessionID, Status: session.Queued})
			text := textOf(t, queued)
			if strings.Count(text, "\n") >= 10 {
				t.Errorf("agent_run answers in more than ten lines:\n%s", text)
			}
			var b strings.Builder
			b.WriteString("== agent_run\n" + text + "\n")
			for _, name := range []string{"queued", "running", "failed", "completed"} {
				b.WriteString("== " + name + "\n" + s.reportText(s.report(sample()[name], 0)) + "\n")
			}
			b.WriteString("== refused\n" + textOf(t, run(t, s, `{"request":"x","temperature":9}`)) + "\n")
			golden(t, lang, b.String())
		})
	}
}

// The text and the structured content say the same facts; some clients show
// only one of them.
func TestTextAndStructureAgree(t *testing.T) {
	s := New(Config{Jobs: newFakeJobs(), Texts: locale(t, "en")})
	var facts map[string]any
	res := s.queued(session.Ticket{TaskID: taskID, SessionID: sessionID, Status: session.Queued})
	structured(t, res, &facts)
	if diff := cmp.Diff(map[string]any{"task_id": taskID, "session_id": sessionID, "status": "queued"}, facts); diff != "" {
		t.Error(diff)
	}
	for name, st := range sample() {
		jobs := newFakeJobs()
		jobs.put(st)
		s := New(Config{Jobs: jobs, Texts: locale(t, "en")})
		res := status(t, s, `{"task_id":"`+taskID+`"}`)
		var f statusFacts
		raw := structured(t, res, &f)
		text := textOf(t, res)
		for _, fact := range []string{f.TaskID, f.SessionID, string(f.Status), f.Progress.Current, num(f.Progress.Completed), num(f.Iterations), num(f.Replans), num(f.Tokens.Input), num(f.Tokens.Output), num(f.Tokens.Total), f.Notice, f.Result} {
			if !strings.Contains(text, fact) {
				t.Errorf("%s: the text lacks %q", name, fact)
			}
		}
		if f.Error != nil && (!strings.Contains(text, string(f.Error.Code)) || !strings.Contains(text, f.Error.Message)) {
			t.Errorf("%s: the text lacks the error", name)
		}
		for _, key := range []string{"task_id", "session_id", "status", "progress", "completed", "total", "current", "iterations", "replans", "tokens", "input", "output"} {
			if !strings.Contains(raw, `"`+key+`":`) {
				t.Errorf("%s: the structure lacks %s: %s", name, key, raw)
			}
		}
		if res.IsError {
			t.Errorf("%s: a Task's state is not a failed call", name)
		}
	}
}

// A Task of an earlier process is known, its answer is not (SES-03): it says so
// in both halves of the answer, and every other Task does not.
//
// Covers: MCP-2026-07
func TestAnAnswerThatIsGone(t *testing.T) {
	gone := locale(t, "en")["status.gone"]
	for name, tt := range map[string]struct {
		status session.Status
		want   bool
	}{
		"completed before": {session.Status{State: session.Completed}, true},
		"completed here":   {session.Status{State: session.Completed, Result: "answer"}, false},
		"failed before":    {session.Status{State: session.Failed, Error: fault.New(fault.AgentServerRestarted, "")}, false},
		"running":          {session.Status{State: session.Running}, false},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := newFakeJobs()
			tt.status.TaskID, tt.status.SessionID = taskID, sessionID
			jobs.put(tt.status)
			res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"task_id":"`+taskID+`"}`)
			var facts statusFacts
			structured(t, res, &facts)
			if strings.Contains(textOf(t, res), gone) != tt.want || (facts.Notice == gone) != tt.want {
				t.Errorf("%s\n%+v", textOf(t, res), facts)
			}
		})
	}
}

// Covers: MCP-STS-01, MCP-STS-02
func TestStatusRefuses(t *testing.T) {
	const other = "33333333-3333-4333-8333-333333333333"
	tests := []struct {
		name, args, want string
		code             fault.Code
	}{
		{"nothing", `{}`, "task_id is required", fault.MCPInput},
		{"empty", `{"task_id":""}`, "task_id is required", fault.MCPInput},
		{"no UUID", `{"task_id":"my-secret"}`, "task_id must be a UUID", fault.MCPInput},
		{"number", `{"task_id":4}`, "task_id must be of type string", fault.MCPInput},
		{"unknown field", `{"task_id":"` + taskID + `","verbose":"true"}`, "no argument verbose; the known ones are: task_id, session_id, wait_seconds, cancel, offset", fault.MCPInput},
		{"negative wait", `{"task_id":"` + taskID + `","wait_seconds":-1}`, "wait_seconds must be a number from 0 to 25", fault.MCPInput},
		{"endless wait", `{"task_id":"` + taskID + `","wait_seconds":1e999}`, "wait_seconds must be a number from 0 to 25", fault.MCPInput},
		{"half a second", `{"task_id":"` + taskID + `","wait_seconds":0.5}`, "wait_seconds must be of type integer", fault.MCPInput},
		{"wait word", `{"task_id":"` + taskID + `","wait_seconds":"long"}`, "wait_seconds must be of type number", fault.MCPInput},
		{"cancel word", `{"task_id":"` + taskID + `","cancel":"yes"}`, "cancel must be of type boolean", fault.MCPInput},
		{"cancel number", `{"task_id":"` + taskID + `","cancel":1}`, "cancel must be of type boolean", fault.MCPInput},
		{"negative offset", `{"task_id":"` + taskID + `","offset":-1}`, "offset must be a number from 0", fault.MCPInput},
		{"offset beyond", `{"task_id":"` + taskID + `","offset":7}`, "only 6 bytes", fault.MCPInput},
		{"unknown task", `{"task_id":"` + other + `"}`, other, fault.MCPUnknownTask},
		{"other session", `{"task_id":"` + taskID + `","session_id":"` + other + `"}`, other, fault.MCPSessionMismatch},
		{"cancel in another session", `{"task_id":"` + taskID + `","session_id":"` + other + `","cancel":true}`, other, fault.MCPSessionMismatch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs := newFakeJobs()
			jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Completed, Result: "answer"})
			res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), tt.args)
			var facts struct{ Error errorFacts }
			raw := structured(t, res, &facts)
			if !res.IsError || facts.Error.Code != tt.code || !strings.Contains(textOf(t, res), tt.want) || strings.Contains(raw, "secret") {
				t.Errorf("got %s", raw)
			}
		})
	}
}

func TestStatusWaits(t *testing.T) {
	tests := []struct {
		name, wait string
		change     time.Duration // after which the Task ends; 0 never
		want       time.Duration
	}{
		{"not at all by default", ``, 0, 0},
		{"not at all", `,"wait_seconds":0`, 0, 0},
		{"as long as asked", `,"wait_seconds":10`, 0, 10 * time.Second},
		{"as text", `,"wait_seconds":"10"`, 0, 10 * time.Second},
		{"never longer than 25 s", `,"wait_seconds":3600`, 0, 25 * time.Second},
		{"nor for ages", `,"wait_seconds":1e300`, 0, 25 * time.Second},
		{"until a change", `,"wait_seconds":20`, 3 * time.Second, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				jobs := newFakeJobs()
				jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
				if tt.change > 0 {
					time.AfterFunc(tt.change, func() {
						jobs.set(taskID, func(s *session.Status) { s.State = session.Completed })
					})
				}
				start := time.Now()
				res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"task_id":"`+taskID+`"`+tt.wait+`}`)
				if got := time.Since(start); got != tt.want || res.IsError {
					t.Errorf("waited %v, want %v: %s", got, tt.want, textOf(t, res))
				}
			})
		})
	}
}

// Covers: SD-24
func TestStatusCancel(t *testing.T) {
	for name, tt := range map[string]struct {
		args string
		want session.State
	}{
		"true":         {`,"cancel":true`, session.Cancelled},
		"true as text": {`,"cancel":"true"`, session.Cancelled},
		"in session":   {`,"cancel":true,"session_id":"` + sessionID + `"`, session.Cancelled},
		"false":        {`,"cancel":false`, session.Running},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := newFakeJobs()
			jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Running})
			res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"task_id":"`+taskID+`"`+tt.args+`}`)
			var facts statusFacts
			if structured(t, res, &facts); facts.Status != tt.want {
				t.Errorf("got %s", textOf(t, res))
			}
		})
	}
	t.Run("an ended Task stays as it ended", func(t *testing.T) {
		jobs := newFakeJobs()
		jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Completed, Result: "done"})
		res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"task_id":"`+taskID+`","cancel":true}`)
		var facts statusFacts
		if structured(t, res, &facts); facts.Status != session.Completed || facts.Result != "done" {
			t.Errorf("got %s", textOf(t, res))
		}
	})
}

// Covers: S1-064, SD-31
func TestStatusHidesTheInside(t *testing.T) {
	jobs := newFakeJobs()
	jobs.put(session.Status{
		TaskID: taskID, SessionID: sessionID, State: session.Running,
		Progress: session.Progress{Total: 1, Current: "read\n\x1b[31m\u202etxt.exe" + strings.Repeat("長", 300)},
		Error:    fault.New(fault.FSReadOnly, "write_file", "path", "/etc/my-secret", "rule", "agent.yaml:12"),
		Result:   "half an answer",
	})
	res := status(t, New(Config{Jobs: jobs, Texts: locale(t, "en")}), `{"task_id":"`+taskID+`"}`)
	var facts statusFacts
	all := structured(t, res, &facts) + textOf(t, res)
	for _, hidden := range []string{"my-secret", "agent.yaml:12", "write_file", "fs.", "half an answer", "\x1b", "\u202e"} {
		if strings.Contains(all, hidden) {
			t.Errorf("tells %q: %s", hidden, all)
		}
	}
	if facts.Error == nil || facts.Error.Code != fault.AgentDenied {
		t.Errorf("error %v", facts.Error)
	}
	if c := facts.Progress.Current; strings.Contains(c, "\n") || len(c) > 210 {
		t.Errorf("current %q", c)
	}
}

// A long answer comes in pages that stay small and lose nothing (mcp.size).
func TestStatusPagesALongAnswer(t *testing.T) {
	for name, whole := range map[string]string{
		"prose":    strings.Repeat("one line of prose, nothing special\n", 12_000),
		"Japanese": strings.Repeat("砂場で遊ぶ。", 20_000),
		"quotes":   strings.Repeat(`"<a href=\"&\">`, 5_000),
		"emoji":    strings.Repeat("🎈", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			jobs := newFakeJobs()
			jobs.put(session.Status{TaskID: taskID, SessionID: sessionID, State: session.Completed, Result: whole})
			s := New(Config{Jobs: jobs, Texts: locale(t, "en")})
			var got strings.Builder
			for offset := 0; ; {
				res := status(t, s, `{"task_id":"`+taskID+`","offset":`+num(offset)+`}`)
				wire, err := json.Marshal(res)
				if err != nil || len(wire) > 24_000 {
					t.Fatalf("one answer has %d bytes (%v)", len(wire), err)
				}
				var facts statusFacts
				structured(t, res, &facts)
				text := textOf(t, res)
				if !utf8.ValidString(facts.Result) || !strings.Contains(text, facts.Result) || facts.ResultBytes != len(whole) {
					t.Fatalf("at %d: broken page", offset)
				}
				got.WriteString(facts.Result)
				if facts.NextOffset == 0 {
					break
				}
				if !strings.Contains(text, nextPage(taskID, facts.NextOffset)) || facts.NextOffset != offset+len(facts.Result) {
					t.Fatalf("at %d: the next call is not named:\n%s", offset, text[len(text)-200:])
				}
				offset = facts.NextOffset
			}
			if got.String() != whole {
				t.Error("the pages are not the whole")
			}
		})
	}
}

func TestCutLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := clean(strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 3000).Draw(t, "times")))
		offset := rapid.IntRange(-5, len(text)+5).Draw(t, "offset")
		page, from, next := cut(text, offset)
		if from > max(offset, 0) || from < offset-3 && offset <= len(text) {
			t.Fatalf("offset %d starts at %d", offset, from)
		}
		if !utf8.ValidString(page) || text[from:from+len(page)] != page {
			t.Fatal("not a part of the text")
		}
		if next != 0 && next != from+len(page) || next == 0 && from+len(page) != len(text) {
			t.Fatalf("page of %d at %d of %d, next %d", len(page), from, len(text), next)
		}
		if encoded, _ := json.Marshal(page); len(encoded) > pageBytes+2 {
			t.Fatalf("%d bytes", len(encoded))
		}
	})
}

func TestCleanLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := clean(raw)
		if !utf8.ValidString(got) {
			t.Fatal("not UTF-8")
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && isHidden(r) {
				t.Fatalf("keeps %U", r)
			}
		}
		if clean(got) != got {
			t.Fatal("not stable")
		}
	})
}

// Hostile text cannot move the cursor, reorder a line or hide (C-91).
func TestClean(t *testing.T) {
	for raw, want := range map[string]string{
		"plain\ttext\nwith 日本語 and 👩‍💻": "plain\ttext\nwith 日本語 and 👩‍💻",
		"a\r\nb":                 "a\nb",
		"a\x1b[2Jb\rc":           `a\u{1B}[2Jb\u{D}c`,
		"user\u202egnp.exe":      `user\u{202E}gnp.exe`,
		"x\U000E0041y\uFEFF\x7f": `x\u{E0041}y\u{FEFF}\u{7F}`,
		"bad \xff byte":          "bad \uFFFD byte",
	} {
		if got := clean(raw); got != want {
			t.Errorf("clean(%q) = %q, want %q", raw, got, want)
		}
	}
}
