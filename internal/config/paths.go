package config

import (
	"path/filepath"
	"strings"

	"sunaba/fault"
)

// filePath reads a path and makes it absolute; "" when absent or refused.
// Paths are literal: nothing in them is expanded.
func (c cursor) filePath() string {
	v := ""
	if t, ok := c.pathText(); ok {
		if v = filepath.Clean(t); !filepath.IsAbs(v) {
			v = filepath.Join(c.d.dir, v)
		}
	}
	c.note(v)
	return v
}

// pathText reads a path as written and refuses what looks as if it should be
// expanded, so that it is never an empty or a literal '$X' directory.
func (c cursor) pathText() (string, bool) {
	t, ok := c.rawText()
	switch {
	case !ok:
		return "", false
	case t == "":
		c.problem(fault.ConfigValue, "empty_path")
	case strings.ContainsFunc(t, isControl):
		c.problem(fault.ConfigValue, "control")
	case strings.HasPrefix(t, "~"):
		c.problem(fault.ConfigValue, "tilde", "value", t)
	case hasVariable(t):
		c.problem(fault.ConfigValue, "variable", "value", t)
	default:
		return t, true
	}
	return "", false
}

func hasVariable(path string) bool {
	for i := range len(path) - 1 {
		next := path[i+1]
		if path[i] == '$' && (next == '{' || next == '_' || next|0x20 >= 'a' && next|0x20 <= 'z') {
			return true
		}
	}
	return false
}
