package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/tool"
)

// LLM-006. Covers: OLL-10
func TestCallsWrittenAsText(t *testing.T) {
	const args = `{"path":"t.txt","content":"hi"}`
	one := `{"name":"write_file","arguments":` + args + `}`
	tests := []struct {
		name, content string
		calls         int
		attempt       bool
	}{
		{"bare", one, 1, true},
		{"bare with parameters", `{"name":"write_file","parameters":` + args + `}`, 1, true},
		{"function object", `{"type":"function","id":"1","function":` + one + `}`, 1, true},
		{"blanks around", "\n\n  " + one + " \n", 1, true},
		{"list", "[" + one + "," + one + "]", 2, true},
		{"lines", one + "\n" + one, 2, true},
		{"fenced", "```json\n" + one + "\n```", 1, true},
		{"fenced without a language", "```\n" + one + "\n```", 1, true},
		{"tagged", "<tool_call>\n" + one + "\n</tool_call>", 1, true},
		{"tagged twice", "<tool_call>" + one + "</tool_call>\n<tool_call>" + one + "</tool_call>", 2, true},
		{"XML", "<tool_call>\n<function=write_file>\n<parameter=path>\nt.txt\n</parameter>\n<parameter=content>\nhi\n</parameter>\n</function>\n</tool_call>", 1, true},
		{"XML without a tag", "<function=write_file><parameter=path>t.txt</parameter><parameter=content>hi</parameter></function>", 1, true},

		{"prose before", "I will write it:\n" + one, 0, false},
		{"prose after", one + "\nDone.", 0, false},
		{"prose around a fence", "For example:\n```json\n" + one + "\n```\nThis writes.", 0, false},
		{"prose before a tag", "Now: <tool_call>" + one + "</tool_call>", 0, true},
		{"tag not closed", "<tool_call>" + one, 0, true},
		{"unknown tool", `{"name":"write","arguments":` + args + `}`, 0, true},
		{"known and unknown tool", "[" + one + `,{"name":"x","arguments":{}}]`, 0, true},
		{"unknown argument", `{"name":"write_file","arguments":{"path":"a","content":"","mode":1}}`, 0, true},
		{"missing argument", `{"name":"write_file","arguments":{"path":"a"}}`, 0, true},
		{"arguments are text", `{"name":"write_file","arguments":"{}"}`, 0, false},
		{"more members", `{"name":"write_file","arguments":` + args + `,"note":"x"}`, 0, false},
		{"cut", one[:len(one)-3], 0, false},
		{"other JSON", `{"version":1}`, 0, false},
		{"a list of numbers", `[1,2]`, 0, false},
		{"an empty list", `[]`, 0, false},
		{"null", `null`, 0, false},
		{"XML with a parameter twice", "<function=write_file><parameter=path>a</parameter><parameter=path>b</parameter></function>", 0, true},
		{"words", "Nothing to do.", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, attempt := specs(tool.Catalogue()).fromText(test.content)
			if len(got) != test.calls || attempt != test.attempt {
				t.Fatalf("%d calls, attempt %v", len(got), attempt)
			}
			for _, c := range got {
				if c.Name != tool.WriteFile || !jsonEqual(t, string(c.Arguments), args) {
					t.Errorf("%s %s", c.Name, c.Arguments)
				}
			}

			// In the loop: executed exactly when recovered.
			s := newStage(planned("t1 write"), text(test.content), calls(call(tool.WriteFile, `{"path":"end","content":""}`), finish("end")))
			wantEnd(t, s.run(t), "")
			if n := len(s.box.executed) - 1; n != test.calls {
				t.Errorf("executed %v", s.box.executed)
			}
			if told := strings.Contains(s.said(0), textCall); told != (attempt && test.calls == 0) {
				t.Errorf("the correcting turn was given: %v", told)
			}
		})
	}
}

func jsonEqual(t *testing.T, a, b string) bool {
	t.Helper()
	return identity("", []byte(a)) == identity("", []byte(b))
}

// One correcting turn only; then the words are judged as words.
func TestTheCorrectingTurnIsGivenOnce(t *testing.T) {
	s := newStage(planned("t1 none"), text(`{"name":"nothing","arguments":{}}`))
	o := s.run(t)
	wantEnd(t, o, "")
	if len(s.model.requests) != 3 {
		t.Errorf("%d requests", len(s.model.requests))
	}
}

// LLM-008: broken arguments are never executed, never repaired, and never sent
// back broken (checkRequest holds the last).
func TestBrokenArguments(t *testing.T) {
	for _, args := range []string{
		`{"path":"a","content":"x`,
		`{"path":"a",}`,
		`{"path":"C:\dir"}`,
		`null`,
		`[1]`,
		`"{\"path\":\"a\"}"`,
		`{"path":"a"} {"path":"b"}`,
		`{}`,
		`{"path":1}`,
		`{"path":"a","mode":"x"}`,
		``,
		`rm -rf`,
	} {
		t.Run(args, func(t *testing.T) {
			s := newStage(planned("t1 read"),
				calls(call(tool.ReadFile, args)),
				calls(call(tool.ReadFile, `{"path":"good"}`)),
				calls(finish("end")))
			wantEnd(t, s.run(t), "")
			if diff := cmp.Diff([]string{`read_file {"path":"good"}`}, s.box.executed); diff != "" {
				t.Error(diff)
			}
			told := s.model.requests[2].Messages
			last := told[len(told)-1]
			if last.Role != RoleTool || !strings.Contains(last.Content, "tool.arguments") || !strings.Contains(last.Content, `Arguments of read_file: {"type":"object"`) {
				t.Errorf("the model is told %q", last.Content)
			}
			if len(last.Content) > 2000 {
				t.Errorf("the complaint has %d bytes", len(last.Content))
			}
		})
	}
}

