package tool

import (
	"bytes"
	"encoding/json"

	"sunaba/fault"
)

// Label says where an operation took place (S3-81, S3-82, C-30).
type Label string

// The labels of CONTRACT §3.
const (
	InWorkspace      Label = "workspace"
	OutsideWorkspace Label = "outside_workspace"
	NoScope          Label = "none"
)

// Field is one small named value of a Result's first line, in order.
type Field struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // string, bool or number
}

// EffectKind classifies what a call did to the world (C-81).
type EffectKind string

// The kinds of observed effects, weakest first.
const (
	EffectRead    EffectKind = "read"
	EffectWrite   EffectKind = "write"
	EffectDelete  EffectKind = "delete"
	EffectExecute EffectKind = "execute"
)

// Effect is one observed change or observation: what the agent's completion
// check and the audit use, never shown to the model.
type Effect struct {
	Kind     EffectKind `json:"kind"`
	Path     string     `json:"path,omitempty"`   // canonical
	Bytes    int64      `json:"bytes,omitempty"`  // size written
	Digest   string     `json:"digest,omitempty"` // SHA-256 after the act
	Changed  bool       `json:"changed"`          // digest or name differs from before
	Argv0    string     `json:"argv0,omitempty"`  // resolved executable
	ExitCode int        `json:"exit_code,omitempty"`
}

// Result is the outcome of one call: a refused or failed call is a Result for
// the model; only what must end the run is a Go error. It travels from the
// Worker to the broker as JSON.
type Result struct {
	OK      bool     `json:"ok"`
	Scope   Label    `json:"scope"`
	Fields  []Field  `json:"fields,omitempty"`
	Hint    string   `json:"hint,omitempty"`    // what may help the model on: a locale key beneath "tool.hint."
	Text    string   `json:"text,omitempty"`    // raw, valid UTF-8
	Error   *Failure `json:"error,omitempty"`   // set exactly when OK is false
	Effects []Effect `json:"effects,omitempty"` // for the broker only
}

// Failure is a fault in a form that travels.
type Failure struct {
	Code fault.Code `json:"code"`
	Args fault.Args `json:"args,omitempty"`
}

// Case is the fault.Args key that chooses among the texts of one code: with
// the value "missing", tool.arguments is told by the locale key
// "tool.arguments.missing". Each such key exists in every locale.
const Case = "case"

// Fail makes a refused or failed Result from err. An error without a code
// becomes fs.failed with the error's text kept out of it.
func Fail(label Label, err error) Result {
	e := AsFault(err)
	return Result{Scope: label, Error: &Failure{Code: e.Code, Args: e.Args}}
}

// Texts turns a code with its facts into a message and a hint; the hint may
// be empty. The locale catalogue implements it.
type Texts interface {
	Fault(code fault.Code, args fault.Args) (message, hint string)
}

// Model renders r as the model sees it: one JSON object on the first line,
// then, when there is text, the raw text after one newline (CONTRACT §3).
func (r Result) Model(texts Texts) string {
	head := []byte(`{"ok":`)
	head = appendJSON(head, r.OK)
	head = append(head, `,"scope":`...)
	head = appendJSON(head, r.Scope)
	for _, f := range r.Fields {
		head = append(head, ',')
		head = appendJSON(head, f.Name)
		head = append(head, ':')
		head = appendJSON(head, f.Value)
	}
	if r.Hint != "" {
		message, _ := texts.Fault(fault.Code("tool.hint."+r.Hint), nil)
		head = append(head, `,"hint":`...)
		head = appendJSON(head, message)
	}
	if r.Error != nil {
		key := r.Error.Code
		if c := r.Error.Args[Case]; c != "" {
			key += fault.Code("." + c)
		}
		message, hint := texts.Fault(key, r.Error.Args)
		head = append(head, `,"error":`...)
		head = appendJSON(head, struct {
			Code    fault.Code `json:"code"`
			Message string     `json:"message"`
			Hint    string     `json:"hint,omitempty"`
		}{r.Error.Code, message, hint})
	}
	head = append(head, '}')
	if r.Text == "" {
		return string(head)
	}
	return string(head) + "\n" + r.Text
}

func appendJSON(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)              // <, > and & are common in paths and messages
	if err := enc.Encode(v); err != nil { // a Field of a type that is not string, bool or number
		panic("tool: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
