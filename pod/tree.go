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
	name   string // such as "scope.allow[0].target"
	kind   kind
	at     Position
	text   string   // of a string
	yes    bool     // of a boolean
	fields []field  // of a table, in order
	items  []*value // of a list

	open bool // a [table] or [[list]]: later lines may add to it
	item bool // a table of a list
}

type field struct {
	key   string
	at    Position
	value *value
}

// key is the name of what stands in v under key.
func (v *value) key(key string) string {
	if v.name == "" {
		return key
	}
	return v.name + "." + key
}

func (v *value) get(key string) *value {
	for _, f := range v.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// A manifest has a handful of keys and any number of rules. More keys than these
// are refused at once, so that no text within maxManifest takes long to read:
// the library looks through all keys for each of them.
const (
	maxKeys  = 64   // of one table
	maxTable = 1024 // of all tables that stand in no list
)

// reader builds the tree of one document.
type reader struct {
	file  string
	data  []byte
	p     unstable.Parser
	found []Problem
	keys  int  // of the tables that stand in no list
	over  bool // there are too many: nothing more is read

	// The place that was asked for last: most are asked for in order.
	last     Position
	lastByte int
}

// tree reads data. A document that is not TOML is one problem, and nil.
func tree(file string, data []byte) (*value, []Problem) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := reader{file: file, data: data, last: Position{file, 1, 1}}
	if at := invalid(data); at >= 0 {
		return nil, []Problem{r.problem(r.at(at), "", "not_utf8")}
	}
	root := &value{kind: aTable, at: r.last, open: true}
	r.p.Reset(data)
	table := root
	for !r.over && r.p.NextExpression() {
		switch e := r.p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = r.header(root, e)
		case unstable.KeyValue:
			r.keyValue(table, e)
		}
	}
	if r.over {
		return nil, r.found
	}
	var all map[string]any
	syntax := toml.Unmarshal(data, &all)
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
	if offset < r.lastByte {
		r.last, r.lastByte = Position{r.file, 1, 1}, 0
	}
	between := r.data[r.lastByte:offset]
	if lines := bytes.Count(between, []byte{'\n'}); lines > 0 {
		r.last.Line, r.last.Column = r.last.Line+lines, 1
		between = between[bytes.LastIndexByte(between, '\n')+1:]
	}
	r.last.Column += utf8.RuneCount(between)
	r.lastByte = offset
	return r.last
}

// add gives table one more key, unless it has too many.
func (r *reader) add(table *value, f field) {
	if !table.item {
		r.keys++
	}
	if len(table.fields) >= maxKeys || r.keys > maxTable {
		if !r.over {
			r.found = append(r.found, r.problem(f.at, "", "too_many_keys"))
		}
		r.over = true
		return
	}
	table.fields = append(table.fields, f)
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
	for !r.over && keys.Next() {
		name, at := string(keys.Node().Data), r.at(int(keys.Node().Raw.Offset))
		list := keys.IsLast() && e.Kind == unstable.ArrayTable
		next := table.get(name)
		switch {
		case next == nil:
			next = &value{name: table.key(name), kind: aTable, at: at, open: true}
			if list {
				next.kind = aList
			}
			r.add(table, field{name, at, next})
		case !next.open, list && next.kind != aList:
			r.twice(at, table, name, next.at)
			next = &value{name: next.name, kind: aTable, at: at, open: true} // read on, apart
		}
		if list && next.kind == aList {
			next.items = append(next.items, &value{name: index(next.name, len(next.items)), kind: aTable, at: at, open: true, item: true})
		}
		if next.kind == aList {
			next = next.items[len(next.items)-1]
		}
		table = next
	}
	return table
}

func (r *reader) twice(at Position, table *value, key string, first Position) {
	r.found = append(r.found, r.problem(at, table.key(key), "twice", "key", key, "first", first.String()))
}

// keyValue adds the line "a.b = value" to table.
func (r *reader) keyValue(table *value, e *unstable.Node) {
	keys := e.Key()
	for !r.over && keys.Next() {
		name, at := string(keys.Node().Data), r.at(int(keys.Node().Raw.Offset))
		next := table.get(name)
		switch {
		case keys.IsLast() && next != nil, next != nil && next.kind != aTable:
			r.twice(at, table, name, next.at)
			return
		case keys.IsLast():
			r.add(table, field{name, at, r.value(e.Value(), at, table.key(name), false)})
			return
		case next == nil:
			next = &value{name: table.key(name), kind: aTable, at: at}
			r.add(table, field{name, at, next})
		}
		table = next
	}
}

// value converts n; one without a place of its own stands at its key.
func (r *reader) value(n *unstable.Node, key Position, name string, item bool) *value {
	v := &value{name: name, at: key, item: item}
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
		for items := n.Children(); !r.over && items.Next(); {
			v.items = append(v.items, r.value(items.Node(), v.at, index(name, len(v.items)), true))
		}
	case unstable.InlineTable:
		v.kind = aTable
		for fields := n.Children(); !r.over && fields.Next(); {
			r.keyValue(v, fields.Node())
		}
	default:
		v.kind = aTime
	}
	return v
}
