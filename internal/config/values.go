package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sunaba/fault"
)

// scalar returns the text of a scalar; ok is false when c is absent or was
// reported.
func (c cursor) scalar() (text string, ok bool) {
	if c.node == nil {
		return "", false
	}
	if c.node.kind != scalar || c.node.alias || c.node.empty() {
		c.wrongShape("scalar")
		return "", false
	}
	return c.node.text, true
}

// text reads a string; words and numbers that YAML readers disagree about have
// to be quoted.
func (c cursor) text(def string) string {
	v, ok := c.rawText()
	if !ok {
		v = def
	}
	c.note(v)
	return v
}

func (c cursor) rawText() (string, bool) {
	v, ok := c.scalar()
	switch {
	case !ok:
		return "", false
	case c.node.plain && ambiguous(v):
		c.problem(fault.ConfigType, "quote", "value", v)
		return "", false
	case strings.ContainsRune(v, 0):
		c.problem(fault.ConfigValue, "control")
		return "", false
	}
	return v, true
}

// line reads a string of one line without control characters.
func (c cursor) line(def string) string {
	v := def
	if t, ok := c.rawText(); ok {
		if strings.ContainsFunc(t, isControl) {
			c.problem(fault.ConfigValue, "control")
		} else {
			v = t
		}
	}
	c.note(v)
	return v
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// word reads one of a closed set of words.
func (c cursor) word(def string, words ...string) string {
	v := def
	if t, ok := c.rawText(); ok {
		if slices.Contains(words, t) {
			v = t
		} else {
			c.problem(fault.ConfigValue, "word", "value", t, "allowed", strings.Join(words, ", "))
		}
	}
	c.note(v)
	return v
}

func (c cursor) boolean(def bool) bool {
	v := def
	if t, ok := c.scalar(); ok {
		switch {
		case c.node.plain && t == "true":
			v = true
		case c.node.plain && t == "false":
			v = false
		default:
			c.problem(fault.ConfigType, "want_boolean", "value", t)
		}
	}
	c.note(strconv.FormatBool(v))
	return v
}

// integer reads a whole number in decimal form.
func (c cursor) integer(def, low, high int64) int64 {
	v := def
	if t, ok := c.scalar(); ok {
		n, err := strconv.ParseInt(t, 10, 64)
		switch {
		case !c.node.plain || !numberLike().MatchString(t):
			c.problem(fault.ConfigType, "want_integer", "value", t)
		case !integerForm().MatchString(t) || err != nil:
			c.problem(fault.ConfigType, "plain_integer", "value", t)
		case n < low || n > high:
			c.outOfRange(strconv.FormatInt(low, 10), strconv.FormatInt(high, 10), t)
		default:
			v = n
		}
	}
	c.note(strconv.FormatInt(v, 10))
	return v
}

func (c cursor) outOfRange(low, high, value string) {
	c.problem(fault.ConfigValue, "range", "low", low, "high", high, "value", value)
}

func (c cursor) count(def, low, high int) int {
	return int(c.integer(int64(def), int64(low), int64(high)))
}

func (c cursor) number(def, low, high float64) float64 {
	v := def
	if t, ok := c.scalar(); ok {
		n, err := strconv.ParseFloat(t, 64)
		switch {
		case !c.node.plain || !numberLike().MatchString(t):
			c.problem(fault.ConfigType, "want_number", "value", t)
		case !decimalForm().MatchString(t) || err != nil:
			c.problem(fault.ConfigType, "plain_number", "value", t)
		case n < low || n > high:
			c.outOfRange(formatNumber(low), formatNumber(high), t)
		default:
			v = n
		}
	}
	c.note(formatNumber(v))
	return v
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// size reads bytes: an integer or KiB, MiB, GiB.
func (c cursor) size(def, low, high int64) int64 {
	v := def
	if t, ok := c.scalar(); ok {
		n, ok := parseSize(t)
		switch {
		case !ok:
			c.problem(fault.ConfigType, "want_size", "value", t)
		case n < low || n > high:
			c.outOfRange(formatSize(low), formatSize(high), t)
		default:
			v = n
		}
	}
	c.note(formatSize(v))
	return v
}

// duration reads Go's form, such as 90s or 1h30m.
func (c cursor) duration(def, low, high time.Duration) time.Duration {
	v := def
	if t, ok := c.scalar(); ok {
		d, err := time.ParseDuration(t)
		switch {
		case err != nil || integerForm().MatchString(t) && t != "0":
			c.problem(fault.ConfigType, "want_duration", "value", t)
		case d < low || d > high:
			c.outOfRange(formatDuration(low), formatDuration(high), t)
		default:
			v = d
		}
	}
	c.note(formatDuration(v))
	return v
}

// texts reads a list of one-line strings; nil when absent.
func (c cursor) texts() []string {
	if c.node == nil {
		return nil
	}
	out := []string{}
	for _, item := range c.items() {
		out = append(out, item.line(""))
	}
	return out
}
