package mcpserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sunaba/fault"
)

// arguments is the loosely decoded argument object of a call. Its methods
// collect the first refusal instead of returning one each, so that a tool reads
// its arguments in a straight line.
type arguments struct {
	fields  map[string]json.RawMessage
	refused *refusal
}

// refusal is one sentence of the locale that tells a caller what to change. It
// names arguments and limits, never what was sent.
type refusal struct {
	key  string
	args fault.Args
}

// decodeArguments reads the arguments of a call. Missing arguments are an empty
// object; anything but an object is a protocol error (mcp.types).
func decodeArguments(raw json.RawMessage, known ...string) (*arguments, *jsonrpc.Error) {
	a := &arguments{fields: map[string]json.RawMessage{}}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return a, nil
	}
	if raw[0] != '{' || json.Unmarshal(raw, &a.fields) != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments must be an object"}
	}
	a.fields = a.only(a.fields, "", known)
	return a, nil
}

// only refuses names outside known and drops members that are null, which
// clients send for "not given".
func (a *arguments) only(fields map[string]json.RawMessage, prefix string, known []string) map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			a.refuse("input.unknown", "field", prefix+shorten(name, 64), "known", strings.Join(known, ", "))
			continue
		}
		if v := bytes.TrimSpace(fields[name]); kindOf(v) != "null" {
			kept[name] = v
		}
	}
	return kept
}

func (a *arguments) refuse(key string, pairs ...string) {
	if a.refused != nil {
		return
	}
	args := fault.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	a.refused = &refusal{key: key, args: args}
}

func (a *arguments) wrongType(name, wanted string, raw json.RawMessage) {
	a.refuse("input.type", "field", name, "wanted", wanted, "got", kindOf(raw))
}

// text returns a string argument, "" when it is absent.
func (a *arguments) text(name string, limit int) string {
	raw, ok := a.fields[name]
	if !ok {
		return ""
	}
	var v string
	if kindOf(raw) != "string" || json.Unmarshal(raw, &v) != nil {
		a.wrongType(name, "string", raw)
		return ""
	}
	if len(v) > limit {
		a.refuse("input.too_long", "field", name, "limit", strconv.Itoa(limit))
		return ""
	}
	return v
}

// id returns a UUID in its canonical form, "" when it is absent or empty.
func (a *arguments) id(name string) string {
	v := strings.TrimSpace(a.text(name, 64))
	if v == "" {
		return ""
	}
	id, err := uuid.Parse(v)
	if err != nil || len(v) != 36 {
		a.refuse("input.uuid", "field", name)
		return ""
	}
	return id.String()
}

// atMost is integer for a value that is cut to high where more was asked for.
func (a *arguments) atMost(name string, high int64) int64 {
	return min(a.whole(name, a.numberUpTo(name, 0, math.Inf(1), float64(high))), high)
}

// number returns a finite number from low to high, nil when it is absent. A
// number written as a string is taken as that number.
func (a *arguments) number(name string, low, high float64) *float64 {
	return a.numberUpTo(name, low, high, high)
}

// numberUpTo is number with another upper bound in the refusal's sentence.
func (a *arguments) numberUpTo(name string, low, high, told float64) *float64 {
	raw, ok := a.fields[name]
	if !ok {
		return nil
	}
	word := string(raw)
	switch kindOf(raw) {
	case "number":
	case "string":
		var v string
		if json.Unmarshal(raw, &v) != nil || kindOf(json.RawMessage(strings.TrimSpace(v))) != "number" {
			a.wrongType(name, "number", raw)
			return nil
		}
		word = strings.TrimSpace(v)
	default:
		a.wrongType(name, "number", raw)
		return nil
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < low || v > high {
		a.refuse("input.range", "field", name, "min", decimal(low), "max", decimal(told))
		return nil
	}
	return &v
}

// integer is number for whole numbers; absent is 0.
func (a *arguments) integer(name string, low, high float64) int64 {
	return a.whole(name, a.number(name, low, high))
}

// whole refuses fractions; nil is 0.
func (a *arguments) whole(name string, v *float64) int64 {
	if v == nil {
		return 0
	}
	if *v != math.Trunc(*v) {
		a.refuse("input.type", "field", name, "wanted", "integer", "got", "number")
		return 0
	}
	return int64(min(*v, 1<<53))
}

// boolean returns a truth value; absent is false.
func (a *arguments) boolean(name string) bool {
	raw, ok := a.fields[name]
	if !ok {
		return false
	}
	switch strings.ToLower(string(raw)) {
	case "true", `"true"`:
		return true
	case "false", `"false"`:
		return false
	}
	a.wrongType(name, "boolean", raw)
	return false
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// kindOf names the JSON type of a value by its first byte.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch c := raw[0]; {
	case c == '"':
		return "string"
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	case c == 't' || c == 'f':
		return "boolean"
	case c == 'n':
		return "null"
	case c == '-' || c >= '0' && c <= '9':
		return "number"
	}
	return "other"
}
