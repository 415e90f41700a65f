package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"sunaba/fault"
)

type editArgs struct {
	Path       string `json:"path"`
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// editFile replaces text and leaves every other byte of the file as it was.
func (e *Env) editFile(_ context.Context, a editArgs) Result {
	switch {
	case a.Old == "":
		return Fail(NoScope, fault.New(fault.ToolArguments, EditFile, Case, "empty_old", "tool", EditFile))
	case a.Old == a.New:
		return Fail(NoScope, fault.New(fault.ToolArguments, EditFile, Case, "same", "tool", EditFile))
	}
	// A file that was read before must still be what was read.
	var expected string
	var seen bool
	if _, p, err := e.FS.Stat(a.Path); err == nil {
		expected, seen = e.Tracker.Digest(p.Canonical)
	}
	var done replacement
	out, err := e.FS.Update(a.Path, e.Limits.EditBytes, func(old []byte) ([]byte, error) {
		if sum := sha256.Sum256(old); seen && hex.EncodeToString(sum[:]) != expected {
			return nil, fault.New(fault.FSChanged, EditFile, "path", a.Path)
		}
		enc, isBinary := sniff(old[:min(len(old), sniffBytes)])
		if isBinary {
			return nil, fault.New(fault.FSBinary, EditFile, "path", a.Path,
				"type", http.DetectContentType(old), "size", strconv.Itoa(len(old)))
		}
		text, ok := decode(old, enc)
		if !ok {
			return nil, fault.New(fault.FSBinary, EditFile, "path", a.Path, Case, "encoding", "encoding", string(enc))
		}
		var err error
		if done, err = replace(text, a); err != nil {
			return nil, err
		}
		data := encode(done.text, enc)
		if limit := e.Policy; limit != nil && limit.MaxFileBytes > 0 && int64(len(data)) > limit.MaxFileBytes {
			return nil, tooLarge(EditFile, a.Path, int64(len(data)), limit.MaxFileBytes)
		}
		return data, nil
	})
	if err != nil {
		return e.fail(err)
	}
	if seen {
		e.Tracker.Seen(out.Path.Canonical, out.After)
	}
	r := e.changed(out)
	r.Fields = append(r.Fields, Field{"path", a.Path}, Field{"replaced", done.count}, Field{"line", done.line}, Field{"bytes", out.Bytes})
	return r
}
