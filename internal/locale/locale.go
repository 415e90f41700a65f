// Package locale turns codes and keys into text: the shipped languages are
// embedded, a user's files override or add to them without a code change.
//
// The one rule to keep in mind: text for people exists only here; a locale
// file that cannot be trusted as a whole (broken JSON, unknown keys, other
// placeholders than English) is fatal, never half used (I18N-11).
package locale

import (
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/pattern"
)

// Fallback is the language every other one falls back to (I18N-06, I18N-10).
const Fallback = "en"

// placeholder is a named placeholder such as {path} (I18N-09).
var placeholder = pattern.Lazy(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Catalog holds the texts of one language. It is immutable and may be shared
// between goroutines. The nil Catalog answers every key with the key itself.
type Catalog struct {
	id    string
	texts map[string]string // the selected language, over English
}

// ID returns the identifier the catalogue was loaded for, such as "zh-CN".
func (c *Catalog) ID() string {
	if c == nil {
		return Fallback
	}
	return c.id
}

// LanguageName returns the language's name in itself, such as "日本語".
func (c *Catalog) LanguageName() string { return c.Text("language.name", nil) }

// Text returns the text of key with its placeholders filled from args: the
// selected language, then English, then the key itself (I18N-10). A
// placeholder without an argument stays visible as {name}: a fact that is
// missing must be seen to be missing.
func (c *Catalog) Text(key string, args fault.Args) string {
	text, ok := c.lookup(key)
	if !ok {
		return key
	}
	return fill(text, args)
}

// caseArg is the argument that chooses among the texts of one code
// (tool.Case): with "missing", tool.arguments is told by the key
// "tool.arguments.missing".
const caseArg = "case"

// Fault returns the message of a code and, where something can be done, a
// hint; the hint is empty when there is none. A case without a text of its own
// has the message of its code, but never its hint, which may not fit. It
// implements tool.Texts.
func (c *Catalog) Fault(code fault.Code, args fault.Args) (message, hint string) {
	key := string(code)
	if name := args[caseArg]; name != "" {
		if _, ok := c.lookup(key + "." + name); ok {
			key += "." + name
		}
	}
	if text, ok := c.lookup(key + ".hint"); ok {
		hint = fill(text, args)
	}
	for _, ok := c.lookup(key); !ok && strings.Count(key, ".") > 1; _, ok = c.lookup(key) {
		key = key[:strings.LastIndexByte(key, '.')]
	}
	if _, ok := c.lookup(key); !ok {
		key = string(code)
	}
	return c.Text(key, args), hint
}

func (c *Catalog) lookup(key string) (string, bool) {
	if c == nil {
		return "", false
	}
	text, ok := c.texts[key]
	return text, ok
}

// fill replaces in one pass, so that an argument's own braces stay as they are.
func fill(text string, args fault.Args) string {
	return placeholder().ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := args[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

// placeholders returns the sorted set of a text's placeholder names.
func placeholders(text string) []string {
	var names []string
	for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
