package ollama

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/ollamatest"
	"sunaba/tool"
)

// play returns a client of a scripted server.
func play(t *testing.T, script string, change ...func(*Config)) (*Client, *ollamatest.Server) {
	t.Helper()
	s, err := ollamatest.Parse(t.Name(), script)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := ollamatest.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		BaseURL: srv.URL(), Model: "m", Retries: 3, Backoff: time.Millisecond,
		KeepAlive: 10 * time.Minute, RequestTimeout: time.Minute,
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); srv.Close() })
	return c, srv
}

var ask = agent.ChatRequest{
	Messages: []agent.Message{{Role: agent.RoleSystem, Content: "s"}, {Role: agent.RoleUser, Content: "go"}},
	Tools:    []tool.Spec{{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}},
}

// Covers: OLL-02, OLL-10, OLL-13, OLL-14b
func TestReply(t *testing.T) {
	call := func(id, name, arguments string) agent.ToolCall {
		return agent.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	two := []agent.ToolCall{call("call_00000001", "a", `{"x":9007199254740993}`), call("call_00000002", "a", `{}`)}
	for _, c := range []struct {
		name, script string
		want         agent.Message
		ending       agent.Ending
	}{
		{"text", "## t\nsay hello\u2028 there, \u0085 and more of it", agent.Message{Content: "hello\u2028 there, \u0085 and more of it"}, agent.EndStop},
		{"calls in chunks", "## t\ncall a {\"x\":9007199254740993}\ncall a {}", agent.Message{ToolCalls: two}, agent.EndStop},
		{"calls in the last chunk, sharing an index", "wire native\n## t\ncall a {\"x\":9007199254740993}\ncall a {}", agent.Message{ToolCalls: two}, agent.EndStop},
		{"thinking apart", "## t\nthink hm\nsay yes", agent.Message{Content: "yes", Thinking: "hm"}, agent.EndStop},
		{"leaked thinking", "## t\nsay \"<think>hm</think>\\n\\nyes\"", agent.Message{Content: "yes", Thinking: "hm"}, agent.EndStop},
		{"lone closing tag", "## t\nsay \"hm\\n</think>\\nyes\"", agent.Message{Content: "yes", Thinking: "hm\n"}, agent.EndStop},
		{"only thinking", "## t\nthink hm", agent.Message{Thinking: "hm"}, agent.EndEmpty},
		{"nothing", "## t\nempty", agent.Message{}, agent.EndEmpty},
		{"a lost call", "## t\nmalformed a {", agent.Message{}, agent.EndEmpty},
		{"cut by length", "## t\nsay well\nlength", agent.Message{Content: "well"}, agent.EndLength},
		{"arguments that are no object", "## t\ncall a [1]", agent.Message{ToolCalls: []agent.ToolCall{call("call_00000001", "a", `[1]`)}}, agent.EndStop},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, srv := play(t, c.script, func(c *Config) { c.Think = "true" })
			got, err := client.Chat(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Role = agent.RoleAssistant
			if d := cmp.Diff(c.want, got.Message); d != "" {
				t.Error(d)
			}
			if got.Ending != c.ending {
				t.Errorf("ending %q, want %q", got.Ending, c.ending)
			}
			if got.Usage.Input == 0 || (got.Usage.Output == 0) != (c.name == "nothing" || c.name == "a lost call") {
				t.Errorf("usage %+v", got.Usage)
			}
			if n := len(srv.Chats()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Covers: OLL-12, REC-01
func TestOutcomes(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for _, c := range []struct {
		name, script string
		code         fault.Code // "" a reply
		requests     int
		args         fault.Args // a part of them
	}{
		{"busy for ever", "## t\nbusy\nrepeat forever", fault.LLMUnavailable, 4, fault.Args{"attempts": "4", "model": "m"}},
		{"busy once", "## t\nbusy\n## u\nsay ok", "", 2, nil},
		{"busy three times", "## t\nbusy\nrepeat 3\n## u\nsay ok", "", 4, nil},
		{"crash", "## t\ncrash\n## u\nsay ok", "", 2, nil},
		{"an empty 500", "## t\nsilent-500\n## u\nsay ok", "", 2, nil},
		{"an empty 500 for ever", "## t\nsilent-500\nrepeat forever", fault.LLMUnavailable, 4, nil},
		{"a bad gateway", "## t\nstatus 502 \"upstream\"\n## u\nsay ok", "", 2, nil},
		{"a cut stream", "## t\nsay half of\ncut\n## u\nsay ok", "", 2, nil},
		{"cut before anything", "## t\ncut\n## u\nsay ok", "", 2, nil},
		{"cut in the middle of a line", "## t\ngarbage {\"message\":{\"content\":\"hel\ncut\n## u\nsay ok", "", 2, nil},
		{"an error in the stream", "## t\nsay half\nfail-midway \"model runner has unexpectedly stopped\"\n## u\nsay ok", "", 2, nil},
		{"an error in the stream for good", "## t\nfail-midway \"error parsing tool call: raw='{'\"", fault.LLMBadOutput, 1, nil},
		{"an unknown 500", "## t\nstatus 500 \"strange\"\nrepeat forever", fault.LLMFailed, 4, fault.Args{"detail": "500 strange"}},
		{"a 400", "## t\nstatus 400 \"bad\"", fault.LLMFailed, 1, fault.Args{"detail": "400 bad"}},
		{"a redirect", "## t\nstatus 302 \"elsewhere\"", fault.LLMFailed, 1, nil},
		{"no such model", "model other", fault.LLMModelMissing, 1, fault.Args{"model": "m"}},
		{"another server", "## t\nstatus 404 \"404 page not found\"", fault.LLMFailed, 1, nil},
		{"no tools", "capabilities completion", fault.LLMNoTools, 1, nil},
		{"a call that cannot be parsed", "wire native\n## t\nmalformed a {", fault.LLMBadOutput, 1, nil},
		{"a call that ends early", "## t\nstatus 500 \"unexpected EOF\"", fault.LLMBadOutput, 1, nil},
		{"XML", "## t\nstatus 500 \"XML syntax error on line 1: unexpected EOF\"", fault.LLMBadOutput, 1, nil},
		{"the runner went away", "## t\nstatus 500 \"do load request: Post \\\"http://127.0.0.1:1/load\\\": EOF\"\n## u\nsay ok", "", 2, nil},
		{"signed out", "## t\nauth https://example.test/connect", fault.LLMAuth, 1, fault.Args{"signin_url": "https://example.test/connect"}},
		{"signed out, a strange address", "## t\nauth javascript:x", fault.LLMAuth, 1, fault.Args{"signin_url": "ollama signin"}},
		{"too many requests", "## t\nstatus 429 \"slow down\"\n## u\nsay ok", "", 2, nil},
		{"too many requests for ever", "## t\nstatus 429 \"slow down\"\nrepeat forever", fault.LLMRateLimited, 4, nil},
		{"too many requests, for hours", "## t\nquota 7200", fault.LLMRateLimited, 1, nil},
		{"overflow, old words", "context 64\n## t\nsay " + long, fault.LLMOverflow, 1, fault.Args{"n": ">16384", "n_ctx": "16384"}},
		{"overflow, new words", "context 64\nwire native", fault.LLMOverflow, 1, fault.Args{"n": "281", "n_ctx": "64"}},
		{"a wrong option", "## t\nstatus 500 \"option \\\"top_k\\\" must be of type integer\"", fault.LLMFailed, 1, fault.Args{"detail": `option "top_k" must be of type integer`}},
		{"too little memory", "## t\nstatus 500 \"model requires more system memory (9 GiB) than is available (1 GiB)\"", fault.LLMFailed, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, srv := play(t, c.script)
			r := ask
			if c.code == fault.LLMOverflow {
				r.Messages = []agent.Message{{Role: agent.RoleUser, Content: long}}
			}
			reply, err := client.Chat(t.Context(), r)
			if got := fault.CodeOf(err); got != c.code || (c.code == "") != (err == nil) {
				t.Fatalf("got %v, want %q", err, c.code)
			}
			if c.code == "" && reply.Message.Content != "ok" {
				t.Errorf("reply %+v", reply)
			}
			if n := len(srv.Chats()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if e, ok := errors.AsType[*fault.Error](err); ok {
				for k, v := range c.args {
					if e.Args[k] != v {
						t.Errorf("%s=%q, want %q", k, e.Args[k], v)
					}
				}
			}
		})
	}
}

// Covers: OLL-12, REC-01
func TestDown(t *testing.T) {
	client, srv := play(t, "## t\nsay ok")
	if _, err := client.Chat(t.Context(), ask); err != nil {
		t.Fatal("the twin with a running server:", err)
	}
	srv.Close()
	_, err := client.Chat(t.Context(), ask)
	if fault.CodeOf(err) != fault.LLMUnavailable {
		t.Errorf("got %v", err)
	}
}

// Covers: OLL-14a
func TestThinkingFallsBackOnce(t *testing.T) {
	thinks := func(srv *ollamatest.Server) (words []string) {
		for _, r := range srv.Chats() {
			var body struct{ Think json.RawMessage }
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			words = append(words, string(body.Think))
		}
		return words
	}
	for _, c := range []struct {
		think, capabilities string
		want                []string
	}{
		{"high", "completion tools thinking", []string{`"high"`, `"high"`}},
		{"high", "completion tools", []string{`"high"`, `true`, `false`, `false`}},
		{"true", "completion tools", []string{`true`, `false`, `false`}},
		{"", "completion tools", []string{`false`, `false`}},
	} {
		client, srv := play(t, "capabilities "+c.capabilities+"\n## t\nsay ok\nrepeat 2", func(cfg *Config) { cfg.Think = c.think })
		for range 2 {
			if _, err := client.Chat(t.Context(), ask); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff(c.want, thinks(srv)); d != "" {
			t.Errorf("%s: %s", c.think, d)
		}
	}
}

// Covers: OLL-09, AT-06
func TestVision(t *testing.T) {
	r := agent.ChatRequest{Messages: []agent.Message{{Role: agent.RoleUser, Images: [][]byte{{1, 2, 3}}}}}
	blind, srv := play(t, "## t\nsay ok")
	if _, err := blind.Chat(t.Context(), r); fault.CodeOf(err) != fault.LLMNoVision {
		t.Errorf("got %v", err)
	}
	if n := len(srv.Chats()); n != 0 {
		t.Errorf("%d images were sent", n)
	}
	seeing, srv := play(t, "capabilities completion vision\n## t\nsay ok\nrepeat 2")
	for range 2 {
		if _, err := seeing.Chat(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	if n := len(srv.Requests()); n != 3 { // the capabilities are asked for once
		t.Errorf("%d requests", n)
	}
	if body := string(srv.Chats()[0].Body); !strings.Contains(body, `"images":["AQID"]`) {
		t.Error(body)
	}
}

func TestCheck(t *testing.T) {
	client, srv := play(t, "model m\ncapabilities tools\nversion 1.2")
	got, err := client.Check(t.Context())
	if d := cmp.Diff(Info{true, true, []string{"tools"}, "1.2"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	srv.Close()
	if got, err = client.Check(t.Context()); err != nil || got.Reachable {
		t.Error(got, err)
	}
	client, _ = play(t, "model other\nversion 1.2")
	got, err = client.Check(t.Context())
	if d := cmp.Diff(Info{Reachable: true, Version: "1.2"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestPreload(t *testing.T) {
	client, srv := play(t, "model m\ncontext 512", func(c *Config) { c.NumCtx = 2048 })
	if n, err := client.Preload(t.Context()); n != 512 || err != nil {
		t.Error(n, err)
	}
	want := `{"model":"m","stream":false,"keep_alive":"10m0s","options":{"num_ctx":2048,"num_predict":1024}}`
	if got := string(srv.Chats()[0].Body); got != want {
		t.Error(got)
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{BaseURL: "http://127.0.0.1:11434/", Model: "m"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no address":          func(c *Config) { c.BaseURL = "" },
		"another scheme":      func(c *Config) { c.BaseURL = "file:///etc/passwd" },
		"a name and password": func(c *Config) { c.BaseURL = "http://u:p@127.0.0.1" },
		"a query":             func(c *Config) { c.BaseURL = "http://127.0.0.1/?a=b" },
		"no model":            func(c *Config) { c.Model = "" },
		"a strange think":     func(c *Config) { c.Think = "maybe" },
	} {
		c := good
		change(&c)
		if _, err := New(c); fault.CodeOf(err) != fault.ConfigValue {
			t.Errorf("%s: %v", name, err)
		}
	}
}
