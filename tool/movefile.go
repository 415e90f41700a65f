package tool

import "context"

type moveArgs struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// moveFile renames a file, link or directory; both ends need write (FS-07).
func (e *Env) moveFile(_ context.Context, a moveArgs) Result {
	out, err := e.FS.Rename(a.From, a.To)
	if err != nil {
		return e.fail(err)
	}
	if digest, seen := e.Tracker.Digest(out.From); seen { // what was read has only another name
		e.Tracker.Seen(out.From, "")
		e.Tracker.Seen(out.Path.Canonical, digest)
	}
	r := e.changed(out)
	r.Fields = append(r.Fields, Field{"from", a.From}, Field{"to", a.To})
	return similar(r, out)
}
