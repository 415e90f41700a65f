package scopedfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// MkdirAll makes the directory at path and its parents. One that exists is
// fine: Created is false.
func (f *FS) MkdirAll(asked string) (Outcome, error) {
	const op = "make_directory"
	var out Outcome
	err := f.at(op, asked, true, use{need: scope.R | scope.W, making: true}, func(p *place) error {
		out = Outcome{Path: p.Path}
		switch {
		case p.exists() && p.broken == nil && p.node.mode.IsDir():
			return nil
		case p.exists() && p.broken == nil:
			return p.fail(op, fault.FSExists)
		case p.broken != nil:
			return f.absent(op, p)
		}
		out.Similar = f.similar(p)
		p.missing = append(p.missing, "") // the last one is made as well
		if _, err := f.makeParents(op, p); err != nil {
			return err
		}
		out.Created, out.Changed = true, true
		return nil
	})
	return settled(out, err)
}

// made are directories that an act made on its way, outermost first.
type made struct {
	f     *FS
	paths []string
}

// undo removes them again, as far as nobody else has put something there.
func (m made) undo() {
	for i := len(m.paths) - 1; i >= 0; i-- {
		dir, name := path.Split(m.paths[i])
		if at, err := m.f.descend(path.Clean(dir)[1:]); err == nil {
			at.rmdir(name)
			at.close()
		}
	}
}

// makeParents makes all but the last of what is missing at p, each of them
// judged, and moves p's directory there.
func (f *FS) makeParents(op string, p *place) (made, error) {
	m := made{f: f}
	for len(p.missing) > 1 {
		if err := f.makeParent(op, p, &m); err != nil {
			m.undo()
			return made{f: f}, err
		}
	}
	return m, nil
}

func (f *FS) makeParent(op string, p *place, m *made) error {
	step := *p
	step.Canonical = path.Join(p.dirPath, p.name)
	if err := f.judge(op, &step, use{need: scope.R | scope.W}); err != nil {
		return err
	}
	if err := p.dir.mkdir(p.name); err != nil {
		if errors.Is(err, syscall.EEXIST) {
			return errMoved
		}
		return p.raced(op, err)
	}
	m.paths = append(m.paths, step.Canonical)
	below, err := p.dir.child(p.name)
	if err != nil {
		return p.raced(op, err)
	}
	p.dir.close()
	p.dir, p.dirPath = below, step.Canonical
	p.missing = p.missing[1:]
	p.name = p.missing[0]
	if n, err := below.stat(); err != nil || !n.mode.IsDir() {
		return errMoved
	}
	return below.stillAt(p.dirPath)
}

