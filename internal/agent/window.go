package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"sunaba/tool"
)

// The model's window is kept by estimate: the server's own truncation would
// drop whole messages from the front, the request included (LLM-004).
const (
	bytesPerToken = 3.5     // before anything was measured
	imageBytes    = 4 << 10 // what an image weighs in the estimate
	stubBytes     = 240     // kept of a shortened result: its first line
	longArgument  = 400     // longer string arguments of old calls are elided
	keepResults   = 2       // newest tool results that are never shortened
)

const removed = "[removed to save room; call the tool again if you need it]"

// window estimates tokens from bytes and learns from what the server measured.
type window struct {
	tokens int     // the model's window
	share  float64 // of it, at which old results are shortened
	ratio  float64 // bytes per token
}

// learn corrects the ratio by a measured prompt, within sane bounds.
func (w *window) learn(bytes, measured int) {
	if bytes > 0 && measured > 0 {
		w.ratio = min(max(float64(bytes)/float64(measured), 1.2), 6)
	}
}

// full reports whether bytes are more than the window may hold.
func (w *window) full(bytes int) bool {
	return float64(bytes)/w.ratio > w.share*float64(w.tokens)
}

// weight is the size of a request in bytes.
func weight(messages []Message, tools []tool.Spec) int {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, m := range messages {
		n += 16 + len(m.Content) + len(m.Thinking) + len(m.ToolName) + imageBytes*len(m.Images)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// shorten replaces tool results by their first line and long arguments of
// calls by a stub, oldest first, until enough says so. The newest keep results
// and all other messages stay, and every result stays beside its call. It
// reports whether anything became shorter.
func shorten(messages []Message, keep int, enough func() bool) bool {
	last := len(messages)
	for last > 0 && keep > 0 {
		last--
		if messages[last].Role == RoleTool {
			keep--
		}
	}
	changed := false
	for i := range messages[:last] {
		if enough() {
			break
		}
		m := &messages[i]
		switch m.Role {
		case RoleTool:
			if s := stub(m.Content); len(s) < len(m.Content) {
				m.Content, changed = s, true
			}
		case RoleAssistant:
			for j := range m.ToolCalls {
				c := &m.ToolCalls[j]
				if a := elide(c.Arguments); len(a) < len(c.Arguments) {
					c.Arguments, changed = a, true
				}
			}
		}
	}
	return changed
}

// stub keeps the first line of a result, or its beginning.
func stub(content string) string {
	head, rest, _ := strings.Cut(content, "\n")
	if rest == removed || (rest == "" && len(head) <= stubBytes) {
		return content
	}
	if len(head) > stubBytes {
		n := stubBytes
		for !utf8.RuneStart(head[n]) {
			n--
		}
		head = head[:n] + "…"
	}
	return head + "\n" + removed
}

// elide replaces the long string members of an argument object.
func elide(arguments json.RawMessage) json.RawMessage {
	if len(arguments) <= longArgument {
		return arguments
	}
	var members map[string]any
	if json.Unmarshal(arguments, &members) != nil {
		return arguments
	}
	for k, v := range members {
		if s, ok := v.(string); ok && len(s) > longArgument {
			members[k] = removed
		}
	}
	short, err := json.Marshal(members)
	if err != nil {
		return arguments
	}
	return short
}
