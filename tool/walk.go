package tool

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sunaba/fault"
	"sunaba/internal/gitignore"
	"sunaba/scopedfs"
)

// maxIgnoreFile bounds the size of a .gitignore that is honoured, in bytes.
const maxIgnoreFile = 1 << 20

// tally counts what a walk came to, so that "nothing found" can be judged.
type tally struct {
	searched   int // regular files that were looked at
	ignored    int // names an ignore file took out, each directory as one
	binary     int
	unreadable int // files and directories
	tooLarge   int
	special    int // pipes, sockets, devices: never opened
}

// fields lists the counts that are not zero; searched always.
func (t tally) fields() []Field {
	fields := []Field{{"searched", t.searched}}
	for _, f := range []struct {
		name string
		n    int
	}{{"ignored", t.ignored}, {"binary", t.binary}, {"unreadable", t.unreadable}, {"too_large", t.tooLarge}, {"special", t.special}} {
		if f.n > 0 {
			fields = append(fields, Field{f.name, f.n})
		}
	}
	return fields
}

// failed counts a file that could not be opened.
func (t *tally) failed(err error) {
	if errors.Is(err, &fault.Error{Code: fault.FSTooLarge}) {
		t.tooLarge++
	} else {
		t.unreadable++
	}
}

// walk visits every file and link beneath the directory start that no ignore
// file names. Links are not followed. shown is the path as the model may use
// it, rel the path beneath start.
func (e *Env) walk(ctx context.Context, start scopedfs.Path, noIgnore bool, t *tally, visit func(entry scopedfs.WalkEntry, shown, rel string) error) error {
	ignore := e.ignoreRules(start.Canonical, noIgnore)
	err := e.FS.Walk(ctx, start.Canonical, func(entry scopedfs.WalkEntry) error {
		if entry.Err != nil {
			t.unreadable++
			return nil
		}
		if e.unlisted(entry.Path) {
			if entry.Type.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if ignore.names(entry) {
			t.ignored++
			if entry.Type.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case entry.Type.IsDir():
			ignore.enter(entry.Path)
			return nil
		case entry.Type.IsRegular(), entry.Type&fs.ModeSymlink != 0:
			rel := filepath.ToSlash(entry.Rel)
			shown := rel
			if asked := filepath.ToSlash(start.Asked); asked != "." {
				shown = path.Join(asked, rel)
			}
			return visit(entry, shown, rel)
		}
		t.special++
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return fault.Wrap(err, fault.AgentCancelled, "")
	}
	return err
}

// ignoring are the ignore rules that hold in a walk.
type ignoring struct {
	env  *Env
	root string // the top of the area the walk is in
	set  gitignore.Set
	off  bool
}

// ignoreRules reads the ignore files from the top of the area down to start.
func (e *Env) ignoreRules(start string, off bool) *ignoring {
	g := &ignoring{env: e, root: start, off: off}
	if off {
		return g
	}
	if e.Policy != nil {
		for _, r := range e.Policy.Roots {
			if within(start, r.Path) && len(r.Path) < len(g.root) {
				g.root = r.Path
			}
		}
	}
	if text, _, err := e.FS.ReadFile(filepath.Join(g.root, ".git", "info", "exclude"), maxIgnoreFile); err == nil {
		g.set.Exclude(text)
	}
	g.enter(g.root)
	for dir := g.root; dir != start; {
		next, _, _ := strings.Cut(strings.TrimPrefix(start[len(dir):], string(filepath.Separator)), string(filepath.Separator))
		dir = filepath.Join(dir, next)
		g.enter(dir)
	}
	return g
}

// enter reads the ignore file of dir. One that cannot be read ignores nothing.
func (g *ignoring) enter(dir string) {
	if g.off {
		return
	}
	if text, _, err := g.env.FS.ReadFile(filepath.Join(dir, ".gitignore"), maxIgnoreFile); err == nil {
		g.set.Add(g.rel(dir), text)
	}
}

// names reports whether entry is to be left out: Git's own directory is.
func (g *ignoring) names(entry scopedfs.WalkEntry) bool {
	if g.off {
		return false
	}
	return filepath.Base(entry.Path) == ".git" || g.set.Match(g.rel(entry.Path), entry.Type.IsDir())
}

func (g *ignoring) rel(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, g.root), string(filepath.Separator)))
}
