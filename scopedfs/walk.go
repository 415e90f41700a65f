package scopedfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// WalkEntry is one name a Walk comes to. It is valid during the visit only.
type WalkEntry struct {
	Path  string      // canonical
	Rel   string      // relative to the start, with slashes; a file as start: its name
	Type  fs.FileMode // type bits only
	Depth int         // 1 for the entries of the start
	Dir   *os.File    // the open directory that holds the entry; closed by the Walk
	Err   error       // set for a second visit of a directory that could not be read
}

// Name returns the last element of the path.
func (e WalkEntry) Name() string { return path.Base(e.Path) }

// Info tells about the entry itself, not following a link.
func (e WalkEntry) Info() (fs.FileInfo, error) {
	n, err := onHandle(e.Dir).lookup(e.Name())
	if err != nil {
		return nil, e.place().failed("walk", err)
	}
	return infoOf(e.Path, n), nil
}

// Open opens the entry for reading if it is a regular file by now, whatever it
// was; a link is not followed and nothing blocks. The caller closes the file.
func (e WalkEntry) Open() (*os.File, error) {
	file, err := onHandle(e.Dir).openRead(e.Name(), e.Path)
	if err != nil {
		return nil, e.place().failed("walk", err)
	}
	if n, err := onHandle(file).stat(); err != nil || !n.mode.IsRegular() {
		file.Close()
		return nil, e.place().fail("walk", fault.FSSpecialFile)
	}
	return file, nil
}

func (e WalkEntry) place() *place {
	return &place{Path: Path{Asked: e.Path, Canonical: e.Path}, dir: none, self: none}
}

// maxOpen bounds how many directories a Walk keeps open at a time; the others
// on the way down are opened again when it comes back.
const maxOpen = 64

// maxWalked is how long a path may get, in bytes: a Walk keeps the path of every
// directory on the way down, so that without a bound a few thousand nested
// directories would take gigabytes. The system's own calls end at 4 KiB.
const maxWalked = 16 << 10

// level is one directory on the way down.
type level struct {
	dir   *os.File // nil while it is put away
	node  node
	path  string
	rel   string
	names []name
}

// Walk visits what may be read beneath start, sorted by name, directories
// before their entries; the start itself only if it is a file. It passes
// through directories that may not be read but lead to what may be. Links are
// visited and never followed. A directory that cannot be read is visited once
// more with Err set and left out. visit may return fs.SkipDir (on a directory:
// not into it; otherwise: no further in its directory) or fs.SkipAll; any
// other error ends the walk and is returned. So does the end of ctx.
func (f *FS) Walk(ctx context.Context, start string, visit func(WalkEntry) error) error {
	const op = "walk"
	var first *level
	var single *WalkEntry
	err := f.at(op, start, true, use{need: scope.R, passing: true}, func(p *place) error {
		if p.broken == nil && p.exists() && !p.node.mode.IsDir() && p.dir != none {
			dir, err := p.dir.openDir(".", p.dirPath)
			if err != nil {
				return p.failed(op, err)
			}
			single = &WalkEntry{Path: p.Canonical, Rel: p.name, Type: p.node.mode.Type(), Depth: 1, Dir: dir}
			return nil
		}
		dir, err := f.openDirectory(op, p)
		if err != nil {
			return err
		}
		if first, err = f.level(dir, p.Canonical, ""); err != nil {
			return p.failed(op, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if single != nil {
		defer single.Dir.Close()
		err = visit(*single)
	} else {
		err = f.walk(ctx, first, visit)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// level reads the open directory dir, which it takes over.
func (f *FS) level(dir *os.File, canonical, rel string) (*level, error) {
	l := &level{dir: dir, path: canonical, rel: rel}
	n, err := onHandle(dir).stat()
	if err == nil {
		l.node = n
		err = onHandle(dir).stillAt(canonical)
	}
	more := false
	if err == nil {
		l.names, more, err = f.visible(dir, canonical, true)
	}
	if more {
		err = fault.New(fault.FSTooManyFiles, "walk", "path", canonical, "resolved", canonical, "limit", strconv.Itoa(maxNames))
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return l, nil
}

func (f *FS) walk(ctx context.Context, first *level, visit func(WalkEntry) error) error {
	stack := []*level{first}
	defer func() {
		for _, l := range stack {
			l.putAway()
		}
	}()
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(l.names) == 0 {
			l.putAway()
			stack = stack[:len(stack)-1]
			continue
		}
		if err := f.takeUp(l); err != nil {
			l.names = nil
			lost := WalkEntry{Path: l.path, Rel: l.rel, Type: fs.ModeDir, Depth: len(stack) - 1}
			if err := lost.report(err, visit); err != nil {
				return err
			}
			continue
		}
		n := l.names[0]
		l.names = l.names[1:]
		e, ok := l.entry(n, len(stack))
		if !ok {
			continue
		}
		if n.passing && !e.Type.IsDir() {
			continue
		}
		switch err := visit(e); {
		case errors.Is(err, fs.SkipDir):
			if !e.Type.IsDir() {
				l.names = nil
			}
			continue
		case err != nil:
			return err
		case !e.Type.IsDir():
			continue
		}
		below, err := f.down(l, e)
		if err != nil {
			if err := e.report(err, visit); err != nil {
				return err
			}
			continue
		}
		stack = append(stack, below)
		if far := len(stack) - maxOpen; far >= 0 {
			stack[far].putAway()
		}
	}
	return nil
}

// report visits e once more with what kept its directory from being read.
func (e WalkEntry) report(cause error, visit func(WalkEntry) error) error {
	e.Err = e.place().failed("walk", cause)
	if errors.Is(cause, errMoved) {
		e.Err = e.place().fail("walk", fault.FSChanged)
	}
	if err := visit(e); err != nil && !errors.Is(err, fs.SkipDir) {
		return err
	}
	return nil
}

// entry describes name n of l; false when it is gone.
func (l *level) entry(n name, depth int) (WalkEntry, bool) {
	if !n.sure {
		found, err := onHandle(l.dir).lookup(n.text)
		if err != nil {
			return WalkEntry{}, false
		}
		n.kind = found.mode.Type()
	}
	return WalkEntry{
		Path: beneath(l.path, n.text), Rel: beneath(l.rel, n.text),
		Type: n.kind, Depth: depth, Dir: l.dir,
	}, true
}

// down opens the directory e of l and reads it.
func (f *FS) down(l *level, e WalkEntry) (*level, error) {
	if len(e.Path) > maxWalked {
		return nil, syscall.ENAMETOOLONG
	}
	dir, err := onHandle(l.dir).openDir(e.Name(), e.Path)
	if err != nil {
		return nil, err
	}
	return f.level(dir, e.Path, e.Rel)
}

func (l *level) putAway() {
	if l.dir != nil {
		l.dir.Close()
		l.dir = nil
	}
}

// takeUp opens l again if it was put away.
func (f *FS) takeUp(l *level) error {
	if l.dir != nil {
		return nil
	}
	self, err := f.descend(l.path[1:])
	if err != nil {
		return err
	}
	defer self.close()
	dir, err := self.openDir(".", l.path)
	if err != nil {
		return err
	}
	if n, err := onHandle(dir).stat(); err != nil || !n.same(l.node) {
		dir.Close()
		return errMoved
	}
	l.dir = dir
	return nil
}
