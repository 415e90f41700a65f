package agent

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"sunaba/internal/pattern"
	"sunaba/tool"
)

// Some models write their calls as text. They are taken for calls only when the
// whole reply is nothing but calls of known tools with valid arguments; JSON
// inside prose is an example or a quotation and is never executed (LLM-006).
var (
	tagged    = pattern.Lazy(`(?s)^\s*<tool_call>\s*(.*?)\s*</tool_call>`)
	fenced    = pattern.Lazy("(?s)^```(?:json|tool_call|tool_code)?[ \t]*\r?\n(.*)\n```$")
	function  = pattern.Lazy(`(?s)^<function=([A-Za-z0-9_]+)>\s*(.*?)\s*</function>$`)
	parameter = pattern.Lazy(`(?s)^\s*<parameter=([A-Za-z0-9_]+)>\r?\n?(.*?)\r?\n?</parameter>`)
)

// fromText returns the calls a reply without calls consists of. attempt says
// that the text was meant as a call, whether or not it is one.
func (s specs) fromText(content string) (calls []ToolCall, attempt bool) {
	content = strings.TrimSpace(content)
	calls, attempt = written(content)
	for _, c := range calls {
		t, ok := s.find(c.Name)
		if !ok {
			return nil, true
		}
		if _, err := tool.Arguments(t, c.Arguments); err != nil {
			return nil, true
		}
	}
	return calls, attempt || strings.Contains(content, "<tool_call>") || strings.Contains(content, "<function=")
}

// written reads content as calls and nothing else.
func written(content string) (calls []ToolCall, attempt bool) {
	if strings.HasPrefix(content, "<tool_call>") {
		for content != "" {
			m := tagged().FindStringSubmatch(content)
			if m == nil {
				return nil, true
			}
			inner := fromJSON(m[1])
			if inner == nil {
				inner = fromXML(m[1])
			}
			if inner == nil {
				return nil, true
			}
			calls = append(calls, inner...)
			content = strings.TrimSpace(content[len(m[0]):])
		}
		return calls, true
	}
	if calls := fromXML(content); calls != nil {
		return calls, true
	}
	if m := fenced().FindStringSubmatch(content); m != nil {
		content = m[1]
	}
	calls = fromJSON(content)
	return calls, calls != nil
}

// fromJSON reads objects, one after another or in an array, each of which is a
// name with arguments and nothing else.
func fromJSON(text string) []ToolCall {
	d := json.NewDecoder(strings.NewReader(text))
	var calls []ToolCall
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				return calls
			}
			return nil
		}
		list := []json.RawMessage{raw}
		if raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
			return nil
		}
		for _, item := range list {
			c, ok := oneCall(item)
			if !ok {
				return nil
			}
			calls = append(calls, c)
		}
	}
}

func oneCall(raw json.RawMessage) (ToolCall, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ToolCall{}, false
	}
	if inner, ok := members["function"]; ok {
		delete(members, "type")
		delete(members, "id")
		if len(members) != 1 {
			return ToolCall{}, false
		}
		members = nil
		if json.Unmarshal(inner, &members) != nil {
			return ToolCall{}, false
		}
	}
	var c ToolCall
	if len(members) != 2 || json.Unmarshal(members["name"], &c.Name) != nil || c.Name == "" {
		return ToolCall{}, false
	}
	for _, key := range []string{"arguments", "parameters"} {
		if a := members[key]; len(a) > 0 && a[0] == '{' {
			c.Arguments = a
			return c, true
		}
	}
	return ToolCall{}, false
}

// fromXML reads one call in the form of named parameters; all are strings.
func fromXML(text string) []ToolCall {
	m := function().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	arguments := map[string]string{}
	for rest := m[2]; strings.TrimSpace(rest) != ""; {
		p := parameter().FindStringSubmatch(rest)
		if p == nil {
			return nil
		}
		if _, twice := arguments[p[1]]; twice {
			return nil
		}
		arguments[p[1]] = p[2]
		rest = rest[len(p[0]):]
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return nil
	}
	return []ToolCall{{Name: m[1], Arguments: raw}}
}
