package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"sunaba/fault"
	"sunaba/internal/agent"
)

func TestSplitThinking(t *testing.T) {
	for _, c := range []struct{ in, answer, thinking string }{
		{"plain", "plain", ""},
		{"  kept as it is \n", "  kept as it is \n", ""},
		{"<think>a</think>b", "b", "a"},
		{"\n <think>\na\n</think>\n\nb", "b", "\na\n"},
		{"a</think>b", "b", "a"},
		{"a\n</think>\n\nb", "b", "a\n"},
		{"<think>never closed", "", "never closed"},
		{"<think>a</think>b\n<think>c</think>d", "b\nd", "ac"},
		{"a</think>b\n<think>c", "b", "ac"},
		{"<think></think>", "", ""},
		{"the tag <think> opens", "the tag <think> opens", ""},
		{`{"a":"x</think>y"}`, `{"a":"x</think>y"}`, ""},
		{"<THINK>a</Think>b", "b", "a"},
		{"<think>a</think>b <think>c</think>d", "b d", "ac"},
		{"<think>a<think>b</think>c</think>d", "d", "a<think>bc"},
		{"<think>a</think>the tag <think> opens", "the tag <think> opens", "a"},
		{"say <think>a</think> to it", "say <think>a</think> to it", ""},
		{"<thinking>a</thinking>b", "b", "a"},
		{"\n[THINK]a[/THINK]\nb", "b", "a"},
		{"<seed:think>a", "", "a"},
		{"<|channel|>analysis<|message|>a<|end|>b", "b", "a"},
		{"<reasoning>İ</reasoning>b", "b", "İ"},
		{"an <reasoning>a</reasoning> element", "an <reasoning>a</reasoning> element", ""},
		{"<reasoning>a</reasoning><think>b</think>c", "c", "ab"},
		{"<b>bold</b>  ", "<b>bold</b>  ", ""},
	} {
		answer, thinking := splitThinking(c.in)
		if answer != c.answer || thinking != c.thinking {
			t.Errorf("%q: %q, %q; want %q, %q", c.in, answer, thinking, c.answer, c.thinking)
		}
	}
}

// The summary is for a person; other arguments are data (OLL-14c).
//
// Covers: OLL-14b, OLL-14c
func TestNoThinkingInASummary(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"finish_task", `{"summary":"<think>why</think>done","outcome":"done"}`, `{"outcome":"done","summary":"done"}`},
		{"finish_task", `{"summary":"why</think>done"}`, `{"summary":"done"}`},
		{"finish_task", `{"summary":"done",  "outcome":"done"}`, `{"summary":"done",  "outcome":"done"}`},
		{"finish_task", `{"summary":7}`, `{"summary":7}`},
		{"finish_task", `[]`, `[]`},
		{"write_file", `{"path":"a","summary":"<think>why</think>done"}`, `{"path":"a","summary":"<think>why</think>done"}`},
	} {
		line := `{"message":{"tool_calls":[{"function":{"name":"` + c.name + `","arguments":` + c.arguments + `}}]},"done":true}`
		got, f := readReply(strings.NewReader(line), func() {})
		if f != nil {
			t.Fatal(f.fault)
		}
		if a := string(got.Message.ToolCalls[0].Arguments); a != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.arguments, a, c.want)
		}
	}
}

// What no server can have measured is not measured (OLL-13).
func TestCountsOfTokens(t *testing.T) {
	for _, c := range []struct {
		n    json.Number
		want int
	}{
		{"12", 12}, {"0", 0}, {"", 0}, {"-5", 0}, {"1.5", 0}, {"2147483647", 2147483647}, {"2147483648", 0}, {"1000000000000000000", 0},
	} {
		if got := tokens(c.n); got != c.want {
			t.Errorf("%s: %d, want %d", c.n, got, c.want)
		}
	}
}

