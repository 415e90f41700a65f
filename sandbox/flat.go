package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// Rules that are not recursive hold for a directory and what lies directly in
// it. Kernel rules hold beneath, so what such a rule leaves out is taken away
// by mounts over the directories that stand there when the Task starts, and
// files are granted one by one, anew before a command when they changed. A
// command makes, removes and renames nothing there by virtue of such a rule.
// (C-73)

// inside is a path in c that no rule names.
func inside(c string) string { return c + "/\x01/\x01" }

// checkFlat refuses what no mount can express: that a directory can be searched
// but not its direct children, while what lies deeper is open.
func checkFlat(e *policy.Effective) error {
	if e.Scope == nil || !slices.ContainsFunc(e.Scope.Deny, func(r scope.Rule) bool { return !r.Recursive }) {
		return nil
	}
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	for i, r := range e.Scope.Deny {
		if r.Recursive || r.Permission != scope.Read {
			continue
		}
		entries, err := os.ReadDir(r.Target)
		if err != nil {
			continue // a file, or nothing: there is no deeper
		}
		for _, d := range entries {
			c := path.Join(r.Target, d.Name())
			if d.IsDir() && rules.CapabilityAt(inside(c)).Has(scope.R) {
				return fault.New(fault.PlatformUnsupported, "sandbox", "case", "flat_deny",
					"what", fmt.Sprintf("sandbox.scope.deny[%d]", i), "source", r.Source, "path", r.Target, "other", c)
			}
		}
	}
	return nil
}

// isFlat reports whether p, which is locked, leaves the directories beneath it
// to the other rules.
func (l *layout) isFlat(p string) bool {
	return slices.Contains(l.flat, p)
}

// granted returns the rights of the areas at c itself, and whether there is one.
func (l *layout) granted(c string) (all scope.Capability, found bool) {
	for _, a := range l.areas {
		if a.path == c {
			all, found = all|a.cap, true
		}
	}
	return all, found
}
