package ollamatest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	const text = `# a comment
model demo:1
capabilities completion tools
context 2048
wire native

## plan one
task t1 write 300 600 1500 2K after t0,t9 Write it | Write ${what} into f.
skill go

## turn
when result contains "\"ok\":true"
when user lacks "stop"
expect any contains "x"
repeat 3
think hm
say "two\nlines"
say <<END
# raw
  text
END
call read_file {"path":"a"}
finish done "ok"
status 500 "boom"
delay 20ms
`
	got, err := Parse("s", text, "what", "100")
	if err != nil {
		t.Fatal(err)
	}
	plan := `{"tasks":[{"id":"t1","title":"Write it","instructions":"Write 100 into f.","depends_on":["t0","t9"],` +
		`"effect":"write","optimistic_tokens":300,"most_likely_tokens":600,"pessimistic_tokens":1500,"token_budget":"2K"}],"skills":["go"]}`
	want := &Script{
		Model: "demo:1", Capabilities: []string{"completion", "tools"}, Context: 2048, Native: true, Version: "0.24.0",
		Turns: []Turn{
			{Name: "plan one", Line: 7, Plan: true, Times: 1, Steps: []Step{{Verb: "say", Text: plan}}},
			{
				Name: "turn", Line: 11, Times: 3,
				When:   []Condition{{"result", false, `"ok":true`}, {"user", true, "stop"}},
				Expect: []Condition{{"any", false, "x"}},
				Steps: []Step{
					{Verb: "think", Text: "hm"},
					{Verb: "say", Text: "two\nlines"},
					{Verb: "say", Text: "# raw\n  text"},
					{Verb: "call", Name: "read_file", JSON: json.RawMessage(`{"path":"a"}`)},
					{Verb: "call", Name: "finish_task", JSON: json.RawMessage(`{"summary":"ok","outcome":"done"}`)},
					{Verb: "status", Code: 500, Text: "boom"},
					{Verb: "delay", Delay: 20e6},
				},
			},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Turn{})); d != "" {
		t.Error(d)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown property":     "colour red",
		"an unknown word":         "## t\nshout hello",
		"a nameless section":      "##",
		"a call without JSON":     "## t\ncall read_file path",
		"a text without end":      "## t\nsay <<END\nhello",
		"a task outside a plan":   "## t\ntask t1 read 1 2 3 1K a | b",
		"a task without text":     "## plan\ntask t1 read 1 2 3 1K a",
		"a task without numbers":  "## plan\ntask t1 read one 2 3 1K a | b",
		"a plan said twice":       "## plan\ntask t1 read 1 2 3 1K a | b\nsay x",
		"a condition in no words": "## t\nwhen contains \"x\"",
		"a condition, unquoted":   "## t\nwhen last contains x",
		"a repetition of nothing": "## t\nrepeat 0",
		"a strange outcome":       "## t\nfinish perhaps",
		"a strange wire":          "wire http",
		"a status beyond HTTP":    "## t\nstatus 1000 \"x\"",
		"a word with too much":    "## t\nempty please",
	} {
		if s, err := Parse("s", text); err == nil {
			t.Errorf("%s was accepted: %+v", name, s)
		} else if !strings.HasPrefix(err.Error(), "s:") {
			t.Errorf("%s: the error names no place: %v", name, err)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range []string{"good", "clumsy", "hostile"} {
		s, err := Named(name, "secret", "/s", "outside", "/o", "config", "/c", "endpoint", "127.0.0.1:1")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, turn := range s.Turns {
			for _, step := range turn.Steps {
				if strings.Contains(step.Text+string(step.JSON), "${") {
					t.Errorf("%s: a variable is left in %q", name, turn.Name)
				}
			}
		}
	}
	if _, err := Named("nobody"); err == nil {
		t.Error("a script that does not exist was found")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"good", "clumsy", "hostile"} {
		text, err := scripts.ReadFile("scripts/" + name + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("wire native\n## plan x\ntask a read 1 2 3 1K after b c | d\n## t\nsay <<E\nE\nrepeat forever")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("s", text)
		if err != nil {
			return
		}
		for _, turn := range s.Turns {
			if turn.Times == 0 || turn.Times < Forever || turn.Line < 1 {
				t.Errorf("turn %+v", turn)
			}
			for _, step := range turn.Steps {
				if step.JSON != nil && !json.Valid(step.JSON) {
					t.Errorf("step %+v holds no JSON", step)
				}
			}
		}
	})
}
