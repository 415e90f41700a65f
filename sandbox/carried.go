package sandbox

import (
	"strconv"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/policy"
)

// checkCarried refuses a policy with a path that is no UTF-8: JSON, in which it
// travels to the Worker, would make another path of it, and what was protected
// would not be.
func checkCarried(e *policy.Effective) error {
	paths := []string{e.Workspace.Root, e.Workspace.Logical}
	for _, r := range e.Roots {
		paths = append(paths, r.Path, r.Logical)
	}
	for _, p := range e.Protected {
		paths = append(paths, p.Path)
	}
	for _, x := range e.Entries {
		paths = append(paths, x.Path, x.Logical, x.RuntimeRoot)
	}
	if e.Scope != nil {
		for _, r := range e.Scope.Allow {
			paths = append(paths, r.Target)
		}
		for _, r := range e.Scope.Deny {
			paths = append(paths, r.Target)
		}
	}
	for _, p := range paths {
		if !utf8.ValidString(p) {
			return fault.New(fault.PlatformUnsupported, "sandbox", "what", "a path that is not UTF-8", "source", sourceOf(e, p), "path", strconv.Quote(p))
		}
	}
	return nil
}
