package agent

import (
	"encoding/json"
	"slices"
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
	leastResult   = 1 << 10 // bytes of a result that are kept in every window
)

// leftOut stands where n bytes of a result were cut out.
func leftOut(n int) string {
	return "[" + decimal(n) + " bytes are left out here: they do not fit into your window. Ask for a smaller part if you need them.]"
}

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

// fit cuts the middle out of an answer that would leave no room for a second
// one of its size beside the fixed bytes of every request: the newest results
// are never shortened, so that one of them could fill the window by itself.
func (w *window) fit(answer string, fixed int) string {
	room := (int(w.ratio*w.share*float64(w.tokens)) - fixed) / keepResults
	if room = max(room, leastResult); len(answer) <= room {
		return answer
	}
	head, tail := room*3/4, len(answer)-room/4
	for head > 0 && !utf8.RuneStart(answer[head]) {
		head--
	}
	for tail < len(answer) && !utf8.RuneStart(answer[tail]) {
		tail++
	}
	return answer[:head] + "\n" + leftOut(tail-head) + "\n" + answer[tail:]
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

// dropExchange leaves out the oldest reply with calls together with their
// results, unless it is one of the newest keep. Everything else stays: the
// head, the request, the plan, what the current task is.
func dropExchange(messages []Message, keep int) []Message {
	first := -1
	for i, m := range messages {
		if len(m.ToolCalls) > 0 {
			if first < 0 {
				first = i
			}
			keep--
		}
	}
	if keep >= 0 {
		return messages
	}
	end := first + 1
	for end < len(messages) && messages[end].Role == RoleTool {
		end++
	}
	return slices.Delete(messages, first, end)
}

// stub keeps the first line of a result, or its beginning.
func stub(content string) string {
	head, rest, _ := strings.Cut(content, "\n")
	if rest == removed || (rest == "" && len(head) <= stubBytes) {
		return content
	}
	if len(head) > stubBytes {
		head = verdict(head)
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

// verdict is the first line of a refusal without its sentences, so that it stays
// one JSON object; any other line is returned as it is.
func verdict(head string) string {
	var r struct {
		OK    *bool  `json:"ok"`
		Scope string `json:"scope"`
		Error *struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(head), &r) != nil || r.OK == nil || r.Error == nil {
		return head
	}
	short, err := json.Marshal(r)
	if err != nil {
		return head
	}
	return string(short)
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
