package pod

// Role names the speaker of a Message.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	FromTool  Role = "tool"
)

// Message is one entry of a conversation. Conversations only grow: what was
// stored is never changed, so that a server's prompt cache holds.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content,omitempty"`
	// Thinking is what the model said to itself; an Assistant's only.
	Thinking string `json:"thinking,omitempty"`
	// Calls are the tools an Assistant asks for, in order.
	Calls []Call `json:"calls,omitempty"`
	// Tool and CallID say which call a FromTool message answers.
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
}

// Call is one call of a tool that a model asks for.
type Call struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is a JSON object, or whatever the model sent: the Pod checks
	// it, and a bad one is told to the model.
	Arguments string `json:"arguments"`
}
