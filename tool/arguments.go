package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/internal/suggest"
)

// property is the part of a JSON schema that Arguments looks at.
type property struct {
	Type  string    `json:"type"`
	Enum  []string  `json:"enum"`
	Items *property `json:"items"`
}

type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

// aliases are other names that models use for an argument (C-51).
var aliases = map[string]string{"file_path": "path", "directory": "path"}

// Arguments checks what a model sent as the arguments of s and returns it as a
// JSON object that fits s.Parameters at its top level, keys sorted. It is
// lenient where that is unambiguous: aliases of path, numbers and booleans
// given as strings, null for what is optional, nothing at all for no arguments.
// Everything else is tool.arguments with the place; nothing is ever guessed or
// repaired.
func Arguments(s Spec, raw json.RawMessage) (json.RawMessage, error) {
	var sc schema
	if err := json.Unmarshal(s.Parameters, &sc); err != nil {
		return nil, fault.Wrap(err, fault.ToolArguments, s.Name, "tool", s.Name)
	}
	refuse := func(reason string, pairs ...string) error {
		return fault.New(fault.ToolArguments, s.Name, append(pairs, Case, reason, "tool", s.Name, "usage", usage(sc, s.Parameters))...)
	}
	given, err := object(raw, refuse)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for _, g := range given {
		name := g.name
		if to, ok := aliases[name]; ok {
			if _, is := sc.Properties[name]; !is {
				if _, has := sc.Properties[to]; has {
					name = to
				}
			}
		}
		p, known := sc.Properties[name]
		if !known {
			if near := suggest.Nearest(name, keys(s.Parameters)); near != "" {
				return nil, refuse("unknown_near", "argument", clip(name), "nearest", near)
			}
			return nil, refuse("unknown", "argument", clip(name))
		}
		if kindOf(g.value) == "null" {
			continue
		}
		value, wanted := p.fit(g.value)
		if wanted != "" {
			return nil, refuse("type", "argument", clip(g.name), "wanted", wanted, "got", kindOf(g.value))
		}
		if before, twice := out[name]; twice && !bytes.Equal(before, value) {
			return nil, refuse("twice", "argument", clip(name))
		}
		out[name] = value
	}
	for _, name := range sc.Required {
		if _, ok := out[name]; !ok {
			return nil, refuse("missing", "argument", clip(name))
		}
	}
	return json.Marshal(out)
}

type member struct {
	name  string
	value json.RawMessage
}

// object takes raw apart into the members of one JSON object, in order.
func object(raw json.RawMessage, refuse func(string, ...string) error) ([]member, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	if !utf8.Valid(raw) {
		at := 0
		for rest := []byte(raw); ; {
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n <= 1 {
				break
			}
			rest, at = rest[n:], at+n
		}
		return nil, refuse("syntax", "position", strconv.Itoa(at+1))
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		at := int64(len(raw))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, refuse("syntax", "position", strconv.FormatInt(at, 10))
	}
	if kind := kindOf(raw); kind != "object" {
		return nil, refuse("object", "got", kind)
	}
	// What follows cannot fail: raw is one valid object.
	var members []member
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token()
	for dec.More() {
		name, err := dec.Token()
		var m member
		if err == nil {
			m.name, _ = name.(string)
			err = dec.Decode(&m.value)
		}
		if err != nil {
			return nil, refuse("syntax", "position", strconv.FormatInt(dec.InputOffset(), 10))
		}
		members = append(members, m)
	}
	return members, nil
}

// fit returns value in p's type, or what was wanted instead.
func (p property) fit(value json.RawMessage) (fitted json.RawMessage, wanted string) {
	kind := kindOf(value)
	text := strings.TrimSpace(string(value))
	if kind == "string" && p.Type != "string" {
		if json.Unmarshal(value, &text) != nil {
			return nil, p.Type
		}
		text = strings.TrimSpace(text)
	}
	switch p.Type {
	case "string":
		if kind != "string" {
			return nil, "string"
		}
		if len(p.Enum) > 0 {
			var s string
			if json.Unmarshal(value, &s) != nil || !slices.Contains(p.Enum, s) {
				return nil, strings.Join(p.Enum, " | ")
			}
		}
		return value, ""
	case "boolean":
		switch {
		case kind != "string" && kind != "boolean":
		case strings.EqualFold(text, "true"):
			return json.RawMessage("true"), ""
		case strings.EqualFold(text, "false"):
			return json.RawMessage("false"), ""
		}
	case "integer":
		if kind == "string" || kind == "number" {
			if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && !math.IsInf(f, 0) && isNumber(text) {
				const exact = 1 << 53 // beyond it no limit is meant any more: clamped
				return strconv.AppendInt(nil, int64(max(-exact, min(exact, f))), 10), ""
			}
		}
	case "array":
		if kind == "string" && kindOf(json.RawMessage(text)) == "array" && json.Valid([]byte(text)) {
			value, kind = json.RawMessage(text), "array"
		}
		if kind == "array" {
			return p.fitItems(value)
		}
	}
	return nil, p.Type
}

// fitItems lets the numbers in a list of strings through as they are written.
func (p property) fitItems(value json.RawMessage) (json.RawMessage, string) {
	if p.Items == nil || p.Items.Type != "string" {
		return value, ""
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return nil, "array of strings"
	}
	texts := make([]string, len(items))
	for i, item := range items {
		switch kindOf(item) {
		case "number":
			texts[i] = string(item)
		case "string":
			if json.Unmarshal(item, &texts[i]) == nil {
				continue
			}
			return nil, "array of strings"
		default:
			return nil, "array of strings"
		}
	}
	fitted, err := json.Marshal(texts)
	if err != nil {
		return nil, "array of strings"
	}
	return fitted, ""
}

// isNumber refuses what ParseFloat takes beyond decimal numbers, such as
// "inf", "0x1p3" or "1_000".
func isNumber(s string) bool { return strings.Trim(s, "0123456789+-.eE") == "" }

func kindOf(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// usage prints a schema as "path: string, offset?: integer".
func usage(sc schema, parameters json.RawMessage) string {
	var parts []string
	for _, name := range keys(parameters) {
		p := sc.Properties[name]
		mark := "?"
		if slices.Contains(sc.Required, name) {
			mark = ""
		}
		kind := p.Type
		if len(p.Enum) > 0 {
			kind = strings.Join(p.Enum, "|")
		}
		parts = append(parts, name+mark+": "+kind)
	}
	return strings.Join(parts, ", ")
}

// keys returns the names of a schema's properties in their written order.
func keys(parameters json.RawMessage) []string {
	var sc struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(parameters, &sc) != nil {
		return nil
	}
	members, _ := object(sc.Properties, func(string, ...string) error { return nil })
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return names
}
