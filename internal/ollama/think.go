package ollama

import (
	"encoding/json"
	"strings"
)

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// splitThinking takes reasoning that leaked into content out of it (OLL-14b,
// OLL-14c): blocks that open at the start of a line, closed or not, and
// everything before a closing tag whose opening one stood in the prompt's
// template. JSON is left alone: a tag in it is data.
func splitThinking(content string) (answer, thinking string) {
	if !strings.Contains(content, openTag) && !strings.Contains(content, closeTag) || json.Valid([]byte(content)) {
		return content, ""
	}
	var kept, taken strings.Builder
	rest := content
	if end := strings.Index(rest, closeTag); end >= 0 && !strings.Contains(rest[:end], openTag) {
		taken.WriteString(rest[:end])
		rest = rest[end+len(closeTag):]
	}
	for {
		start := lineStart(rest, openTag)
		if start < 0 {
			kept.WriteString(rest)
			break
		}
		kept.WriteString(rest[:start])
		inner, after, closed := strings.Cut(rest[start+len(openTag):], closeTag)
		taken.WriteString(inner)
		if !closed {
			break
		}
		rest = after
	}
	return strings.TrimSpace(kept.String()), taken.String()
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
