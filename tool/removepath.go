package tool

import "context"

// removePath removes a file, a link itself, or an empty directory (FS-06b).
func (e *Env) removePath(_ context.Context, a pathArgs) Result {
	out, err := e.FS.Remove(a.Path)
	if err != nil {
		return e.fail(err)
	}
	e.Tracker.Seen(out.Path.Canonical, "")
	return Result{OK: true, Scope: e.label(out.Path),
		Fields:  []Field{{"path", a.Path}, {"removed", true}},
		Effects: []Effect{{Kind: EffectDelete, Path: out.Path.Canonical, Changed: true}}}
}
