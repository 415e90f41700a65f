package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"sunaba/fault"
	"sunaba/internal/journal"
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
	mechanisms, err := preflight(ctx, "", p.policy)
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
// SD-27). Its control groups are journalled like a Task's, in stateDir; without
// one they are not: apply and show leave no state behind.
func preflight(ctx context.Context, stateDir string, e policy.Effective) (found []sandbox.Mechanism, err error) {
	if stateDir == "" {
		return sandbox.Probe(ctx, sandbox.Options{Policy: e})
	}
	groups := preflightGroups{stateDir: stateDir}
	defer func() {
		if cerr := groups.close(); err == nil {
			err = cerr
		}
	}()
	return sandbox.Probe(ctx, sandbox.Options{Policy: e, Cgroups: &groups})
}

// preflightGroups journals in a run of its own, opened when there is something
// to note: only root's sandboxes have control groups.
type preflightGroups struct {
	stateDir string
	journal.Cgroups
}

// Add implements sandbox.Cgroups.
func (g *preflightGroups) Add(path string) (err error) {
	if g.Run == nil {
		if g.Run, err = journal.OpenRun(g.stateDir, time.Now()); err != nil {
			return err
		}
	}
	return g.Cgroups.Add(path)
}

func (g *preflightGroups) close() error {
	if g.Run == nil {
		return nil
	}
	return g.Run.Close()
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
	if otherwise := e.Args["otherwise"]; otherwise != "" {
		line += "\n  " + t.text("platform.otherwise."+otherwise)
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
