package workspace

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sunaba/fault"
)

// Workspace is the area an agent works in (S3-01). It is an immutable value:
// the With methods return a changed copy. The zero value has no root and
// denies everything outside.
type Workspace struct {
	root       string
	name       string
	policy     Policy
	properties map[string]json.RawMessage // never changed once stored
}

// New returns the workspace at root, which is cleaned; a relative root stays
// relative to the directory of the process. Outside of it a person is asked
// (C-07) until WithPolicy says otherwise.
func New(root, name string) Workspace {
	return Workspace{root: filepath.Clean(root), name: name, policy: ApproveOutside}
}

// WithPolicy returns a copy that handles the outside by p.
func (w Workspace) WithPolicy(p Policy) Workspace {
	w.policy = p
	return w
}

// WithProperty returns a copy in which key has the given JSON value (S3-05).
// The value is copied. A value that JSON cannot hold, such as a function, is a
// programmer's mistake and panics.
func (w Workspace) WithProperty(key string, value any) Workspace {
	data, err := json.Marshal(value)
	if err != nil {
		panic("workspace: property " + key + ": " + err.Error())
	}
	properties := make(map[string]json.RawMessage, len(w.properties)+1)
	maps.Copy(properties, w.properties)
	properties[key] = data
	w.properties = properties
	return w
}

// Root returns the cleaned root path.
func (w Workspace) Root() string { return w.root }

// Name returns the name for people and for the prompt.
func (w Workspace) Name() string { return w.name }

// Policy returns what happens outside.
func (w Workspace) Policy() Policy { return w.policy }

// Keys returns the names of all properties, sorted.
func (w Workspace) Keys() []string { return slices.Sorted(maps.Keys(w.properties)) }

// Property stores the value of key in *into, as encoding/json does, and
// reports whether the key is there and fits. *into must be a pointer.
func (w Workspace) Property(key string, into any) bool {
	data, ok := w.properties[key]
	return ok && json.Unmarshal(data, into) == nil
}

// Texts turns a locale key into text; the locale catalogue implements it.
type Texts interface {
	Text(key string, args fault.Args) string
}

// Instructions returns the part of the system prompt that tells the model its
// boundary (S3-76…82). It is short because prompt tokens are dear.
func (w Workspace) Instructions(texts Texts) string {
	return texts.Text("workspace.instructions", fault.Args{
		"name":        oneLine(w.name),
		"root":        oneLine(w.root),
		"policy":      w.policy.String(),
		"explanation": texts.Text("workspace.policy."+w.policy.String(), nil),
	})
}

// oneLine keeps a name from adding lines of its own to the prompt.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
