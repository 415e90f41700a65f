package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"sunaba/fault"
)

// parser reads JSON strictly and goes on after a problem, so that one refusal
// names them all. encoding/json alone would fold the case of keys, take the
// last of two equal ones, and stop at the first problem.
type parser struct{ problems }

// member is one key of an object with where it stands.
type member struct {
	key, at string
	value   json.RawMessage
}

// document reads text as one JSON object with nothing after it.
func (p *parser) document(text []byte, keys, mandatory []string) []member {
	if !json.Valid(text) {
		p.report(fault.PlanInvalid)
		return nil
	}
	return p.object(text, "", keys, mandatory)
}

// object returns the known members of value in their order. It reports unknown
// and repeated keys, and mandatory ones that are missing.
func (p *parser) object(value json.RawMessage, at string, keys, mandatory []string) []member {
	d := json.NewDecoder(bytes.NewReader(value))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		if at == "" {
			p.report(fault.PlanInvalid)
		} else {
			p.expected(at, "object")
		}
		return nil
	}
	var members []member
	for d.More() {
		token, err := d.Token()
		key, isString := token.(string)
		var v json.RawMessage
		if err != nil || !isString || d.Decode(&v) != nil {
			p.report(fault.PlanInvalid)
			return nil
		}
		m := member{key, within(at, key), v}
		switch {
		case !slices.Contains(keys, key):
			p.report(fault.PlanUnknownKey, "at", m.at)
		case has(members, key):
			p.report(fault.PlanDuplicate, "id", m.at)
		default:
			members = append(members, m)
		}
	}
	for _, key := range mandatory {
		if !has(members, key) {
			p.report(fault.PlanMissing, "at", within(at, key))
		}
	}
	return members
}

func (p *parser) array(value json.RawMessage, at string) []json.RawMessage {
	var items []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &items) != nil {
		p.expected(at, "array")
		return nil
	}
	return items
}

// text reads a string of at most limit characters.
func (p *parser) text(value json.RawMessage, at string, limit int) (string, bool) {
	s, ok := p.word(value)
	if !ok || utf8.RuneCountInString(s) > limit {
		p.expected(at, fmt.Sprintf("string (<= %d)", limit))
		return "", false
	}
	return s, true
}

// word reads a string and reports nothing.
func (p *parser) word(value json.RawMessage) (s string, ok bool) {
	ok = value[0] == '"' && json.Unmarshal(value, &s) == nil
	return s, ok
}

func (p *parser) strings(value json.RawMessage, at string, most, length int) []string {
	items := p.array(value, at)
	if len(items) > most {
		p.expected(at, fmt.Sprintf("array (<= %d)", most))
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		if s, ok := p.text(item, indexed(at, i), length); ok {
			list = append(list, s)
		}
	}
	return list
}

func (p *parser) integer(value json.RawMessage, at string) (int, bool) {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		p.expected(at, "integer")
	}
	return n, err == nil
}

func (p *parser) expected(at, what string) {
	p.report(fault.PlanValue, "at", at, "expected", what)
}

func has(members []member, key string) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.key == key })
}

func without(keys []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
}

// within names a key of the object at; a key nobody asked for may be long.
func within(at, key string) string {
	if runes := []rune(key); len(runes) > idLength {
		key = string(runes[:idLength]) + "…"
	}
	if at == "" {
		return key
	}
	return at + "." + key
}

func indexed(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }
