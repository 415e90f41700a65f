package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The schemas are written by hand: only scalar types and one array, because
// some clients reject unions with null.

type property struct {
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Format      string   `json:"format,omitempty"`
	Minimum     *float64 `json:"minimum,omitempty"`
	Maximum     *float64 `json:"maximum,omitempty"`
	MaxItems    int      `json:"maxItems,omitempty"`
	Items       *object  `json:"items,omitempty"`
}

type object struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
	Additional bool                `json:"additionalProperties"`
}

func schema(o object) json.RawMessage {
	o.Type = "object"
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // only strings, numbers and maps of them
	}
	return raw
}

// runTool describes agent_run: it may change files and reach the network, as
// far as the owner's policy lets it.
func (s *Server) runTool() *mcp.Tool {
	return &mcp.Tool{
		Name: "agent_run", Title: s.text("run.title"), Description: s.text("run.description"),
		Annotations: &mcp.ToolAnnotations{
			Title: s.text("run.title"), DestructiveHint: new(true), OpenWorldHint: new(true),
		},
		InputSchema: schema(object{
			Required: []string{"request"},
			Properties: map[string]property{
				"request":           {Type: "string", Description: s.text("run.arg.request")},
				"session_id":        {Type: "string", Format: "uuid", Description: s.text("run.arg.session_id")},
				"temperature":       {Type: "number", Minimum: new(0.0), Maximum: new(2.0), Description: s.text("run.arg.temperature")},
				"client_request_id": {Type: "string", Description: s.text("run.arg.client_request_id")},
				"images": {
					Type: "array", MaxItems: s.limits.MaxImages, Description: s.text("run.arg.images"),
					Items: &object{
						Type: "object", Required: []string{"mime_type", "data"},
						Properties: map[string]property{
							"mime_type": {Type: "string"},
							"data":      {Type: "string", Description: s.text("run.arg.data")},
						},
					},
				},
			},
		}),
	}
}

// statusTool describes agent_status. It is not read-only, because of cancel.
func (s *Server) statusTool() *mcp.Tool {
	return &mcp.Tool{
		Name: "agent_status", Title: s.text("status.title"), Description: s.text("status.description"),
		Annotations: &mcp.ToolAnnotations{
			Title: s.text("status.title"), DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false),
		},
		InputSchema: schema(object{
			Required: []string{"task_id"},
			Properties: map[string]property{
				"task_id":      {Type: "string", Format: "uuid", Description: s.text("status.arg.task_id")},
				"session_id":   {Type: "string", Format: "uuid", Description: s.text("status.arg.session_id")},
				"wait_seconds": {Type: "integer", Minimum: new(0.0), Maximum: new(maxWait.Seconds()), Description: s.text("status.arg.wait_seconds")},
				"cancel":       {Type: "boolean", Description: s.text("status.arg.cancel")},
				"offset":       {Type: "integer", Minimum: new(0.0), Description: s.text("status.arg.offset")},
			},
		}),
	}
}
