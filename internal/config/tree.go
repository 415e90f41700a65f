package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"sunaba/fault"
)

// kind is the shape of a node.
type kind uint8

const (
	scalar kind = iota
	sequence
	mapping
)

// node is one value of a file with its place. Unlike the library's nodes it
// has no anchors, no aliases and no duplicate keys.
type node struct {
	kind   kind
	at     Position
	text   string // scalar
	plain  bool   // scalar written without quotes or block mark
	alias  bool   // reported already: nothing more is said about it
	items  []*node
	fields []field
}

// empty reports whether nothing is written, or YAML's word for nothing.
func (n *node) empty() bool {
	return n.kind == scalar && n.plain && (n.text == "" || n.text == "~" || strings.EqualFold(n.text, "null"))
}

type field struct {
	key   string
	at    Position
	value *node
}

func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// merge lays over onto base: maps recursively, everything else replaced
// (S1-213).
func merge(base, over *node) *node {
	if base == nil || over == nil || base.kind != mapping || over.kind != mapping {
		if over == nil {
			return base
		}
		return over
	}
	out := &node{kind: mapping, at: base.at, fields: slices.Clone(base.fields)}
	for _, f := range over.fields {
		if i := slices.IndexFunc(out.fields, func(g field) bool { return g.key == f.key }); i >= 0 {
			out.fields[i] = field{f.key, f.at, merge(out.fields[i].value, f.value)}
		} else {
			out.fields = append(out.fields, f)
		}
	}
	return out
}

// parser turns one file into a tree and reports what YAML allows and we don't.
type parser struct {
	file     string
	problems []Problem
}

func (p *parser) report(at Position, key string, code fault.Code, reason string, pairs ...string) {
	p.problems = append(p.problems, problem(at, key, code, reason, pairs...))
}

func problem(at Position, key string, code fault.Code, reason string, pairs ...string) Problem {
	args := fault.Args{"key": key}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return Problem{Position: at, Key: key, Code: code, Reason: reason, Args: args}
}

// parse returns the tree of data, nil when the file holds no document or
// cannot be read as YAML; ok is false in the second case.
func (p *parser) parse(data []byte) (root *node, ok bool) {
	if !p.checkBytes(data) {
		return nil, false
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithV4Defaults(), yaml.WithUniqueKeys(false))
	if err != nil {
		p.syntax(err, data)
		return nil, false
	}
	var doc yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, true
	} else if err != nil {
		p.syntax(err, data)
		return nil, false
	}
	if len(doc.Content) == 1 {
		root = p.convert(doc.Content[0], "")
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		p.report(p.place(&second), "", fault.ConfigSecondDocument, "second_document")
	} else if !errors.Is(err, io.EOF) {
		p.syntax(err, data)
		return nil, false
	}
	if root != nil && root.kind == scalar && root.plain && root.text == "" {
		return nil, true
	}
	if root != nil && root.kind != mapping {
		p.report(root.at, "", fault.ConfigSyntax, "not_a_mapping")
		return nil, false
	}
	return root, true
}

// checkBytes finds what the library would report without a place.
func (p *parser) checkBytes(data []byte) bool {
	line, column := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		at := Position{p.file, line, column}
		switch {
		case r == utf8.RuneError && size == 1:
			p.report(at, "", fault.ConfigSyntax, "not_utf8")
			return false
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			p.report(at, "", fault.ConfigSyntax, "control_character", "character", fmt.Sprintf("U+%04X", r))
			return false
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		} else if r == 0xfeff && len(rest) == len(data) {
			column = 1
		}
		rest = rest[size:]
	}
	return true
}

// syntax reports what the library could not read. Its words are kept as detail
// except where the cause can be named.
func (p *parser) syntax(err error, data []byte) {
	at := Position{File: p.file, Line: 1, Column: 1}
	detail, reason := err.Error(), "syntax"
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		if e.Mark.Line > 0 {
			at.Line, at.Column = e.Mark.Line, e.Mark.Column
		}
		detail = e.Message
		if strings.Contains(detail, "escape character") || strings.Contains(detail, "hexadecimal") {
			reason = "escape"
		} else if strings.Contains(detail, "unknown anchor") {
			reason = "alias"
		} else if tabAt(data, at) {
			reason = "tab"
		}
	}
	p.report(at, "", fault.ConfigSyntax, reason, "detail", detail)
}

// tabAt reports whether a tab stands at the place.
func tabAt(data []byte, at Position) bool {
	lines := bytes.SplitAfterN(data, []byte("\n"), at.Line+1)
	if at.Line < 1 || at.Line > len(lines) {
		return false
	}
	line := []rune(string(lines[at.Line-1]))
	return at.Column >= 1 && at.Column <= len(line) && line[at.Column-1] == '\t'
}

func (p *parser) place(n *yaml.Node) Position {
	return Position{File: p.file, Line: n.Line, Column: n.Column}
}

func (p *parser) convert(n *yaml.Node, path string) *node {
	out := &node{at: p.place(n)}
	if n.Anchor != "" {
		p.report(out.at, path, fault.ConfigSyntax, "anchor", "name", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		p.report(out.at, path, fault.ConfigSyntax, "tag", "tag", n.Tag)
	}
	switch n.Kind {
	case yaml.MappingNode:
		out.kind = mapping
		p.convertFields(n, out, path)
	case yaml.SequenceNode:
		out.kind = sequence
		for i, item := range n.Content {
			out.items = append(out.items, p.convert(item, path+"["+strconv.Itoa(i)+"]"))
		}
	case yaml.AliasNode:
		out.alias = true
		p.report(out.at, path, fault.ConfigSyntax, "alias", "detail", "*"+n.Value)
	default:
		out.text = n.Value
		out.plain = n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
	return out
}

func (p *parser) convertFields(n *yaml.Node, out *node, path string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := p.place(k)
		switch {
		case k.Kind != yaml.ScalarNode:
			p.report(at, path, fault.ConfigSyntax, "complex_key")
			continue
		case k.Tag == "!!merge":
			p.report(at, path, fault.ConfigSyntax, "merge_key")
			continue
		}
		if k.Anchor != "" {
			p.report(at, join(path, k.Value), fault.ConfigSyntax, "anchor", "name", k.Anchor)
		}
		value := p.convert(n.Content[i+1], join(path, k.Value))
		if j := slices.IndexFunc(out.fields, func(f field) bool { return f.key == k.Value }); j >= 0 {
			p.report(at, join(path, k.Value), fault.ConfigDuplicateKey, "duplicate_key",
				"first", out.fields[j].at.String())
			continue
		}
		out.fields = append(out.fields, field{k.Value, at, value})
	}
}

// join appends key to path; a key that is not a plain word is quoted so that
// the path stays readable.
func join(path, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == '.' || r == '[' || r == 0x7f }) || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
