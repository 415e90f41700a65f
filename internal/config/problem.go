package config

import (
	"fmt"
	"strings"

	"sunaba/fault"
)

// Problem is one thing that is wrong in a configuration file.
type Problem struct {
	Position
	Key    string     // key path, such as "sandbox.mounts[0].access"
	Code   fault.Code // config.*
	Reason string     // "config.why." + Reason is the locale key of its sentence
	Args   fault.Args // facts for the sentence
}

// TextKey returns the locale key of the sentence that explains p.
func (p Problem) TextKey() string { return "config.why." + p.Reason }

// String prints p for logs and test failures, without a sentence.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s %s (%s)", p.Position, p.Code, p.Key, p.Reason)
}

// String prints "file:line:column", or the parts that are known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Problems are all problems of a configuration at once, in the order of the
// files. Language is the configured language when it could be read, "" else.
type Problems struct {
	List     []Problem
	Language string
}

// Error prints one problem a line, for logs.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}