// roomForOne refuses a new file beneath Pwd when there are MaxFiles already.
func (f *FS) roomForOne(op string, p *place) error {
	if f.o.MaxFiles <= 0 || !f.counted(p) {
		return nil
	}
	count := 0
	err := f.Walk(context.Background(), f.o.Pwd, func(e WalkEntry) error {
		if !e.Type.IsDir() {
			count++
		}
		if count >= f.o.MaxFiles {
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case count >= f.o.MaxFiles:
		return p.fail(op, fault.FSTooManyFiles, "limit", strconv.Itoa(f.o.MaxFiles))
	}
	return nil
}

// counted reports whether p lies beneath Pwd, where files are counted.
func (f *FS) counted(p *place) bool { return strings.HasPrefix(p.Canonical, f.o.Pwd+"/") }

// Remove removes a file, a link itself, or an empty directory. It needs delete.
func (f *FS) Remove(asked string) (Outcome, error) {
	const op = "remove"
	var out Outcome
	err := f.at(op, asked, false, use{need: scope.R | scope.D}, func(p *place) error {
		out = Outcome{Path: p.Path, Changed: true}
		if err := f.unpinned(op, p, p); err != nil {
			return err
		}
		if p.broken != nil || !p.exists() {
			return f.absent(op, p)
		}
		if p.dir == none {
			return p.fail(op, fault.FSPermission)
		}
		remove := p.dir.unlink
		if p.node.mode.IsDir() {
			remove = p.dir.rmdir
		}
		err := remove(p.name)
		if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
			return errMoved // it was exchanged for the other kind
		}
		if err != nil {
			return p.raced(op, err)
		}
		return nil
	})
	return settled(out, err)
}

// unpinned refuses to take p away, to the place to, while something beneath
// must stay (SD-18). to's own beneath counts too: what moves there would
// become what a rule denies.
func (f *FS) unpinned(op string, p, to *place) error {
	for _, at := range []*place{p, to} {
		if target, denied := f.deniedBeneath(at); denied {
			why := f.rules.Why(target, scope.W|scope.D)
			return at.fail(op, fault.FSDeniedBeneath, "target", target, "rule", why["rule"], "source", why["source"])
		}
	}
	return nil
}

// deniedBeneath asks the rules about p, on a volume that folds case also about
// every other spelling of it.
func (f *FS) deniedBeneath(p *place) (target string, denied bool) {
	if target, denied = f.rules.DeniedBeneath(p.Canonical); denied {
		return target, denied
	}
	if by, ok := f.rules.(beneathFolder); ok && (p.dir == none || f.folds(p.dir)) {
		return by.DeniedBeneathFolded(p.Canonical)
	}
	return "", false
}

// Rename moves a file, a link itself, or a directory with all it holds. It
// needs write on both ends (FS-07), replaces nothing, and stays on one volume.
func (f *FS) Rename(from, to string) (Outcome, error) {
	var out Outcome
	err := f.settle("move", from, func() error {
		old, errOld := f.place("move", from)
		if old != nil {
			defer old.close()
		}
		made, errNew := f.place("move", to)
		if made != nil {
			defer made.close()
		}
		if err := earlier(errOld, errNew); err != nil {
			return err
		}
		out = Outcome{Path: made.Path, From: old.Canonical, Changed: true, Bytes: old.node.size}
		return f.move(old, made)
	})
	return settled(out, err)
}

// place resolves and judges one end of a Rename.
func (f *FS) place(op, asked string) (*place, error) {
	p, err := f.resolve(op, asked, false)
	if err != nil {
		return nil, err
	}
	return p, f.judge(op, p, use{need: scope.R | scope.W})
}

func (f *FS) move(old, made *place) error {
	const op = "move"
	if err := f.unpinned(op, old, made); err != nil {
		return err
	}
	switch {
	case old.broken != nil || !old.exists():
		return f.absent(op, old)
	case made.exists():
		return made.fail(op, fault.FSExists)
	case made.broken != nil || len(made.missing) > 1:
		return f.absent(op, made)
	case old.dir == none:
		return old.fail(op, fault.FSPermission)
	case strings.HasPrefix(made.Canonical, old.Canonical+"/"):
		return old.failed(op, syscall.EINVAL) // into itself
	case old.node.mode.IsDir() && f.widens(old, made):
		return old.fail(op, fault.FSDeniedBeneath, "target", made.Canonical, "rule", "", "source", "")
	}
	if !f.counted(old) {
		if err := f.roomForOne(op, made); err != nil {
			return err
		}
	}
	if err := old.dir.move(old.name, made.dir, made.name); err != nil {
		if errors.Is(err, syscall.EEXIST) {
			return made.fail(op, fault.FSExists)
		}
		return old.raced(op, err)
	}
	n, err := made.dir.lookup(made.name)
	if err == nil && n.same(old.node) && made.dir.stillAt(made.dirPath) == nil {
		return nil
	}
	if err := made.dir.move(made.name, old.dir, old.name); err != nil {
		return old.failed(op, err)
	}
	return errMoved
}

// widens reports whether what lies in directory old would be readable,
// writable or executable in its new place and is not where it is now: a rule
// that does not reach down would be passed by.
func (f *FS) widens(old, made *place) bool {
	const child, grandchild = "\x01", "\x01/\x01" // names no rule has
	for _, below := range []string{child, grandchild} {
		now := f.rules.CapabilityAt(path.Join(old.Canonical, below))
		then := f.rules.CapabilityAt(path.Join(made.Canonical, below))
		if then&^now&(scope.R|scope.W|scope.X) != 0 {
			return true
		}
	}
	return false
}
