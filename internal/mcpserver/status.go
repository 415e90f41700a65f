package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// maxWait is the longest agent_status waits: well below the 60 s after which
// several clients give a call up (mcp.timeout).
const maxWait = 25 * time.Second

// agentStatus tells the state of a Task, and stops it when asked to (S1-060,
// MCP-STS-01/02, SD-24).
func (s *Server) agentStatus(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, protocolErr := decodeArguments(call.Params.Arguments,
		"task_id", "session_id", "wait_seconds", "cancel", "offset")
	if protocolErr != nil {
		return nil, protocolErr
	}
	task, inSession := a.id("task_id"), a.id("session_id")
	wait := time.Duration(a.atMost("wait_seconds", int64(maxWait/time.Second))) * time.Second
	cancel := a.boolean("cancel")
	offset := a.integer("offset", 0, 1<<53)
	if task == "" {
		a.refuse("input.required", "field", "task_id")
	}
	if a.refused != nil {
		return s.refuse(*a.refused), nil
	}

	cancelling := false
	if cancel {
		st, err := s.jobs.Status(ctx, task, inSession, 0)
		if err != nil {
			return s.failed(err), nil
		}
		if !st.State.Terminal() {
			if err := s.jobs.Cancel(task); err != nil {
				return s.failed(err), nil
			}
			cancelling = true
		}
	}
	st, err := s.await(ctx, task, inSession, wait)
	if err != nil {
		return s.failed(err), nil
	}
	r := s.report(st, int(offset))
	r.cancelling = cancelling && !st.State.Terminal()
	if r.beyond {
		return s.refuse(refusal{"input.offset", fault.Args{"total": fmt.Sprint(r.total)}}), nil
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: s.reportText(r)}},
		StructuredContent: r.facts,
	}, nil
}

// await asks for the status, waiting at most wait. A transport that stops ends
// the wait early, so that the client still gets its answer.
func (s *Server) await(ctx context.Context, task, inSession string, wait time.Duration) (session.Status, error) {
	if wait <= 0 {
		return s.jobs.Status(ctx, task, inSession, 0)
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-callerOf(ctx).draining:
			stop(errDraining)
		case <-ended:
		}
	}()
	st, err := s.jobs.Status(waiting, task, inSession, wait)
	if err != nil && errors.Is(context.Cause(waiting), errDraining) {
		return s.jobs.Status(ctx, task, inSession, 0)
	}
	return st, err
}

// errDraining is the cause of waits that a stopping transport ends.
var errDraining = errors.New("the transport is stopping")

// report is one answer of agent_status: the facts, and what only the text needs.
type report struct {
	facts      statusFacts
	hint       string // what can be done about facts.Error
	cancelling bool
	from       int // the page of the result starts here
	total      int // bytes of the whole result
	beyond     bool
}

// statusFacts is the structured content of agent_status (CONTRACT §5).
type statusFacts struct {
	TaskID         string           `json:"task_id"`
	SessionID      string           `json:"session_id"`
	Status         session.State    `json:"status"`
	Progress       session.Progress `json:"progress"`
	Iterations     int              `json:"iterations"`
	Replans        int              `json:"replans"`
	Tokens         session.Tokens   `json:"tokens"`
	AwaitsApproval bool             `json:"awaits_approval,omitempty"`
	Error          *errorFacts      `json:"error,omitempty"`
	// Notice says what Result is, or that it is gone: results do not outlive the
	// process that made them. Absent while there is neither.
	Notice string `json:"notice,omitempty"`
	Result string `json:"result,omitempty"`
	// ResultBytes and NextOffset are set when Result is a part of the whole;
	// NextOffset is 0 on its last page.
	ResultBytes int `json:"result_bytes,omitempty"`
	NextOffset  int `json:"next_offset,omitempty"`
}

