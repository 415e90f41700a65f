package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/internal/pattern"
)

// firstModern is the first protocol version without sessions (MCP-2026-01).
const firstModern = "2026-07-28"

// message is one JSON-RPC message that is well formed as far as the envelope
// goes, so that the SDK has nothing to complain about that would repeat it.
type message struct {
	msg    jsonrpc.Message
	call   *jsonrpc.Request // msg, when it is a request or a notification
	modern bool             // a request of the protocol without sessions
}

// malformed is a message that was not taken, with the reply it gets.
type malformed struct {
	id json.RawMessage // nil when it could not be told
	jsonrpc.Error
}

func bad(id json.RawMessage, code int64, text string) *malformed {
	return &malformed{id, jsonrpc.Error{Code: code, Message: text}}
}

// parseMessage checks and decodes one message. Whatever is wrong with it, the
// reply says so without quoting it.
func parseMessage(data []byte) (message, *malformed) {
	none := message{}
	if !utf8.Valid(data) || !json.Valid(data) {
		return none, bad(nil, jsonrpc.CodeParseError, "the message is not JSON in UTF-8")
	}
	data = bytes.TrimSpace(data)
	if data[0] == '[' {
		return none, bad(nil, jsonrpc.CodeInvalidRequest, "batches are not supported")
	}
	var fields map[string]json.RawMessage
	if data[0] != '{' || json.Unmarshal(data, &fields) != nil {
		return none, bad(nil, jsonrpc.CodeInvalidRequest, "the message is not an object")
	}
	id, hasID := fields["id"]
	if hasID && !validID(id) {
		return none, bad(nil, jsonrpc.CodeInvalidRequest, "id must be a string or a whole number")
	}
	if !bytes.Equal(fields["jsonrpc"], []byte(`"2.0"`)) {
		return none, bad(id, jsonrpc.CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	method, isRequest := fields["method"]
	_, isResult := fields["result"]
	_, isError := fields["error"]
	if !isRequest && !(hasID && (isResult || isError)) || isRequest && kindOf(method) != "string" {
		return none, bad(id, jsonrpc.CodeInvalidRequest, "the message is neither a request nor a response")
	}
	var params, meta map[string]json.RawMessage
	if !objectOrAbsent(fields["params"], &params) {
		return none, bad(id, jsonrpc.CodeInvalidParams, "params must be an object")
	}
	if !objectOrAbsent(params["_meta"], &meta) {
		return none, bad(id, jsonrpc.CodeInvalidParams, "params._meta must be an object")
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return none, bad(id, jsonrpc.CodeInvalidRequest, "the message cannot be decoded")
	}
	m := message{msg: msg}
	if call, ok := msg.(*jsonrpc.Request); ok {
		m.call = call
		var version string
		raw := meta[mcp.MetaKeyProtocolVersion]
		m.modern = call.IsCall() && json.Unmarshal(raw, &version) == nil && version >= firstModern
		if m.modern && call.Method == "subscriptions/listen" && listensToTasks(params) && !metaDeclaresTasks(params) {
			return none, &malformed{id, *tasksRequired()}
		}
	}
	return m, nil
}

// listensToTasks reports whether a subscription names Tasks, which only the
// extension knows; the SDK does not look.
func listensToTasks(params map[string]json.RawMessage) bool {
	var wanted map[string]json.RawMessage
	_ = json.Unmarshal(params["notifications"], &wanted)
	return wanted["taskIds"] != nil
}

func metaDeclaresTasks(params map[string]json.RawMessage) bool {
	var meta map[string]any
	return json.Unmarshal(params["_meta"], &meta) == nil && declaresTasks(meta)
}

func objectOrAbsent(raw json.RawMessage, into *map[string]json.RawMessage) bool {
	if kind := kindOf(raw); kind == "nothing" || kind == "null" {
		return true
	}
	return kindOf(raw) == "object" && json.Unmarshal(raw, into) == nil
}

// validID reports whether an id survives a trip through a double: anything else
// would be answered under another id.
func validID(raw json.RawMessage) bool {
	switch kindOf(raw) {
	case "string":
		return true
	case "number":
		var n float64
		return json.Unmarshal(raw, &n) == nil && n == float64(int64(n)) && n > -1<<53 && n < 1<<53
	}
	return false
}

// reply is a response as it goes out; unlike the SDK's it keeps "id": null.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

func encodeReply(id, result json.RawMessage, failure *jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	if failure != nil {
		failure = scrubbed(failure)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(reply{"2.0", id, result, failure}) != nil { // the SDK's result is always JSON
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}` + "\n")
	}
	return b.Bytes()
}

// quoted finds what an error text of the SDK shows in quotation marks; ours is
// what of it comes from the protocol, and not from the request.
var (
	quoted = pattern.Lazy(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	ours   = pattern.Lazy(`^.(io\.modelcontextprotocol/[A-Za-z]+|\d{4}-\d\d-\d\d|params|ref|notifications|(tools|tasks)/[a-z]+|agent_run|agent_status).$`)
)

// unquoted is text without the quotations that may come from a request.
func unquoted(text string) string {
	return quoted().ReplaceAllStringFunc(text, func(q string) string {
		if ours().MatchString(q) {
			return q
		}
		return "…"
	})
}

// scrubbed is e without what the SDK quotes from a request, and with a code
// where the SDK leaves 0.
func scrubbed(e *jsonrpc.Error) *jsonrpc.Error {
	out := jsonrpc.Error{Code: e.Code, Message: oneLine(unquoted(e.Message), 200), Data: e.Data}
	switch {
	case e.Code == jsonrpc.CodeMethodNotFound:
		out.Message = "method not found"
	case e.Code == jsonrpc.CodeInvalidParams:
		out.Data = nil // the SDK puts a resource's address there
	}
	if out.Code == 0 {
		out.Code, out.Message = jsonrpc.CodeInternalError, "internal error"
	}
	if strings.Contains(e.Message, "unmarshal") {
		out.Message = "a parameter has the wrong type"
	}
	return &out
}
