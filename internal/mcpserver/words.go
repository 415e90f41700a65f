package mcpserver

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// text returns a locale text with arguments given as name, value pairs.
func (s *Server) text(key string, pairs ...string) string {
	args := fault.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return s.texts.Text(key, args)
}

func (s *Server) stateWord(st session.State) string { return s.text("status.is." + string(st)) }

func num(n int) string { return strconv.Itoa(n) }

// nextWait and nextPage write the next call the way a client sends it.
func nextWait(task string) string {
	return fmt.Sprintf(`agent_status {"task_id":%q,"wait_seconds":%d}`, task, int(maxWait.Seconds()))
}

func nextPage(task string, offset int) string {
	return fmt.Sprintf(`agent_status {"task_id":%q,"offset":%d}`, task, offset)
}

// refuse answers a call whose input was not accepted: one sentence, and the
// code for programs.
func (s *Server) refuse(r refusal) *mcp.CallToolResult {
	return toolError(fault.MCPInput, s.texts.Text(r.key, r.args), "")
}

// failed answers a call with the localized sentence of err. An error without a
// code is our own mistake: the client hears no detail, the log does.
func (s *Server) failed(err error) *mcp.CallToolResult {
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok {
		s.log.Error("a call failed without a code", "error", err)
		coded = fault.New(fault.MCPInternal, "mcp")
	}
	code, args := outward(coded)
	message, hint := s.texts.Fault(code, args)
	return toolError(code, oneLine(message, 600), oneLine(hint, 600))
}

func toolError(code fault.Code, message, hint string) *mcp.CallToolResult {
	text := message
	if hint != "" {
		text += "\n" + hint
	}
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: struct {
			Error errorFacts `json:"error"`
		}{errorFacts{Code: code, Message: text}},
	}
}
