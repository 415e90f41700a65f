package tool

import "context"

// makeDirectory makes a directory with its parents; one that exists is fine.
func (e *Env) makeDirectory(_ context.Context, a pathArgs) Result {
	out, err := e.FS.MkdirAll(a.Path)
	if err != nil {
		return e.fail(err)
	}
	r := e.changed(out)
	r.Fields = append(r.Fields, Field{"path", a.Path}, Field{"created", out.Created})
	return similar(r, out)
}
