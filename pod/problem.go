package pod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sunaba/fault"
)

// Position is a place in a manifest. Line and Column count from 1, Column in
// characters; 0 is unknown.
type Position struct {
	File         string
	Line, Column int
}

// String prints "file:line:column", or the parts that are known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one mistake in a manifest.
type Problem struct {
	Position
	Key    string     // such as "scope.allow[0].target"; "" the whole file
	Code   fault.Code // pod.manifest, pod.pwd or policy.rule_*
	Reason string     // "pod.why." + Reason is the locale key of its sentence
	Args   fault.Args // facts for the sentence
}

// TextKey returns the locale key of the sentence that explains p.
func (p Problem) TextKey() string { return "pod.why." + p.Reason }

// String prints p for logs and test failures, without a sentence.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s %s (%s)", p.Position, p.Code, p.Key, p.Reason)
}

// Problems are all mistakes of one manifest, in the order of the file.
type Problems struct{ List []Problem }

func newProblems(found []Problem) *Problems {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Problems{found}
}

// Error prints one problem a line, for logs.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems as *fault.Error, so that errors.Is finds codes.
func (p *Problems) Unwrap() []error {
	errs := make([]error, len(p.List))
	for i, one := range p.List {
		errs[i] = &fault.Error{Code: one.Code, Op: "manifest", Args: one.Args}
	}
	return errs
}
