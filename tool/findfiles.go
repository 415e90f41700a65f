package tool

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"sunaba/fault"
	"sunaba/scopedfs"
)

type findArgs struct {
	Pattern  string `json:"pattern"`
	Path     string `json:"path"`
	NoIgnore bool   `json:"no_ignore"`
}

// hit is one file that was found.
type hit struct {
	path string
	time time.Time
}

// findFiles finds files by name. Only Match of the glob library is used: its
// own walk would follow links out of the tree.
func (e *Env) findFiles(ctx context.Context, a findArgs) Result {
	info, start, err := e.FS.Stat(orHere(a.Path))
	if err != nil {
		return e.fail(err)
	}
	if !info.IsDir() {
		return e.fail(fault.New(fault.FSNotDirectory, FindFiles, "path", a.Path))
	}
	start.Asked = filepath.Clean(orHere(a.Path))
	pattern, err := globBeneath(a.Pattern, start)
	if err != nil {
		return Fail(NoScope, err)
	}
	var t tally
	var hits []hit
	total := 0
	err = e.walk(ctx, start, a.NoIgnore, &t, func(entry scopedfs.WalkEntry, shown, rel string) error {
		if entry.Type.IsRegular() {
			t.searched++
		}
		if !doublestar.MatchUnvalidated(pattern, rel) {
			return nil
		}
		h := hit{path: shown}
		if entry.Type&fs.ModeSymlink != 0 { // a link counts when it leads to a file that may be read
			target, _, err := e.FS.Stat(entry.Path)
			if err != nil || !target.Mode().IsRegular() {
				return nil
			}
			h.time = target.ModTime()
		} else if info, err := entry.Info(); err == nil {
			h.time = info.ModTime()
		}
		total++
		hits = append(hits, h)
		if len(hits) >= 4*e.Limits.Entries { // memory stays bounded, the newest stay
			hits = newest(hits, e.Limits.Entries)
		}
		return nil
	})
	if err != nil {
		return e.fail(err)
	}
	hits = newest(hits, e.Limits.Entries)
	var text strings.Builder
	for _, h := range hits {
		text.WriteString(valid([]byte(oneLine(h.path))) + "\n")
	}
	r := Result{OK: true, Scope: e.label(start), Text: text.String(),
		Fields:  append([]Field{{"matches", total}}, t.fields()...),
		Effects: []Effect{{Kind: EffectRead, Path: start.Canonical}}}
	if len(hits) < total {
		r.Fields = append(r.Fields, Field{"shown", len(hits)}, Field{"truncated", true})
		r.Hint = "narrow"
	}
	if total == 0 {
		r.Text = nothing(t)
		switch {
		case !strings.Contains(pattern, "/"):
			r.Hint = "anywhere"
		case t.ignored > 0:
			r.Hint = "ignored"
		}
	}
	return r
}

// newest sorts hits, newest first, and keeps at most n.
func newest(hits []hit, n int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		if c := b.time.Compare(a.time); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	return hits[:min(n, len(hits))]
}

// nothing says in numbers where a search without a hit has looked.
func nothing(t tally) string {
	var parts []string
	for _, f := range t.fields() {
		parts = append(parts, f.Name+": "+string(appendJSON(nil, f.Value)))
	}
	return strings.Join(parts, ", ") + "\n"
}

// globBeneath checks a pattern and makes it relative to start.
func globBeneath(pattern string, start scopedfs.Path) (string, error) {
	glob := strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if filepath.IsAbs(pattern) {
		rest, ok := strings.CutPrefix(glob, filepath.ToSlash(start.Canonical)+"/")
		if !ok && filepath.IsAbs(start.Asked) {
			rest, ok = strings.CutPrefix(glob, filepath.ToSlash(start.Asked)+"/")
		}
		if !ok {
			return "", fault.New(fault.ToolGlob, FindFiles, "pattern", clip(pattern), Case, "absolute")
		}
		glob = rest
	}
	return glob, checkGlob(pattern, glob)
}

// checkGlob refuses what would match nothing by mistake, naming the place.
func checkGlob(pattern, glob string) error {
	if glob == "" || !doublestar.ValidatePattern(glob) {
		return fault.New(fault.ToolGlob, "", "pattern", clip(pattern), Case, unclosed(glob))
	}
	if slices.Contains(strings.Split(glob, "/"), "..") {
		return fault.New(fault.ToolGlob, "", "pattern", clip(pattern), Case, "absolute")
	}
	return nil
}

// unclosed names what is wrong with an invalid pattern.
func unclosed(glob string) string {
	var braces, brackets int
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			braces++
		case '}':
			braces--
		case '[':
			brackets++
		case ']':
			brackets = 0
		}
	}
	switch {
	case glob == "":
		return "empty"
	case brackets > 0:
		return "bracket"
	case braces != 0:
		return "brace"
	}
	return "syntax"
}
