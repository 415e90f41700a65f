package tool

import (
	"context"
	"errors"

	"sunaba/fault"
	"sunaba/scopedfs"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writeFile writes content byte for byte. What exists must be what was last
// read of it: unread is fs.not_read, changed since is fs.changed (C-50).
func (e *Env) writeFile(_ context.Context, a writeArgs) Result {
	var o scopedfs.WriteOptions
	info, p, err := e.FS.Stat(a.Path)
	if err == nil && !info.IsDir() {
		if digest, seen := e.Tracker.Digest(p.Canonical); seen {
			o.Expect = &digest
		} else if !e.MayOverwriteUnread {
			o.MustNotExist = true
		}
	}
	// When Stat found nothing, a file may still appear before the write: then
	// it is one that was never read.
	if errors.Is(err, &fault.Error{Code: fault.FSNotFound}) && !e.MayOverwriteUnread {
		o.MustNotExist = true
	}
	out, err := e.FS.WriteFile(a.Path, []byte(a.Content), o)
	if o.MustNotExist && errors.Is(err, &fault.Error{Code: fault.FSExists}) {
		err = fault.Wrap(err, fault.FSNotRead, WriteFile, "path", a.Path)
	}
	if err != nil {
		return e.fail(err)
	}
	e.Tracker.Seen(out.Path.Canonical, out.After)
	r := e.changed(out)
	r.Fields = append(r.Fields, Field{"path", a.Path}, Field{"bytes", out.Bytes}, Field{"created", out.Created})
	if !out.Changed {
		r.Fields = append(r.Fields, Field{"changed", false})
	}
	return similar(r, out)
}

// changed starts the Result of a successful change of a file.
func (e *Env) changed(out scopedfs.Outcome) Result {
	return Result{OK: true, Scope: e.label(out.Path), Effects: []Effect{{
		Kind: EffectWrite, Path: out.Path.Canonical, Bytes: out.Bytes, Digest: out.After, Changed: out.Changed,
	}}}
}

// similar warns of an older name that looks like the new one.
func similar(r Result, out scopedfs.Outcome) Result {
	if out.Similar != "" {
		r.Fields = append(r.Fields, Field{"similar", out.Similar})
		r.Hint = "similar"
	}
	return r
}