type errorFacts struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// report reduces a Status to what may be told, with one page of the result.
func (s *Server) report(st session.Status, offset int) report {
	r := report{facts: statusFacts{
		TaskID: st.TaskID, SessionID: st.SessionID, Status: st.State,
		Progress:   st.Progress,
		Iterations: st.Iterations, Replans: st.Replans, Tokens: st.Tokens,
		AwaitsApproval: st.AwaitsApproval && !st.State.Terminal(),
	}}
	r.facts.Progress.Current = oneLine(st.Progress.Current, 200)
	if st.State.Terminal() {
		r.facts.Progress.Current = ""
	}
	if st.Error != nil {
		code, args := outward(st.Error)
		message, hint := s.texts.Fault(code, args)
		r.facts.Error = &errorFacts{Code: code, Message: oneLine(message, 600)}
		r.hint = oneLine(hint, 600)
	}
	if st.State == session.Completed && st.Result == "" {
		r.facts.Notice = s.text("status.gone")
	}
	if !st.State.Terminal() || st.Result == "" {
		return r
	}
	result := clean(st.Result)
	r.total = len(result)
	if offset > len(result) {
		r.beyond = true
		return r
	}
	page, from, next := cut(result, offset)
	r.from = from
	r.facts.Result = page
	r.facts.Notice = s.text("status.notice")
	if len(page) < len(result) {
		r.facts.ResultBytes = len(result)
		r.facts.NextOffset = next
	}
	return r
}

// reportText says the same facts in the configured language (S1-061..063).
func (s *Server) reportText(r report) string {
	f := r.facts
	lines := []string{
		s.text("status.task", "task_id", f.TaskID),
		s.text("status.session", "session_id", f.SessionID),
		s.text("status.state", "status", s.stateWord(f.Status)),
		s.text("status.progress", "completed", num(f.Progress.Completed), "total", num(f.Progress.Total)),
	}
	if f.Progress.Current != "" {
		lines = append(lines, s.text("status.current", "title", f.Progress.Current))
	}
	lines = append(lines,
		s.text("status.rounds", "iterations", num(f.Iterations), "replans", num(f.Replans)),
		s.text("status.tokens", "input", num(f.Tokens.Input), "output", num(f.Tokens.Output), "total", num(f.Tokens.Total)))
	if f.AwaitsApproval {
		lines = append(lines, s.text("status.approval"))
	}
	if r.cancelling {
		lines = append(lines, s.text("status.cancelling"))
	}
	if f.Error != nil {
		lines = append(lines, s.text("status.error", "code", string(f.Error.Code), "message", f.Error.Message))
		if r.hint != "" {
			lines = append(lines, r.hint)
		}
	}
	switch {
	case !f.Status.Terminal():
		lines = append(lines, s.text("status.next", "call", nextWait(f.TaskID)))
	case f.Notice != "" && f.Result == "":
		lines = append(lines, f.Notice)
	case f.Notice != "":
		lines = append(lines, f.Notice, "", f.Result)
		if f.ResultBytes > 0 {
			lines = append(lines, "", s.text("status.part",
				"from", num(r.from), "to", num(r.from+len(f.Result)), "total", num(f.ResultBytes)))
		}
		if f.NextOffset > 0 {
			lines = append(lines, s.text("status.more", "call", nextPage(f.TaskID, f.NextOffset)))
		}
	}
	return strings.Join(lines, "\n")
}

// outward maps an error to a code that a client may see. Refusals of single
// calls have their own families, which say how the sandbox is built; to a
// client they are one word (SD-31, S1-064).
func outward(err *fault.Error) (fault.Code, fault.Args) {
	code := outwardCode(err.Code)
	args := fault.Args{}
	if code == err.Code {
		maps.Copy(args, err.Args)
	}
	if inner, ok := args["code"]; ok {
		args["code"] = string(outwardCode(fault.Code(inner)))
	} else {
		args["code"] = string(code)
	}
	return code, args
}

func outwardCode(code fault.Code) fault.Code {
	switch code.Family() {
	case "llm", "agent", "plan", "approval", "mcp", "platform":
		return code
	case "fs", "exec", "net":
		return fault.AgentDenied
	}
	return fault.AgentFailed
}
