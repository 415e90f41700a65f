package plan

import (
	"slices"
	"strings"

	"sunaba/fault"
)

// Error holds every problem of a proposed plan or change, in the order of the
// proposal; there is at least one. errors.As and fault.CodeOf find the first.
type Error struct{ problems []*fault.Error }

// Problems returns the problems; the caller may keep the slice.
func (e *Error) Problems() []*fault.Error { return slices.Clone(e.problems) }

// Error prints the problems, one per line, for logs.
func (e *Error) Error() string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems as errors.
func (e *Error) Unwrap() []error {
	list := make([]error, len(e.problems))
	for i, p := range e.problems {
		list[i] = p
	}
	return list
}

// problems gathers faults of one operation.
type problems struct {
	op   string
	list []*fault.Error
}

func (p *problems) report(code fault.Code, pairs ...string) {
	p.list = append(p.list, fault.New(code, p.op, pairs...))
}

// err returns what was gathered, nil for nothing.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{p.list}
}
