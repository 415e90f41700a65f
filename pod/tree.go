package pod

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"sunaba/fault"
)

// kind is what a TOML value is; its text completes "pod.kind.".
type kind string

const (
	aTable  kind = "table"
	aList   kind = "list"
	aString kind = "string"
	aBool   kind = "boolean"
	aNumber kind = "number"
	aTime   kind = "time"
)

// value is one TOML value with its place. The library's own decoding stops at
// the first wrong type and tells no places of values; the tree lets every
// mistake be found at once.
type value struct {
	kind   kind
	at     Position
	text   string   // of a string
	yes    bool     // of a boolean
	fields []field  // of a table, in order
	items  []*value // of a list

	open bool // a [table] or [[list]]: later lines may add to it
}

type field struct {
	key   string
	at    Position
	value *value
}

func (v *value) get(key string) *value {
	for _, f := range v.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// reader builds the tree of one document.
type reader struct {
	file  string
	data  []byte
	p     unstable.Parser
	found []Problem
}

// tree reads data. A document that is not TOML is one problem, and nil.
func tree(file string, data []byte) (*value, []Problem) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := reader{file: file, data: data}
	if at := invalid(data); at >= 0 {
		return nil, []Problem{r.problem(r.at(at), "", "not_utf8")}
	}
	var all map[string]any
	syntax := toml.Unmarshal(data, &all)
	root := &value{kind: aTable, at: Position{file, 1, 1}, open: true}
	r.p.Reset(data)
	table := root
	for r.p.NextExpression() {
		switch e := r.p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = r.header(root, e)
		case unstable.KeyValue:
			r.keyValue(table, e)
		}
	}
	if syntax != nil && len(r.found) == 0 {
		at, detail := Position{File: file}, syntax.Error()
		if d, ok := errors.AsType[*toml.DecodeError](syntax); ok {
			line, column := d.Position()
			at.Line, at.Column = line, r.characters(line, column)
		}
		r.found = append(r.found, r.problem(at, "", "syntax", "detail", detail))
	}
	if syntax != nil {
		return nil, r.found
	}
	return root, r.found
}

// invalid returns where data stops being UTF-8, -1 when it is valid.
func invalid(data []byte) int {
	for at := 0; at < len(data); {
		c, size := utf8.DecodeRune(data[at:])
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

func (r *reader) problem(at Position, key, reason string, pairs ...string) Problem {
	return Problem{at, key, fault.PodManifest, reason, fault.New(fault.PodManifest, "", pairs...).Args}
}

// at returns the place of an offset.
func (r *reader) at(offset int) Position {
	before := r.data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{r.file, bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1}
}

// characters turns a column in bytes into one in characters.
func (r *reader) characters(line, column int) int {
	rest := r.data
	for range line - 1 {
		_, rest, _ = bytes.Cut(rest, []byte{'\n'})
	}
	return utf8.RuneCount(rest[:min(max(column-1, 0), len(rest))]) + 1
}

// header goes to the table that [a.b] or [[a.b]] names.
func (r *reader) header(root *value, e *unstable.Node) *value {
	table := root
	keys := e.Key()
	for keys.Next() {
		name, at := string(keys.Node().Data), r.at(int(keys.Node().Raw.Offset))
		list := keys.IsLast() && e.Kind == unstable.ArrayTable
		next := table.get(name)
		switch {
		case next == nil:
			next = &value{kind: aTable, at: at, open: true}
			if list {
				next.kind = aList
			}
			table.fields = append(table.fields, field{name, at, next})
		case !next.open, list && next.kind != aList:
			r.twice(at, name, next.at)
			next = &value{kind: aTable, at: at, open: true} // read on, apart
		}
		if list && next.kind == aList {
			next.items = append(next.items, &value{kind: aTable, at: at, open: true})
		}
		if next.kind == aList {
			next = next.items[len(next.items)-1]
		}
		table = next
	}
	return table
}

func (r *reader) twice(at Position, key string, first Position) {
	r.found = append(r.found, r.problem(at, key, "twice", "key", key, "first", first.String()))
}

// keyValue adds the line "a.b = value" to table.
func (r *reader) keyValue(table *value, e *unstable.Node) {
	keys := e.Key()
	for keys.Next() {
		name, at := string(keys.Node().Data), r.at(int(keys.Node().Raw.Offset))
		next := table.get(name)
		switch {
		case keys.IsLast() && next != nil, next != nil && next.kind != aTable:
			r.twice(at, name, next.at)
			return
		case keys.IsLast():
			table.fields = append(table.fields, field{name, at, r.value(e.Value(), at)})
			return
		case next == nil:
			next = &value{kind: aTable, at: at}
			table.fields = append(table.fields, field{name, at, next})
		}
		table = next
	}
}

// value converts n; one without a place of its own stands at its key.
func (r *reader) value(n *unstable.Node, key Position) *value {
	v := &value{at: key}
	if n.Raw.Length > 0 {
		v.at = r.at(int(n.Raw.Offset))
	}
	switch n.Kind {
	case unstable.String:
		v.kind, v.text = aString, string(n.Data)
	case unstable.Bool:
		v.kind, v.yes = aBool, string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		v.kind = aNumber
	case unstable.Array:
		v.kind = aList
		for items := n.Children(); items.Next(); {
			v.items = append(v.items, r.value(items.Node(), v.at))
		}
	case unstable.InlineTable:
		v.kind = aTable
		for fields := n.Children(); fields.Next(); {
			r.keyValue(v, fields.Node())
		}
	default:
		v.kind = aTime
	}
	return v
}
