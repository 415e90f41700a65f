package sandbox

import (
	"slices"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// startsNothing reports that no program can be started under e: then a host
// without user namespaces can still enforce it. Ending every process of a Task
// for certain, and keeping modes, names and other processes from commands, needs
// namespaces.
func startsNothing(e *policy.Effective) bool {
	if e.AllowedCommands != nil {
		return len(e.AllowedCommands) == 0
	}
	return len(e.Entries) == 0 && !slices.ContainsFunc(e.Roots, func(r policy.Root) bool {
		return rootCapability(e, r).Has(scope.X)
	})
}

// checkByLandlock refuses, by name, what kernel rules that only ever add up
// cannot express without mounts.
func checkByLandlock(e *policy.Effective) error {
	refuse := func(what, source, path string) error {
		return fault.New(fault.PlatformUnsupported, "sandbox", "case", "landlock", "what", what, "source", source, "path", path)
	}
	switch {
	case !startsNothing(e):
		return refuse("sandbox.execution", "", e.Workspace.Root)
	case e.Network.Mode != "none":
		return refuse("sandbox.network.mode", e.Network.Source, e.Network.Mode)
	case e.Network.UnixSockets != "none":
		return refuse("sandbox.network.unix_sockets", "", e.Network.UnixSockets)
	}
	l := newLayout(e)
	for _, p := range slices.Concat(l.hidden, l.locked) {
		return refuse(p, sourceOf(e, p), p)
	}
	for _, inner := range l.areas {
		if inner.flat {
			return refuse("recursive: false", sourceOf(e, inner.path), inner.path)
		}
		for _, outer := range l.areas {
			if inner.path != outer.path && within(inner.path, outer.path) && !inner.cap.Has(outer.cap) {
				return refuse(inner.path+" in "+outer.path, sourceOf(e, inner.path), inner.path)
			}
		}
	}
	return nil
}

// sourceOf returns the place of what says something of path, "" when no setting
// does.
func sourceOf(e *policy.Effective, path string) string {
	if e.Scope != nil {
		for _, r := range slices.Concat(e.Scope.Allow, e.Scope.Deny) {
			if r.Target == path {
				return r.Source
			}
		}
	}
	for _, p := range e.Protected {
		if p.Path == path {
			return p.Source
		}
	}
	for _, r := range e.Roots {
		if r.Path == path {
			return r.Source
		}
	}
	return ""
}
