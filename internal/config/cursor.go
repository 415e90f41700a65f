package config

import (
	"slices"
	"strconv"

	"sunaba/fault"
	"sunaba/internal/suggest"
)

// decoder collects what decoding finds. Its getters ask for a key with a type
// and a default; what was never asked for is unknown.
type decoder struct {
	dir       string
	problems  []Problem
	warnings  []Problem
	values    []Value
	positions map[string]Position
	policy    cursor // sandbox.workspace.policy, judged once the channels are known
}

// object is one mapping being read, absent or not.
type object struct {
	d      *decoder
	node   *node // nil: absent
	path   string
	home   Position // of the nearest mapping that exists
	broken bool     // not a mapping, and reported as such
	asked  []string
}

// cursor is one value being read, absent or not.
type cursor struct {
	d    *decoder
	node *node // nil: absent
	path string
	home Position // of the mapping or list that holds it

	broken bool // what should hold it was reported
	needed bool // it has no default, or holds what has none
}

// holdsRequired returns c as the mapping around a key without a default.
func (c cursor) holdsRequired() cursor {
	c.needed = true
	return c
}

func (c cursor) given() bool { return c.node != nil }

func (c cursor) at() Position {
	if c.node != nil {
		return c.node.at
	}
	return c.home
}

func (c cursor) problem(code fault.Code, reason string, pairs ...string) {
	c.d.problems = append(c.d.problems, problem(c.at(), c.path, code, reason, pairs...))
}

func (c cursor) warn(code fault.Code, reason string, pairs ...string) {
	c.d.warnings = append(c.d.warnings, problem(c.at(), c.path, code, reason, pairs...))
}

// unavailable refuses a value that this version knows and cannot honour.
func (c cursor) unavailable(reason string, pairs ...string) {
	c.problem(fault.ConfigUnavailable, reason, pairs...)
}

// note records the value that holds, for show and for the fingerprint.
func (c cursor) note(text string) {
	c.d.values = append(c.d.values, Value{c.path, text})
	if c.node != nil {
		c.d.positions[c.path] = c.node.at
	}
}

// object opens the mapping at c; anything else is a problem and reads as empty.
func (c cursor) object() *object {
	o := &object{d: c.d, path: c.path, home: c.at(), broken: c.broken}
	switch {
	case c.node == nil:
	case c.node.kind == mapping:
		o.node = c.node
		c.d.positions[c.path] = c.node.at
	default:
		o.broken = true
		c.wrongShape("mapping")
	}
	return o
}

func (c cursor) wrongShape(want string) {
	switch {
	case c.node.alias:
	case c.node.empty() && c.needed:
		c.problem(fault.ConfigType, "empty_required")
	case c.node.empty():
		c.problem(fault.ConfigType, "empty")
	case want == "mapping":
		c.problem(fault.ConfigType, "want_mapping")
	case want == "list":
		c.problem(fault.ConfigType, "want_list")
	default:
		c.problem(fault.ConfigType, "want_scalar")
	}
}

// at returns the value of key, which thereby is a known key of o.
func (o *object) at(key string) cursor {
	o.asked = append(o.asked, key)
	return cursor{d: o.d, node: o.node.get(key), path: join(o.path, key), home: o.home, broken: o.broken}
}

// rest returns the values of the keys that were not asked for, as written.
func (o *object) rest() []field {
	if o.node == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.node.fields), func(f field) bool {
		return slices.Contains(o.asked, f.key)
	})
}

// done reports every key that was not asked for.
func (o *object) done() {
	for _, f := range o.rest() {
		reason, pairs := "unknown_key", []string(nil)
		if near := suggest.Nearest(f.key, o.asked); near != "" {
			reason, pairs = "unknown_key_near", []string{"near", near}
		}
		o.d.problems = append(o.d.problems,
			problem(f.at, join(o.path, f.key), fault.ConfigUnknownKey, reason, pairs...))
	}
}

// items returns the values of a list; anything else is a problem and reads as
// empty.
func (c cursor) items() []cursor {
	if c.node == nil {
		return nil
	}
	if c.node.kind != sequence {
		c.wrongShape("list")
		return nil
	}
	c.d.positions[c.path] = c.node.at
	out := make([]cursor, len(c.node.items))
	for i, n := range c.node.items {
		out[i] = cursor{d: c.d, node: n, path: c.path + "[" + strconv.Itoa(i) + "]", home: c.node.at}
	}
	if len(out) == 0 {
		c.note("[]")
	}
	return out
}