func TestAnUnknownToolIsToldTheTools(t *testing.T) {
	s := newStage(planned("t1 none"), calls(call("open_browser", `{"url":"x"}`)), text("end"))
	wantEnd(t, s.run(t), "")
	if len(s.box.executed) != 0 || !strings.Contains(s.said(4), "The tools are: edit_file, ") {
		t.Errorf("executed %v, said:\n%s", s.box.executed, s.said(4))
	}
}

// Several calls of one reply go in order; what follows the end of the task is
// answered, not executed.
func TestCallsOfOneReplyGoInOrder(t *testing.T) {
	s := newStage(planned("t1 read", "t2 none t1"),
		calls(call(tool.ReadFile, `{"path":"1"}`), call(tool.WriteFile, `{"path":"2","content":""}`), finish("one"), call(tool.WriteFile, `{"path":"3","content":""}`)),
		text("two"))
	wantEnd(t, s.run(t), "")
	if diff := cmp.Diff([]string{`read_file {"path":"1"}`, `write_file {"content":"","path":"2"}`}, s.box.executed); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(s.said(0), lateCall) {
		t.Error("the late call is not told so")
	}
}

// "length": no mutating call of that reply is executed, and the model is told.
func TestCutReplies(t *testing.T) {
	read, write := call(tool.ReadFile, `{"path":"a"}`), call(tool.WriteFile, `{"path":"b","content":""}`)
	command, end := call(tool.RunCommand, `{"argv":["x"]}`), finish("x")
	s := newStage(planned("t1 read"), cutOff(calls(read, write, command, end)), calls(end))
	wantEnd(t, s.run(t), "")
	if diff := cmp.Diff([]string{`read_file {"path":"a"}`}, s.box.executed); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(s.said(0), cutCall); n != 3 {
		t.Errorf("%d calls are told to be cut:\n%s", n, s.said(0))
	}

	t.Run("words", func(t *testing.T) {
		s := newStage(planned("t1 none"), cutOff(text("a long ans")), text("short"))
		o := s.run(t)
		wantEnd(t, o, "")
		if o.Result != "short" || !strings.Contains(s.said(0), cutReply) {
			t.Errorf("result %q, said:\n%s", o.Result, s.said(0))
		}
	})
	t.Run("a call as text", func(t *testing.T) {
		s := newStage(planned("t1 none"), cutOff(text(`{"name":"write_file","arguments":{"path":"a","content":""}}`)), text("short"))
		wantEnd(t, s.run(t), "")
		if len(s.box.executed) != 0 {
			t.Errorf("executed %v", s.box.executed)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		s := newStage(planned("t1 write"), cutOff(calls(write)))
		wantEnd(t, s.run(t), fault.LLMBadOutput)
		if len(s.box.executed) != 0 || len(s.model.requests) != 1+maxLost+1 {
			t.Errorf("executed %v, %d requests", s.box.executed, len(s.model.requests))
		}
	})
}

// Empty and lost replies: a nudge with another request, at most two in a row,
// then an honest failure.
func TestLostReplies(t *testing.T) {
	thinking := func(ChatRequest) (Reply, error) {
		return Reply{Message: Message{Thinking: "hm"}, Ending: EndEmpty}, nil
	}
	blank := text(" \n")
	for name, lost := range map[string]step{"empty": empty(), "bad output": broken(fault.LLMBadOutput), "only thinking": thinking, "blank": blank} {
		t.Run(name, func(t *testing.T) {
			s := newStage(planned("t1 read"), lost, lost, calls(call(tool.ReadFile, `{"path":"a"}`)), lost, lost, calls(finish("end")))
			wantEnd(t, s.run(t), "")
			for i := 2; i < len(s.model.requests); i++ {
				if cmp.Equal(s.model.requests[i-1].Messages, s.model.requests[i].Messages) {
					t.Errorf("request %d is the one before, once more", i)
				}
			}
			if !strings.Contains(s.said(0), "read_file") {
				t.Error("the nudge does not name the tools")
			}
			s = newStage(planned("t1 read"), lost)
			wantEnd(t, s.run(t), fault.LLMBadOutput)
			if n := len(s.model.requests); n != 1+maxLost+1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Whatever is recovered from text is a valid call of a known tool, and nothing
// is recovered as soon as there are words beside it.
func FuzzCallsWrittenAsText(f *testing.F) {
	f.Add(`{"name":"read_file","arguments":{"path":"a"}}`)
	f.Add("```json\n[{\"name\":\"list_files\",\"arguments\":{}}]\n```")
	f.Add("<tool_call><function=read_file><parameter=path>a</parameter></function></tool_call>")
	known := specs(tool.Catalogue())
	f.Fuzz(func(t *testing.T, content string) {
		got, attempt := known.fromText(content)
		for _, c := range got {
			spec, ok := known.find(c.Name)
			if !ok {
				t.Fatalf("unknown tool %q", c.Name)
			}
			if _, err := tool.Arguments(spec, c.Arguments); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) > 0 && !attempt {
			t.Fatal("calls that were not meant")
		}
		for _, words := range []string{"For example: " + content, content + " is an example."} {
			if got, _ := known.fromText(words); len(got) > 0 {
				t.Fatalf("recovered from %q", words)
			}
		}
	})
}
