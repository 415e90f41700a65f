package ollamatest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// message is what the server reads of one message.
type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Images    [][]byte `json:"images"`
	ToolCalls []struct {
		Function struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"` // anything else is refused, as by the server
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatRequest struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Tools    []toolSpec      `json:"tools"`
	Format   json.RawMessage `json:"format"`
	Think    json.RawMessage `json:"think"`
	Truncate *bool           `json:"truncate"`
	Options  map[string]any  `json:"options"`
}

type toolSpec struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

func (s *Server) show(body []byte) *answer {
	var r struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if a, ok := s.knows(r.Model); !ok {
		return a
	}
	return object(http.StatusOK, map[string]any{
		"template": "{{ .Prompt }}", "details": map[string]any{"format": "gguf", "family": "llama"},
		"model_info": map[string]any{}, "capabilities": s.script.Capabilities,
	})
}

func (s *Server) chat(in *Request) *answer {
	var r chatRequest
	if err := json.Unmarshal(in.Body, &r); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if a, ok := s.knows(r.Model); !ok {
		return a
	}
	if a := s.unsupported(r); a != nil {
		return a
	}
	out := reply{model: r.Model, native: s.script.Native, callID: s.callID}
	if len(r.Messages) == 0 {
		out.reason = "load"
		return out.answer()
	}
	out.promptTokens = promptTokens(in.Body, r.Messages)
	if window := s.window(r); window > 0 && out.promptTokens > window && r.Truncate != nil && !*r.Truncate {
		return s.overflow(out.promptTokens, window)
	}
	// A planner asks under a schema or, one rung lower, without tools.
	plan := (len(r.Format) > 0 && string(r.Format) != "null") || len(r.Tools) == 0
	turn, found := s.pick(plan, r.Messages)
	if !found {
		return unscripted(out, r.Tools)
	}
	in.Turn = turn.Name
	out.thinks = string(r.Think) != "false"
	return s.play(turn, out)
}

// unsupported refuses what the model's capabilities do not hold.
func (s *Server) unsupported(r chatRequest) *answer {
	can := func(word string) bool { return slices.Contains(s.script.Capabilities, word) }
	refuse := func(what string) *answer {
		return failed(http.StatusBadRequest, fmt.Sprintf("%q does not support %s", r.Model, what))
	}
	switch {
	case len(r.Tools) > 0 && !can("tools"):
		return refuse("tools")
	case len(r.Think) > 0 && string(r.Think) != "false" && string(r.Think) != "null" && !can("thinking"):
		return refuse("thinking")
	case s.script.Native && !can("vision") && slices.ContainsFunc(r.Messages, func(m message) bool { return len(m.Images) > 0 }):
		return failed(http.StatusBadRequest, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj")
	}
	if _, number := r.Options["num_ctx"].(float64); r.Options["num_ctx"] != nil && !number {
		return failed(http.StatusInternalServerError, `option "num_ctx" must be of type integer`)
	}
	return nil
}

func (s *Server) window(r chatRequest) int {
	n, _ := r.Options["num_ctx"].(float64)
	if s.script.Context > 0 && (n == 0 || s.script.Context < int(n)) {
		return s.script.Context
	}
	return int(n)
}

func (s *Server) overflow(n, window int) *answer {
	if !s.script.Native {
		return failed(http.StatusBadRequest, "the input length exceeds the context length")
	}
	return failed(http.StatusBadRequest, string(encode(map[string]any{"error": map[string]any{
		"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": n, "n_ctx": window,
		"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", n, window),
	}})))
}

// unscripted answers when no section does: it says so, and ends the task when
// there is a tool for that.
func unscripted(out reply, tools []toolSpec) *answer {
	const text = "The script has ended: nothing is left for me to say."
	if slices.ContainsFunc(tools, func(t toolSpec) bool { return t.Function.Name == "finish_task" }) {
		out.call("finish_task", encode(map[string]string{"summary": text, "outcome": "failed"}))
	} else {
		out.say(text)
	}
	return out.answer()
}

// play turns the steps of a section into an answer.
func (s *Server) play(t Turn, out reply) *answer {
	for _, step := range t.Steps {
		switch step.Verb {
		case "think":
			out.think(step.Text)
		case "say":
			out.say(step.Text)
		case "call":
			out.call(step.Name, step.JSON)
		case "text-call":
			out.say(callText(step))
		case "fenced-call":
			out.say("```json\n" + callText(step) + "\n```")
		case "xml-call":
			out.say("<tool_call>\n" + callText(step) + "\n</tool_call>")
		case "malformed":
			if s.script.Native {
				return failed(http.StatusInternalServerError, "Failed to parse input at pos 0: "+step.Name+" "+step.Text)
			} // an older server drops the call: content stays empty
		case "length":
			out.reason = "length"
		case "delay":
			out.pause(step.Delay)
		case "cut":
			return out.unfinished(endCut)
		case "hang":
			return out.unfinished(endHang)
		case "garbage":
			out.raw(step.Text)
		case "fail-midway":
			out.raw(string(encode(map[string]string{"error": step.Text})))
			return out.unfinished(endCut)
		case "status":
			return failed(step.Code, step.Text)
		case "busy":
			return failed(http.StatusServiceUnavailable, "server busy, please try again.  maximum pending requests exceeded")
		case "crash":
			return failed(http.StatusInternalServerError, "llama runner process has terminated: exit status 2")
		case "overflow":
			return s.overflow(out.promptTokens, max(out.promptTokens/2, 1))
		case "silent-500":
			return text(http.StatusInternalServerError, "")
		case "quota":
			a := failed(http.StatusTooManyRequests, "you have reached your usage limit")
			a.header.Set("Retry-After", fmt.Sprint(step.Code))
			return a
		case "auth":
			return object(http.StatusUnauthorized, map[string]any{"error": "unauthorized", "signin_url": step.Text})
		}
	}
	return out.answer()
}

func callText(s Step) string {
	return strings.TrimSpace(string(encode(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{s.Name, s.JSON})))
}

// promptTokens counts the messages and the tools as they were sent; an image is
// 256 tokens whatever its size.
func promptTokens(body []byte, messages []message) int {
	var raw struct{ Messages, Tools json.RawMessage }
	if json.Unmarshal(body, &raw) != nil {
		return 0
	}
	bytes, images := len(raw.Messages)+len(raw.Tools), 0
	for _, m := range messages {
		for _, i := range m.Images {
			bytes -= base64.StdEncoding.EncodedLen(len(i))
			images++
		}
	}
	return tokens(bytes) + 256*images
}

// tokens counts deterministically: four bytes are a token.
func tokens(bytes int) int { return (bytes + 3) / 4 }
