// Package fault holds the stable codes of everything that can be refused or
// go wrong, and the typed error that carries one.
//
// The one rule to keep in mind: a code never changes meaning, and text for
// people exists only in the locale files; an Error carries facts, not prose.
package fault

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Code is one stable word of CONTRACT §6, such as "fs.read_only". The part
// before the first dot is its family.
type Code string

// Family returns the part of c before its first dot: "fs" of "fs.read_only".
func (c Code) Family() string {
	family, _, _ := strings.Cut(string(c), ".")
	return family
}

// Args are the named facts of an error, such as path, rule or limit. They hold
// only what a person may see: no file content, no argument bodies, no secrets.
type Args map[string]string

// Error is a failure with a stable code. The zero value has no code and
// compares equal to nothing but itself. An Error is immutable once made and may
// be shared between goroutines.
type Error struct {
	// Code is the stable word outsiders rely on.
	Code Code
	// Op names the operation that failed, such as "read_file" or "apply".
	Op string
	// Args are the facts a person may see; the locale text names them.
	Args Args
	// Err is the cause, for the log only; it never reaches the model or a client.
	Err error
}

// New returns an Error with the given facts, which come as key, value pairs.
// An odd number of them is a programmer's mistake and panics.
func New(code Code, op string, pairs ...string) *Error {
	return &Error{Code: code, Op: op, Args: args(pairs)}
}

// Wrap is New with a cause for the log. A nil cause is allowed.
func Wrap(err error, code Code, op string, pairs ...string) *Error {
	return &Error{Code: code, Op: op, Args: args(pairs), Err: err}
}

func args(pairs []string) Args {
	if len(pairs)%2 != 0 {
		panic("fault: odd number of key, value arguments")
	}
	if len(pairs) == 0 {
		return nil
	}
	a := make(Args, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		a[pairs[i]] = pairs[i+1]
	}
	return a
}

// Error prints "op: code (key=value, …): cause" for logs and test failures.
// People are shown the locale's text instead.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(string(e.Code))
	if len(e.Args) > 0 {
		b.WriteString(" (")
		for i, k := range slices.Sorted(maps.Keys(e.Args)) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(k + "=" + e.Args[k])
		}
		b.WriteString(")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same code, so that
// errors.Is(err, &fault.Error{Code: c}) compares by code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code != "" && t.Code == e.Code
}

// CodeOf returns the code of the first Error in err's chain, or "" when there
// is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
