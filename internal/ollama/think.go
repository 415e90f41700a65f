package ollama

import (
	"encoding/json"
	"strings"

	"sunaba/internal/agent"
	"sunaba/tool"
)

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// wrappers are further shapes of reasoning, by family of model. They are
// ordinary words of markup too: only a reply that begins with one is taken.
var wrappers = [][2]string{
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<seed:think>", "</seed:think>"},
	{"[think]", "[/think]"},
	{"<|start_thinking|>", "<|end_thinking|>"},
	{"<|channel|>analysis<|message|>", "<|end|>"},
}

// splitThinking takes reasoning that leaked into content out of it (OLL-14b,
// OLL-14c), whatever the case of its tags: blocks that open at the start of a
// line, closed or not, and everything before a closing tag whose opening one
// stood in the prompt's template or in the reasoning. Once some leaked, a tag
// in the middle of a line is a leak as well; before that it is prose. JSON is
// left alone: a tag in it is data.
func splitThinking(content string) (answer, thinking string) {
	if !strings.ContainsAny(content, "<[") || json.Valid([]byte(content)) {
		return content, ""
	}
	var taken strings.Builder
	rest, found := unwrapped(content, &taken)
	if rest, found = plainThinking(rest, found, &taken); !found {
		return content, ""
	}
	return strings.TrimSpace(rest), taken.String()
}

// unwrapped takes the block of one of the wrappers from the beginning.
func unwrapped(content string, taken *strings.Builder) (rest string, found bool) {
	rest = strings.TrimLeft(content, " \t\r\n")
	low := lower(rest)
	for _, w := range wrappers {
		if !strings.HasPrefix(low, w[0]) {
			continue
		}
		end := strings.Index(low, w[1])
		if end < 0 { // never closed: all of it
			taken.WriteString(rest[len(w[0]):])
			return "", true
		}
		taken.WriteString(rest[len(w[0]):end])
		return rest[end+len(w[1]):], true
	}
	return content, false
}

// plainThinking takes everything about <think> out of rest. leaks says that
// reasoning was found already.
func plainThinking(rest string, leaks bool, taken *strings.Builder) (string, bool) {
	var kept strings.Builder
	for first := true; ; first = false {
		low := lower(rest)
		start, end := strings.Index(low, openTag), strings.Index(low, closeTag)
		if end >= 0 && (start < 0 || end < start) && (first || leaks) {
			// What was kept since the last block was reasoning as well.
			taken.WriteString(kept.String() + rest[:end])
			kept.Reset()
			rest, leaks = rest[end+len(closeTag):], true
			continue
		}
		if !leaks || end < 0 { // in the middle of a line only a whole block is one
			start = lineStart(low, openTag)
		}
		if start < 0 {
			kept.WriteString(rest)
			return kept.String(), leaks
		}
		leaks = true
		kept.WriteString(rest[:start])
		rest = rest[start+len(openTag):]
		end = strings.Index(lower(rest), closeTag)
		if end < 0 {
			taken.WriteString(rest)
			return kept.String(), true
		}
		taken.WriteString(rest[:end])
		rest = rest[end+len(closeTag):]
	}
}

// lineStart returns the index of the first tag in s that has only blanks
// before it on its line, or -1. A tag in the middle of a sentence is prose.
func lineStart(s, tag string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], tag)
		if i < 0 {
			return -1
		}
		i += from
		line := s[strings.LastIndexByte(s[:i], '\n')+1 : i]
		if strings.TrimSpace(line) == "" {
			return i
		}
		from = i + len(tag)
	}
}

// lower is s with ASCII letters in lower case, so that every index holds in s.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// withoutThinking takes reasoning out of the one argument that is the model's
// word to a person: the summary of finish_task. All other arguments are data.
func withoutThinking(calls []agent.ToolCall) []agent.ToolCall {
	for i, c := range calls {
		if c.Name != tool.FinishTask {
			continue
		}
		var members map[string]json.RawMessage
		var summary string
		if json.Unmarshal(c.Arguments, &members) != nil || json.Unmarshal(members["summary"], &summary) != nil {
			continue
		}
		answer, thinking := splitThinking(summary)
		if thinking == "" {
			continue
		}
		var err error
		if members["summary"], err = json.Marshal(answer); err != nil {
			continue
		}
		if arguments, err := json.Marshal(members); err == nil {
			calls[i].Arguments = arguments
		}
	}
	return calls
}
