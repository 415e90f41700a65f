// Package ollama is a language model of an Ollama server as the Model of any
// number of Pods (C-19).
//
// The one rule to keep in mind: an answer counts only when the server says that
// it is whole; whatever else happens is an error with a code.
package ollama

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/ollama"
	"sunaba/pod"
	"sunaba/tool"
)

// Config says which model of which server.
type Config struct {
	URL     string         // such as "http://127.0.0.1:11434"; no user info
	Model   string         // such as "qwen3:8b"; it must be able to call tools
	NumCtx  int            // the window in tokens; 0: Options' num_ctx, else 16384
	Timeout time.Duration  // one answer as a whole; 0: 10 minutes
	Options map[string]any // passed through, such as "temperature"
}

// Client asks one model. It may be shared by many Pods; the caller closes it.
type Client struct {
	client     *ollama.Client
	url, model string
}

var _ pod.Model = (*Client)(nil)

const (
	keepAlive = 5 * time.Minute // how long the server keeps the model between answers
	retries   = 2               // after the first attempt (C-86)
)

// New returns a Client. It asks nothing of the server: Check does.
func New(c Config) (*Client, error) {
	client, err := ollama.New(ollama.Config{
		BaseURL: c.URL, Model: c.Model, NumCtx: c.NumCtx, RequestTimeout: c.Timeout, Options: c.Options,
		KeepAlive: keepAlive, Retries: retries,
	})
	if err != nil {
		return nil, err
	}
	return &Client{client, c.URL, c.Model}, nil
}

// Check asks whether the server is there and has a model that calls tools; if
// not it is llm.unavailable, llm.model_missing or llm.no_tools. A server too old
// to tell what its models can do is taken at its word.
func (c *Client) Check(ctx context.Context) error {
	info, err := c.client.Check(ctx)
	code := fault.Code("")
	switch {
	case err != nil:
		return err
	case !info.Reachable:
		code = fault.LLMUnavailable
	case !info.ModelPresent:
		code = fault.LLMModelMissing
	case info.Capabilities != nil && !slices.Contains(info.Capabilities, "tools"):
		code = fault.LLMNoTools
	default:
		return nil
	}
	return fault.New(code, "check", "base_url", c.url, "model", c.model, "attempts", "1")
}

// Chat implements pod.Model.
func (c *Client) Chat(ctx context.Context, messages []pod.Message, tools []tool.Spec) (pod.Message, error) {
	request := agent.ChatRequest{Tools: tools}
	for _, m := range messages {
		sent := agent.Message{Role: agent.Role(m.Role), Content: m.Content, Thinking: m.Thinking, ToolName: m.Tool, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			sent.ToolCalls = append(sent.ToolCalls, agent.ToolCall{ID: call.ID, Name: call.Name, Arguments: json.RawMessage(call.Arguments)})
		}
		request.Messages = append(request.Messages, sent)
	}
	reply, err := c.client.Chat(ctx, request)
	if err != nil {
		return pod.Message{}, err
	}
	answer := pod.Message{Role: pod.Assistant, Content: reply.Message.Content, Thinking: reply.Message.Thinking}
	for _, call := range reply.Message.ToolCalls {
		answer.Calls = append(answer.Calls, pod.Call{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)})
	}
	return answer, nil
}

// Close gives back the Client's connections.
func (c *Client) Close() { c.client.Close() }
