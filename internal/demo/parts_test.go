package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/audit"
	"sunaba/internal/ollamatest"
)

func TestServerURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "http://127.0.0.1:11434",
		"127.0.0.1:9":            "http://127.0.0.1:9",
		"0.0.0.0":                "http://127.0.0.1:11434",
		"0.0.0.0:80":             "http://127.0.0.1:80",
		":80":                    "http://127.0.0.1:80",
		"host":                   "http://host:11434",
		"[::1]":                  "http://[::1]:11434",
		"[::]:5":                 "http://127.0.0.1:5",
		"https://models.test:8/": "https://models.test:8",
	} {
		if got := serverURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFindModel(t *testing.T) {
	for _, c := range []struct {
		script, wanted, want string
	}{
		{"model a:1", "", "a:1"},
		{"model a:1", "a:1", "a:1"},
		{"model a:1", "b:1", ""},
		{"model a:1\ncapabilities completion", "", ""},
		{"", "", ""},
	} {
		s, err := ollamatest.Parse("s", c.script)
		if err != nil {
			t.Fatal(err)
		}
		srv, err := ollamatest.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := findModel(t.Context(), srv.URL(), c.wanted)
		if got.model != c.want || ok != (c.want != "") {
			t.Errorf("%q, %q: %q %v", c.script, c.wanted, got.model, ok)
		}
		srv.Close()
		if got, ok := findModel(t.Context(), srv.URL(), c.wanted); ok {
			t.Errorf("found %q on a server that is down", got.model)
		}
	}
}

func TestTail(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "a-1.jsonl"), filepath.Join(dir, "a-2.jsonl")
	tail := follow(filepath.Join(escapeGlob(dir), "a-*.jsonl"))
	step := func(path, text string, want ...string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
		lines, err := tail.next()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bytes.Join(lines, []byte("|"))); got != strings.Join(want, "|") {
			t.Errorf("after %q: %q, want %q", text, got, want)
		}
	}
	step(one, "x\ny", "x")
	step(one, "z")
	step(two, "w\n", "w")
	step(one, "\nv\n", "yz", "v")
	step(filepath.Join(dir, "b-1.jsonl"), "no\n")
}

// TestLeaked: the search that must find nothing does find something.
func TestLeaked(t *testing.T) {
	s, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.root) })
	if file, err := s.leaked(); file != "" || err != nil {
		t.Fatal(file, err)
	}
	for _, dir := range []string{s.state, s.project} {
		path := filepath.Join(dir, "deep", "log")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"+s.token+"y"), 0o600); err != nil {
			t.Fatal(err)
		}
		if file, err := s.leaked(); file != path || err != nil {
			t.Errorf("%q %v", file, err)
		}
		os.Remove(path)
	}
	if got := audit.NewRedactor().Redact(s.token); got != s.token {
		t.Errorf("the logs would hide the secret: %q", got)
	}
	if s.chained() {
		t.Error("a chain without files")
	}
}

// keys is a catalogue that answers with the key.
type keys struct{}

func (keys) Text(key string, args fault.Args) string {
	if len(args) == 0 {
		return key
	}
	return fmt.Sprint(key, map[string]string(args))
}

func TestStory(t *testing.T) {
	entry := func(name, arguments string) *llmEntry {
		e := &llmEntry{Role: "assistant"}
		e.ToolCalls = append(e.ToolCalls, struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{name, arguments})
		return e
	}
	result := func(tool, text string) llmEntry { return llmEntry{Role: "tool", ToolName: tool, Content: text} }
	one := 1
	for _, c := range []struct {
		name string
		llm  []llmRecord
		in   []audit.Record
		want string
	}{
		{
			"the plan",
			[]llmRecord{{TaskID: "T", Phase: "plan", Response: &llmEntry{Content: "```json\n" +
				`{"tasks":[{"id":"a","title":"A` + "\u202e" + `","instructions":"x","depends_on":[],"effect":"none","optimistic_tokens":1,"most_likely_tokens":1,"pessimistic_tokens":1,"token_budget":"1K"}],"skills":[]}` + "\n```"}}},
			[]audit.Record{{Event: "task.plan"}},
			"\ndemo.plan\n  * a   A\\u202e                                  demo.expectedmap[budget:1K tokens:1.00]\n" +
				"  demo.criticalmap[path:a tokens:1.00]\n\ndemo.calls\n",
		},
		{"no plan to be found", nil, []audit.Record{{Event: "task.plan"}}, "  demo.no_plan\n"},
		{
			"a refused call",
			[]llmRecord{{TaskID: "T", Phase: "work", Response: entry("read_file", `{"path":"/stage/s"}`)}},
			[]audit.Record{{Event: "tool.call", PlanTask: "t1", Tool: "read_file"}, {Event: "tool.denied", Tool: "read_file", Code: "fs.outside_workspace"}},
			"  demo.refused t1  read_file    …/s  fs.outside_workspace\n",
		},
		{
			"calls of another Task", nil,
			[]audit.Record{{Event: "tool.call", TaskID: "other", Tool: "read_file"}}, "",
		},
		{
			"a command and its output, after a call nobody executed",
			[]llmRecord{
				{TaskID: "T", Phase: "work", Response: entry("open_file", `{}`)},
				{TaskID: "T", Phase: "work", Messages: []llmEntry{result("open_file", `{"ok":false,"error":{"code":"tool.unknown"}}`)}, Response: entry("run_command", `{"argv":["sh","x"]}`)},
				{TaskID: "T", Phase: "work", From: 1, Messages: []llmEntry{result("run_command", `{"ok":true,"exit_code":1}`+"\nbad\x1b[2J\nmore")}},
				{TaskID: "T", Phase: "work", Messages: []llmEntry{result("open_file", "seen"), result("run_command", "seen")}},
			},
			[]audit.Record{{Event: "tool.call", PlanTask: "t1", Tool: "run_command"}, {Event: "process.start"}, {Event: "process.exit", ExitCode: &one}},
			"  demo.ran t1  run_command  sh x  exit 1: bad\\x1b[2J\n",
		},
		{
			"a failed call, then a write",
			[]llmRecord{
				{TaskID: "T", Phase: "work", Response: entry("edit_file", `{"path":"a"}`)},
				{TaskID: "T", Phase: "work", Messages: []llmEntry{result("edit_file", `{"ok":false,"error":{"code":"fs.no_match"}}`)}, Response: entry("write_file", `{"path":"a"}`)},
			},
			[]audit.Record{{Event: "tool.call", PlanTask: "t1", Tool: "edit_file"}, {Event: "tool.call", PlanTask: "t1", Tool: "write_file"}, {Event: "file.write"}, {Event: "task.replan"}},
			"  demo.failed t1  edit_file    a  fs.no_match\n  demo.allowed t1  write_file   a  demo.wrote\n  demo.replan\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			s := &story{page: page{out: &out, texts: keys{}, root: "/stage"}, task: "T"}
			s.prompt = func() ([]llmRecord, error) {
				records := c.llm
				c.llm = nil
				return records, nil
			}
			for _, r := range c.in {
				if r.TaskID == "" {
					r.TaskID = "T"
				}
				if err := s.event(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語です", 5, "日本…"},
		{"", 1, ""},
	} {
		if got := cut(c.in, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := pad("日本", 6); got != "日本  " {
		t.Errorf("%q", got)
	}
}
