package ollama

import (
	"bytes"
	"encoding/json"
	"maps"

	"sunaba/internal/agent"
)

// chatRequest is the body of POST /api/chat. The messages stand last and the
// rest never changes within a conversation, so one request's body is a prefix
// of the next one's and the server's prompt cache holds.
type chatRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	Think     json.RawMessage `json:"think"`
	KeepAlive json.RawMessage `json:"keep_alive"`
	Truncate  bool            `json:"truncate"` // always false: a silent truncation drops the user's request
	Shift     bool            `json:"shift"`    // always false: as above, while generating
	Options   map[string]any  `json:"options"`  // printed in the order of their names
	Format    json.RawMessage `json:"format,omitempty"`
	Tools     []wireTool      `json:"tools,omitempty"`
	Messages  []wireMessage   `json:"messages"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     [][]byte   `json:"images,omitempty"` // Base64 on the wire
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// body encodes r. A format silences tool calls on every server version, and
// some crash on both together: with a format the tools stay out.
func (c *Client) body(r agent.ChatRequest, think string) ([]byte, error) {
	w := chatRequest{
		Model: c.cfg.Model, Stream: true, Think: thinkValues[think], KeepAlive: c.cfg.keepAlive(),
		Options: c.options(r), Format: r.Format, Messages: make([]wireMessage, len(r.Messages)),
	}
	if len(r.Format) == 0 {
		for _, s := range r.Tools {
			w.Tools = append(w.Tools, wireTool{"function", wireFunction{s.Name, s.Description, s.Parameters}})
		}
	}
	for i, m := range r.Messages {
		w.Messages[i] = encodeMessage(m)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(w); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// options merges what is passed through, what is known and what the client
// itself answers for; the later wins (OLL-05).
func (c *Client) options(r agent.ChatRequest) map[string]any {
	options := make(map[string]any, len(c.cfg.Extra)+len(c.cfg.Options)+3)
	maps.Copy(options, c.cfg.Extra)
	maps.Copy(options, c.cfg.Options)
	options["num_ctx"] = c.cfg.NumCtx
	options["num_predict"] = c.cfg.numPredict(r.NumPredict)
	if r.Temperature != nil {
		options["temperature"] = *r.Temperature
	}
	return options
}

// encodeMessage writes m so that the server accepts it whatever the model once
// said: arguments that are no object were never executed and would make the
// server refuse every later request. Thinking goes back only beside the calls
// it led to (OLL-14d).
func encodeMessage(m agent.Message) wireMessage {
	w := wireMessage{
		Role: string(m.Role), Content: m.Content, Images: m.Images,
		ToolName: m.ToolName, ToolCallID: m.ToolCallID,
	}
	if len(m.ToolCalls) > 0 {
		w.Thinking = m.Thinking
	}
	for i, call := range m.ToolCalls {
		var c wireCall
		c.ID = call.ID
		c.Function.Index = i
		c.Function.Name = call.Name
		c.Function.Arguments = json.RawMessage(`{}`)
		if isObject(call.Arguments) {
			c.Function.Arguments = call.Arguments
		}
		w.ToolCalls = append(w.ToolCalls, c)
	}
	return w
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// chunk is one line of the reply.
type chunk struct {
	Message struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []wireCall `json:"tool_calls"`
	} `json:"message"`
	Done            bool            `json:"done"`
	DoneReason      string          `json:"done_reason"`
	PromptEvalCount json.Number     `json:"prompt_eval_count"` // absent when 0; includes cached tokens
	EvalCount       json.Number     `json:"eval_count"`
	Error           json.RawMessage `json:"error"`
}
