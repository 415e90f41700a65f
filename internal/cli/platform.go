package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox"
)

// platform tells what this machine enforces of a policy, by trying it.
type platform struct {
	texts
	policy policy.Effective
}

// Lines returns one line for each mechanism, or what is missing and what helps.
func (p platform) Lines(ctx context.Context) (lines []string, ok bool) {
	mechanisms, err := preflight(ctx, p.policy)
	if err != nil {
		return strings.Split(p.platformFault(err), "\n"), false
	}
	lines = make([]string, len(mechanisms))
	for i, m := range mechanisms {
		lines[i] = p.mechanism(m)
	}
	return lines, true
}

// mechanism prints one mechanism in the catalogue's language. One that the
// catalogue does not know is printed in its own words.
func (p platform) mechanism(m sandbox.Mechanism) string {
	known := func(key, otherwise string) string {
		if text := p.text(key, "detail", m.Detail); text != key {
			return text
		}
		return otherwise
	}
	word := strings.ReplaceAll(m.Name, " ", "_")
	name := known("platform.name."+word, m.Name)
	if m.Full {
		return p.text("platform.full", "name", name, "detail", m.Detail)
	}
	return p.text("platform.weaker", "name", name, "detail", known("platform.weak."+word, m.Detail))
}

// preflight makes the policy's sandbox once and takes it down again (S1-095,
// SD-27).
func preflight(ctx context.Context, e policy.Effective) ([]sandbox.Mechanism, error) {
	return sandbox.Probe(ctx, sandbox.Options{Policy: e})
}

// platformFault is the sentence of a failed preflight with its remedy; one such
// for each mechanism that is missing.
func (t texts) platformFault(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var each []string
		for _, err := range joined.Unwrap() {
			each = append(each, t.platformFault(err))
		}
		return strings.Join(each, "\n")
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		e = fault.Wrap(err, fault.PlatformWorker, "preflight", "cause", err.Error())
	}
	line := t.fault(e)
	if remedy := e.Args["remedy"]; remedy != "" {
		line += "\n  " + t.text("platform.remedy."+remedy, "program", ownPath())
	}
	return line
}

// ownPath is where this program lies, for a person who has to name it.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return "agent-mcp"
	}
	return path
}
