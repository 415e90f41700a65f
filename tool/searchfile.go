package tool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sunaba/fault"
	"sunaba/scopedfs"
)

type searchArgs struct {
	Pattern         string `json:"pattern"`
	Path            string `json:"path"`
	Include         string `json:"include"`
	CaseInsensitive bool   `json:"case_insensitive"`
	Context         int64  `json:"context"`
	Mode            string `json:"mode"`
	NoIgnore        bool   `json:"no_ignore"`
}

// searchFile searches the contents of a file, or of every file beneath a
// directory. Everything is counted, also what is not shown.
func (e *Env) searchFile(ctx context.Context, a searchArgs) Result {
	m, err := newMatcher(a.Pattern, a.CaseInsensitive)
	if err != nil {
		return Fail(NoScope, err)
	}
	if a.Include != "" {
		if err := checkGlob(a.Include, a.Include); err != nil {
			return Fail(NoScope, err)
		}
	}
	info, start, err := e.FS.Stat(orHere(a.Path))
	if err != nil {
		return e.fail(err)
	}
	start.Asked = filepath.Clean(orHere(a.Path))
	s := newSearch(ctx, m, a, e.Limits)
	var t tally
	if info.IsDir() {
		err = e.walk(ctx, start, a.NoIgnore, &t, func(entry scopedfs.WalkEntry, shown, rel string) error {
			if !entry.Type.IsRegular() || !included(a.Include, rel) {
				return nil
			}
			f, err := entry.Open()
			if err != nil {
				t.failed(err)
				return nil
			}
			return e.searchOne(s, f, shown, &t)
		})
	} else {
		var f *os.File
		if f, _, err = e.FS.OpenFile(a.Path); err == nil {
			err = e.searchOne(s, f, filepath.ToSlash(start.Asked), &t)
		}
	}
	if err != nil {
		return e.fail(err)
	}
	r := Result{OK: true, Scope: e.label(start), Text: s.out.String(),
		Fields:  []Field{{"matches", s.matches}, {"files", s.files}},
		Effects: []Effect{{Kind: EffectRead, Path: start.Canonical}}}
	r.Fields = append(r.Fields, t.fields()...)
	if s.shown < s.wanted() {
		r.Fields = append(r.Fields, Field{"shown", s.shown}, Field{"truncated", true})
		r.Hint = "narrow"
	}
	if s.matches == 0 {
		r.Text = nothing(t)
		if t.ignored > 0 {
			r.Hint = "ignored"
		}
	}
	return r
}

// included reports whether the include glob takes rel: one without a slash is
// held against the file's name, any other against the path beneath the start.
func included(glob, rel string) bool {
	if glob == "" {
		return true
	}
	if !strings.Contains(glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), rel)
}

// searchOne searches one open file and closes it.
func (e *Env) searchOne(s *search, f *os.File, shown string, t *tally) error {
	defer f.Close()
	size, err := sizeOf(f, shown)
	if err != nil {
		t.unreadable++
		return nil
	}
	head := s.head[:min(size, sniffBytes)]
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.unreadable++
		return nil
	}
	head = head[:n]
	enc, isBinary := sniff(head)
	if isBinary {
		t.binary++
		return nil
	}
	text := io.MultiReader(bytes.NewReader(head), io.LimitReader(f, size-int64(n)))
	switch enc {
	case utf8BOM:
		_, _ = io.CopyN(io.Discard, text, int64(len(bom)))
	case utf16LE, utf16BE:
		if size > e.Limits.EditBytes {
			t.tooLarge++
			return nil
		}
		data, err := io.ReadAll(text)
		if err != nil {
			t.unreadable++
			return nil
		}
		decoded, _ := decode(data, enc)
		text = bytes.NewReader(decoded)
	}
	t.searched++
	if err := s.file(shown, text); err != nil {
		if s.ctx.Err() != nil {
			return fault.Wrap(err, fault.AgentCancelled, SearchFile)
		}
		t.unreadable++
	}
	return nil
}
