package policy

import (
	"fmt"
	"strings"

	"sunaba/fault"
)

// Problem is one thing that keeps a configuration from becoming a policy, or,
// as a warning, one a person should know before they agree to it.
type Problem struct {
	Code   fault.Code // policy.*
	Reason string     // "policy.why." + Reason is the locale key of its sentence
	Source string     // place of the setting; "" none
	Args   fault.Args // facts for the sentence
}

// TextKey returns the locale key of the sentence that explains p.
func (p Problem) TextKey() string { return "policy.why." + p.Reason }

// String prints p for logs and test failures, without a sentence.
func (p Problem) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s (%s) %s", p.Source, p.Code, p.Reason, p.Args["path"]))
}

// Problems are all of them at once.
type Problems struct{ List []Problem }

// Error prints one problem a line, for logs.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}
