package mcpserver

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

const (
	maxRequestText = 1 << 20 // bytes of agent_run's request
	maxClientID    = 128     // bytes of client_request_id
	visionPatience = time.Second
)

// agentRun accepts one request and answers at once (S1-059, MCP-RUN-01..05).
func (s *Server) agentRun(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ticket, refused, err := s.submit(ctx, call)
	if refused != nil || err != nil {
		return refused, err
	}
	take(ctx, ticket)
	return s.queued(ticket), nil
}

// submit checks the arguments of agent_run and queues the request. Nothing is
// queued unless everything about it was accepted.
func (s *Server) submit(ctx context.Context, call *mcp.CallToolRequest) (session.Ticket, *mcp.CallToolResult, error) {
	none := session.Ticket{}
	a, protocolErr := decodeArguments(call.Params.Arguments,
		"request", "session_id", "temperature", "images", "client_request_id")
	if protocolErr != nil {
		return none, nil, protocolErr
	}
	req := session.Request{
		Text:            a.text("request", maxRequestText),
		SessionID:       a.id("session_id"),
		Temperature:     a.number("temperature", 0, 2),
		ClientRequestID: strings.TrimSpace(a.text("client_request_id", maxClientID)),
		Owner:           callerOf(ctx).owner,
	}
	if _, given := a.fields["request"]; !given {
		a.refuse("input.required", "field", "request")
	} else if strings.TrimSpace(req.Text) == "" {
		a.refuse("input.empty", "field", "request")
	}
	if strings.ContainsFunc(req.ClientRequestID, isHidden) {
		a.refuse("input.control", "field", "client_request_id")
	}
	req.Images = a.images("images", s.limits, int64(len(req.Text)))
	if a.refused != nil {
		return none, s.refuse(*a.refused), nil
	}
	if len(req.Images) > 0 && s.blind(ctx) {
		return none, s.failed(fault.New(fault.LLMNoVision, "agent_run")), nil
	}
	ticket, err := s.jobs.Submit(req)
	if err != nil {
		return none, s.failed(err), nil
	}
	return ticket, nil, nil
}

// blind reports whether the model is known not to take images (MCP-RUN-04). It
// asks only for a moment: agent_run answers at once.
func (s *Server) blind(ctx context.Context) bool {
	if s.vision == nil {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, visionPatience)
	defer stop()
	sees, err := s.vision(ctx)
	return err == nil && !sees
}

// queued words the answer of agent_run: both IDs, the status, and the literal
// next call.
func (s *Server) queued(t session.Ticket) *mcp.CallToolResult {
	text := strings.Join([]string{
		s.text("run.accepted"),
		s.text("status.task", "task_id", t.TaskID),
		s.text("status.session", "session_id", t.SessionID),
		s.text("status.state", "status", s.stateWord(t.Status)),
		s.text("status.next", "call", nextWait(t.TaskID)),
		s.text("run.continue", "session_id", t.SessionID),
	}, "\n")
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: queuedFacts{
			TaskID: t.TaskID, SessionID: t.SessionID, Status: t.Status,
		},
	}
}

// queuedFacts is the structured content of agent_run (CONTRACT §5).
type queuedFacts struct {
	TaskID    string        `json:"task_id"`
	SessionID string        `json:"session_id"`
	Status    session.State `json:"status"`
}
