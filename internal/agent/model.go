package agent

import (
	"context"
	"encoding/json"

	"sunaba/tool"
)

// Role names the speaker of a Message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation. Conversations are append-only: the
// head stays byte-stable so that the server's prompt cache holds.
type Message struct {
	Role       Role
	Content    string
	Thinking   string     // assistant only; sent back only within a tool exchange (OLL-14d)
	ToolCalls  []ToolCall // assistant only
	ToolName   string     // tool only
	ToolCallID string     // tool only
	Images     [][]byte   // user only
}

// ToolCall is one call the model asks for. Arguments is a JSON object, or
// whatever the model sent: the loop validates it.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// ChatRequest is one call of the model. Model name, options, think level and
// keep-alive belong to the adapter's configuration, not to the request.
type ChatRequest struct {
	Messages    []Message
	Tools       []tool.Spec
	Format      json.RawMessage // JSON schema; never together with Tools
	Temperature *float64        // overrides the configured value for this call (OLL-06)
	NumPredict  int             // upper bound of generated tokens; 0: the adapter's default
	Trace       Trace
}

// Trace correlates a call in the LLM log (S1-225).
type Trace struct {
	SessionID, TaskID, PlanTask, Phase string // Phase: plan, work, compact
	Iteration, Replan                  int
}

// Ending says why the model stopped.
type Ending string

// The endings of a reply that arrived whole.
const (
	EndStop   Ending = "stop"
	EndLength Ending = "length" // cut by num_predict or the window: no mutating call of it is executed
	EndEmpty  Ending = "empty"  // neither content nor calls
)

// Usage is what the server measured (OLL-13).
type Usage struct{ Input, Output int }

// Reply is one answer of the model that arrived whole.
type Reply struct {
	Message Message // Thinking separated from Content (OLL-14b)
	Ending  Ending
	Usage   Usage
}

// Model talks to a language model. Failures are fault.Errors of the llm
// family, already retried as configured; ctx ends the call.
type Model interface {
	Chat(ctx context.Context, r ChatRequest) (Reply, error)
}

// Vision reports whether a model takes images; Models that know implement it.
type Vision interface {
	Vision(ctx context.Context) (bool, error)
}

// Toolbox is the agent's side of the Sandbox Broker, one per Task. Call
// returns an error only for what must end the Task (a failed audit write, a
// lost Worker); a refusal is a Result.
type Toolbox interface {
	Specs() []tool.Spec
	Call(ctx context.Context, c Call) (tool.Result, error)
}

// Surveyor is a Toolbox that can tell what commands left which matters outside
// of the sandbox (C-85); whole says that it looked at everything.
type Surveyor interface {
	Survey(ctx context.Context) (left []Leftover, whole bool, err error)
}

// Leftover is a file that programs on the host execute or obey, or with a
// Target a link that leads outside.
type Leftover struct {
	Path   string `json:"path"` // absolute
	Target string `json:"target,omitempty"`
}

// Call is one tool call with what the audit correlates.
type Call struct {
	PlanTask  string
	Name      string
	Arguments json.RawMessage
}
