package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// The tasks extension (MCP-2026-04..07): a client that declares it on a request
// gets an MCP Task from agent_run, under the same UUID agent_status takes, and
// follows it with tasks/get. Everyone else gets the ordinary text.
const (
	tasksExtension = "io.modelcontextprotocol/tasks"
	// sessionMeta carries the agent's Session, which MCP Tasks know nothing of.
	sessionMeta = "dev.sunaba/session_id"
	// jobFailed is the JSON-RPC code of a Task that failed; the range MCP
	// reserves is left alone.
	jobFailed = 1
)

// mcpTask is a Task as the extension writes it.
type mcpTask struct {
	mcp.ResultBase
	ResultType     string         `json:"resultType"`
	TaskID         string         `json:"taskId"`
	Status         string         `json:"status"`
	StatusMessage  string         `json:"statusMessage,omitempty"`
	CreatedAt      string         `json:"createdAt"`
	LastUpdatedAt  string         `json:"lastUpdatedAt"`
	TTLMs          int64          `json:"ttlMs"`
	PollIntervalMs int64          `json:"pollIntervalMs"`
	Result         *finalResult   `json:"result,omitempty"`
	Error          *jsonrpc.Error `json:"error,omitempty"`
}

// finalResult is the result of agent_run inside a finished Task. It is not the
// SDK's type, which leaves resultType out when it is nested.
type finalResult struct {
	ResultType        string         `json:"resultType"`
	Content           []mcp.Content  `json:"content"`
	StructuredContent statusFacts    `json:"structuredContent"`
	Meta              map[string]any `json:"_meta,omitempty"`
}

// acknowledged is the empty answer of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// taskParams are the parameters of all three methods. Both members stay raw:
// one bad value must not fail the whole request.
type taskParams struct {
	mcp.ParamsBase
	TaskID         json.RawMessage `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses"`
}

// addTasks installs the extension's methods and the middleware that turns an
// accepted agent_run into a Task.
func (s *Server) addTasks(m *mcp.Server) {
	add := func(method string, h func(context.Context, session.Status) (mcp.Result, error)) {
		err := mcp.AddReceivingCustomMethod(m, method,
			func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (mcp.Result, error) {
				st, err := s.taskOf(ctx, p)
				if err != nil {
					return nil, err
				}
				return h(ctx, st)
			})
		if err != nil {
			panic(err) // the name of a standard method: cannot be
		}
	}
	add("tasks/get", func(_ context.Context, st session.Status) (mcp.Result, error) {
		return s.finishedTask(st), nil
	})
	// This server asks for no input, so that every key is an unknown one, and
	// those are ignored.
	add("tasks/update", func(context.Context, session.Status) (mcp.Result, error) {
		return &acknowledged{ResultType: "complete"}, nil
	})
	add("tasks/cancel", func(_ context.Context, st session.Status) (mcp.Result, error) {
		if !st.State.Terminal() {
			if err := s.jobs.Cancel(st.TaskID); err != nil {
				return nil, s.taskError(err)
			}
		}
		return &acknowledged{ResultType: "complete"}, nil
	})
	m.AddReceivingMiddleware(s.offerTasks)
}

// offer travels from the middleware to agent_run: a place for the ticket of a
// request whose answer shall be a Task.
type offer struct{ ticket *session.Ticket }

type offerKey struct{}

// offerTasks answers an accepted agent_run with a Task where the request
// declares the extension, and keeps the extension out of the older handshake.
func (s *Server) offerTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		var o *offer
		if call, ok := req.(*mcp.CallToolRequest); ok && declaresTasks(call.Params.Meta) {
			o = &offer{}
			ctx = context.WithValue(ctx, offerKey{}, o)
		}
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		if init, ok := res.(*mcp.InitializeResult); ok {
			init.Capabilities.Extensions = nil
		}
		if o != nil && o.ticket != nil {
			t := s.task(session.Status{
				TaskID: o.ticket.TaskID, SessionID: o.ticket.SessionID, State: o.ticket.Status,
				CreatedAt: o.ticket.CreatedAt, Updated: o.ticket.CreatedAt,
			})
			t.ResultType = "task"
			return t, nil
		}
		return res, nil
	}
}

// take leaves the ticket for the middleware, if this call's answer is a Task.
func take(ctx context.Context, t session.Ticket) {
	if o, ok := ctx.Value(offerKey{}).(*offer); ok {
		o.ticket = &t
	}
}

