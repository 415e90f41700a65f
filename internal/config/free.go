package config

import (
	"encoding/json"
	"math"
	"strconv"

	"sunaba/fault"
)

// free reads a value without a schema into what JSON can hold: nil, bool,
// int64, float64, string, []any, map[string]any.
func (c cursor) free() any {
	v := c.freeValue()
	b, err := json.Marshal(v)
	if err != nil { // only NaN and infinities, which freeValue never returns
		panic("config: " + err.Error())
	}
	c.note(string(b))
	return v
}

func (c cursor) freeValue() any {
	switch c.node.kind {
	case mapping:
		m := make(map[string]any, len(c.node.fields))
		for _, f := range c.node.fields {
			m[f.key] = cursor{d: c.d, node: f.value, path: join(c.path, f.key)}.freeValue()
		}
		return m
	case sequence:
		l := make([]any, len(c.node.items))
		for i, n := range c.node.items {
			l[i] = cursor{d: c.d, node: n, path: c.path + "[" + strconv.Itoa(i) + "]"}.freeValue()
		}
		return l
	}
	t := c.node.text
	if !c.node.plain {
		return t
	}
	switch {
	case t == "true", t == "false":
		return t == "true"
	case t == "", t == "null", t == "~":
		return nil
	case integerForm().MatchString(t):
		if n, err := strconv.ParseInt(t, 10, 64); err == nil {
			return n
		}
	case decimalForm().MatchString(t):
		if n, err := strconv.ParseFloat(t, 64); err == nil && !math.IsInf(n, 0) {
			return n
		}
	}
	if ambiguous(t) {
		c.problem(fault.ConfigType, "quote", "value", t)
	}
	return t
}
