package cli

import (
	"context"
	"errors"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox"
)

// platform tells what this machine enforces of a policy, by trying it.
type platform struct {
	texts
	policy policy.Effective
}

// Lines returns one line for each mechanism, or what is missing.
func (p platform) Lines(ctx context.Context) []string {
	mechanisms, err := preflight(ctx, p.policy)
	if err != nil {
		return []string{p.platformFault(err)}
	}
	lines := make([]string, len(mechanisms))
	for i, m := range mechanisms {
		state := "platform.full"
		if !m.Full {
			state = "platform.weaker"
		}
		lines[i] = p.text(state, "name", m.Name, "detail", m.Detail)
	}
	return lines
}

// preflight makes the policy's sandbox once and takes it down again (S1-095,
// SD-27).
func preflight(ctx context.Context, e policy.Effective) ([]sandbox.Mechanism, error) {
	return sandbox.Probe(ctx, sandbox.Options{Policy: e})
}

// platformFault is the sentence of a failed preflight with its remedy.
func (t texts) platformFault(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		e = fault.Wrap(err, fault.PlatformWorker, "preflight", "cause", err.Error())
	}
	line := t.fault(e)
	if remedy := e.Args["remedy"]; remedy != "" {
		line += "\n  " + t.text("platform.remedy."+remedy)
	}
	return line
}