func TestReadReply(t *testing.T) {
	const done = `{"done":true,"done_reason":"stop"}` + "\n"
	huge := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, in string
		code     fault.Code
		content  string
		calls    int
		ending   agent.Ending
	}{
		{"whole", `{"message":{"content":"a"}}` + "\n" + done, "", "a", 0, agent.EndStop},
		{"empty lines between", "\n\n" + `{"message":{"content":"a"}}` + "\r\n\n" + done, "", "a", 0, agent.EndStop},
		{"no newline at the end", `{"message":{"content":"a"},"done":true}`, "", "a", 0, agent.EndStop},
		{"a megabyte in a line", `{"message":{"content":"` + huge + `"}}` + "\n" + done, "", huge, 0, agent.EndStop},
		{"a reason of tomorrow", `{"message":{"content":"a"},"done":true,"done_reason":"whim"}`, "", "a", 0, agent.EndLength},
		{"the same call twice over", `{"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{}}}]}}` + "\n" +
			`{"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{}}}]},"done":true}`, "", "", 1, agent.EndStop},
		{"one id, two calls", `{"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{}}},{"id":"1","function":{"name":"a","arguments":{}}}]},"done":true}`, "", "", 2, agent.EndStop},
		{"one id, other arguments", `{"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{}}}]}}` + "\n" +
			`{"message":{"tool_calls":[{"id":"1","function":{"name":"a","arguments":{"x":1}}}]},"done":true}`, "", "", 2, agent.EndStop},
		{"no ids", `{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]}}` + "\n" +
			`{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]},"done":true}`, "", "", 2, agent.EndStop},
		{"nothing", "", fault.LLMUnavailable, "", 0, ""},
		{"without done", `{"message":{"content":"a"}}` + "\n", fault.LLMUnavailable, "", 0, ""},
		{"half a line", `{"message":{"content":"a"}}` + "\n" + `{"done":tr`, fault.LLMUnavailable, "", 0, ""},
		{"no JSON", "<html>\n", fault.LLMUnavailable, "", 0, ""},
		{"a number", "1\n", fault.LLMUnavailable, "", 0, ""},
		{"an error object", `{"error":{"message":"does not support tools"}}` + "\n", fault.LLMNoTools, "", 0, ""},
		{"an error after calls", `{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]}}` + "\n" + `{"error":"failed to parse"}` + "\n", fault.LLMBadOutput, "", 0, ""},
		{"a line without end", `{"message":{"content":"` + strings.Repeat("x", maxLine), fault.LLMBadOutput, "", 0, ""},
		{"a reply without end", strings.Repeat(`{"message":{"content":"`+huge+`"}}`+"\n", maxReply>>20+1), fault.LLMBadOutput, "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, f := readReply(strings.NewReader(c.in), func() {})
			if f != nil {
				if f.fault.Code != c.code {
					t.Errorf("got %v, want %q", f.fault, c.code)
				}
				return
			}
			if c.code != "" || got.Message.Content != c.content || len(got.Message.ToolCalls) != c.calls || got.Ending != c.ending {
				t.Errorf("got %.200v", got)
			}
		})
	}
}

// FuzzReadReply: whatever arrives, a reply is whole or the failure has a code.
func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		`{"message":{"content":"a","thinking":"b"}}` + "\n" + `{"done":true,"prompt_eval_count":1e3}`,
		`{"message":{"tool_calls":[{"id":"1","function":{"index":0,"name":"a","arguments":{"x":1}}}]},"done":true}`,
		`{"error":"the input length exceeds the context length"}`, `{"error":null}`, "\n", "",
		`{"error":"{\"error\":{\"n_prompt_tokens\":9,\"n_ctx\":8,\"type\":\"exceed_context_size_error\"}}"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, failed := readReply(strings.NewReader(s), func() {})
		switch {
		case failed != nil && failed.fault.Code.Family() != "llm":
			t.Errorf("failure %v", failed.fault)
		case failed == nil && (got.Ending == "" || got.Message.Role != agent.RoleAssistant):
			t.Errorf("reply %+v", got)
		case failed == nil && !strings.Contains(s, "done") && !strings.Contains(strings.ToLower(s), "done"):
			t.Errorf("a reply out of %q", s)
		}
	})
}
