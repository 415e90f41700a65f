package ollama

import (
	"testing"

	"sunaba/fault"
	"sunaba/internal/ollamatest"
	"sunaba/pod"
	"sunaba/scope"
)

func server(t *testing.T, script string) *ollamatest.Server {
	t.Helper()
	parsed, err := ollamatest.Parse("script", script)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ollamatest.Start(parsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A Pod works with a model of an Ollama server: what it is told, what it asks
// for and what it gets travel both ways, also a call that cannot be understood.
//
// Covers: C-19, S0-44
func TestPodOverOllama(t *testing.T) {
	s := server(t, `model m

## first
expect user contains "Look"
call Glob {"pattern":"**"}
call Read {"path":7,"more":[]}
## then
expect any contains "tool.arguments"
say "Nothing here."
`)
	client, err := New(Config{URL: s.URL(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rules, err := scope.New([]scope.Rule{{Target: dir, Permission: scope.Read, Recursive: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pod.New(&pod.Manifest{}, pod.NewWorker(client), pod.NewMemoryStore(), dir, rules)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	answer, err := p.Run(t.Context(), "Look.")
	if err != nil || answer != "Nothing here." {
		t.Errorf("%q, %v", answer, err)
	}
	messages := p.Messages()
	if len(messages) != 5 || len(messages[1].Calls) != 2 || messages[1].Calls[1].Arguments != `{"path":7,"more":[]}` {
		t.Errorf("the conversation is %+v", messages)
	}
	if found := append(s.Problems(), s.Unused()...); len(found) > 0 {
		t.Error(found)
	}
}

func TestCheck(t *testing.T) {
	able := server(t, "model m\n").URL()
	unable := server(t, "model m\ncapabilities completion\n").URL()
	for _, c := range []struct {
		name, url, model string
		want             fault.Code
	}{
		{"right", able, "m", ""},
		{"another model", able, "n", fault.LLMModelMissing},
		{"a model without tools", unable, "m", fault.LLMNoTools},
		{"nobody there", "http://127.0.0.1:1", "m", fault.LLMUnavailable},
	} {
		client, err := New(Config{URL: c.url, Model: c.model})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Check(t.Context()); fault.CodeOf(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		client.Close()
	}
	if _, err := New(Config{URL: "ftp://x", Model: "m"}); err == nil {
		t.Error("an address of another kind was taken")
	}
}