// speaksModern and declaresTasks read a request's own _meta: what an earlier
// handshake said does not count.
func speaksModern(meta map[string]any) bool {
	version, ok := meta[mcp.MetaKeyProtocolVersion].(string)
	return ok && version >= firstModern
}

func declaresTasks(meta map[string]any) bool {
	caps, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := caps["extensions"].(map[string]any)
	_, declared := extensions[tasksExtension].(map[string]any)
	return declared && speaksModern(meta)
}

// taskOf finds the Task a request is about, for a client that may ask.
func (s *Server) taskOf(ctx context.Context, p *taskParams) (session.Status, error) {
	none := session.Status{}
	if p == nil || !speaksModern(p.Meta) {
		return none, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
	}
	if !declaresTasks(p.Meta) {
		return none, tasksRequired()
	}
	a := &arguments{fields: map[string]json.RawMessage{"taskId": p.TaskID}}
	id := a.id("taskId")
	if a.refused != nil || id == "" {
		return none, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "taskId must be the UUID of a task"}
	}
	st, err := s.jobs.Status(ctx, id, "", 0)
	if err != nil {
		return none, s.taskError(err)
	}
	return st, nil
}

// tasksRequired tells a client that it has to declare the extension.
func tasksRequired() *jsonrpc.Error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the tasks extension must be declared",
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}

// taskError words a failure of the extension's methods.
func (s *Server) taskError(err error) *jsonrpc.Error {
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok {
		s.log.Error("a task request failed without a code", "error", err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	code, args := outward(coded)
	message, _ := s.texts.Fault(code, args)
	out := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: oneLine(message, 200)}
	if code == fault.MCPUnknownTask {
		out.Code = jsonrpc.CodeInvalidParams
	}
	return out
}

// task writes st as the extension does (MCP-2026-05, MCP-2026-06).
func (s *Server) task(st session.Status) *mcpTask {
	t := &mcpTask{
		ResultType: "complete", TaskID: st.TaskID, Status: "working",
		CreatedAt: stamp(st.CreatedAt), LastUpdatedAt: stamp(st.Updated),
		TTLMs: s.ttl.Milliseconds(), PollIntervalMs: s.poll.Milliseconds(),
	}
	if st.State.Terminal() {
		t.Status = string(st.State)
	}
	t.Meta = mcp.Meta{sessionMeta: st.SessionID}
	t.StatusMessage = s.statusMessage(st)
	return t
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// statusMessage is what a client without any view of its own shows: state,
// progress, what it waits for, and the Session.
func (s *Server) statusMessage(st session.Status) string {
	r := s.report(st, 0)
	lines := []string{
		s.text("status.state", "status", s.stateWord(st.State)),
		s.text("status.progress", "completed", num(st.Progress.Completed), "total", num(st.Progress.Total)),
	}
	if r.facts.Progress.Current != "" {
		lines = append(lines, s.text("status.current", "title", r.facts.Progress.Current))
	}
	if r.facts.AwaitsApproval {
		lines = append(lines, s.text("status.approval"))
	}
	lines = append(lines, s.text("status.session", "session_id", st.SessionID))
	return strings.Join(lines, "\n")
}

// finishedTask is task with the outcome, once there is one. The result says
// what agent_status says; a failed Task has an error instead.
func (s *Server) finishedTask(st session.Status) *mcpTask {
	t := s.task(st)
	r := s.report(st, 0)
	switch st.State {
	case session.Completed:
		t.Result = &finalResult{
			ResultType:        "complete",
			Content:           []mcp.Content{&mcp.TextContent{Text: s.reportText(r)}},
			StructuredContent: r.facts,
			Meta:              map[string]any{sessionMeta: st.SessionID},
		}
	case session.Failed:
		e := r.facts.Error
		if e == nil {
			message, _ := s.texts.Fault(fault.AgentFailed, fault.Args{})
			e = &errorFacts{Code: fault.AgentFailed, Message: message}
		}
		data, _ := json.Marshal(map[string]any{"code": e.Code, "task_id": st.TaskID, "session_id": st.SessionID})
		t.Error = &jsonrpc.Error{Code: jobFailed, Message: e.Message, Data: data}
	}
	return t
}
