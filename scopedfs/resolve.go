package scopedfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// maxLinks bounds the links of one path; Linux follows as many.
const maxLinks = 40

// walk is a path being walked: the current directory, by its handle and its
// link-free path, and the components still to go.
type walk struct {
	f       *FS
	op      string
	p       *place
	at      handle
	path    string
	pending []component
	links   int
	follow  bool // a link at the end as well
}

type component struct {
	name   string
	linked bool // it stands in a link, not in the path as asked
}

// resolve walks to asked. With follow it goes through a link at the end, too.
// Nothing is judged but each step: one out of the visible tree ends the walk,
// and so does a link that must not be read. The caller closes the place.
func (f *FS) resolve(op, asked string, follow bool) (*place, error) {
	abs, err := f.absolute(op, asked)
	if err != nil {
		return nil, err
	}
	w := &walk{f: f, op: op, at: none, follow: follow}
	w.p = &place{Path: Path{Asked: asked}, dir: none, self: none}
	err = w.run(abs)
	w.at.close()
	if err == nil {
		err = w.p.standsStill()
	}
	if err != nil {
		w.p.close()
		return nil, err
	}
	w.p.wantsDir = follow && (strings.HasSuffix(asked, "/") || strings.HasSuffix(asked, "/."))
	if w.p.wantsDir && w.p.exists() && !w.p.node.mode.IsDir() {
		w.p.broken = syscall.ENOTDIR
	}
	return w.p, nil
}

// run walks until something is found or missing.
func (w *walk) run(abs string) error {
	if err := w.start(abs); err != nil {
		return err
	}
	for {
		c, more := w.next()
		var err error
		switch {
		case !more:
			return w.arriveInside()
		case c.name == "..":
			err = w.reopen(path.Dir(w.path))
		default:
			var done bool
			if done, err = w.step(c); done {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// start goes to the directory of a path in one call where no link is in the
// way, otherwise to the top.
func (w *walk) start(abs string) error {
	w.push(abs, false)
	dots := slices.ContainsFunc(w.pending, func(c component) bool { return c.name == ".." })
	if n := len(w.pending) - 1; n > 0 && !dots {
		clean := path.Clean(abs)
		if w.f.rules.Locate(clean) == scope.Within {
			if at, err := w.f.descend(path.Dir(clean)[1:]); err == nil {
				w.enter(at, path.Dir(clean))
				w.pending = w.pending[n:]
				return nil
			}
		}
	}
	return w.reopen("/")
}

// push puts the components of target in front of those that are pending.
func (w *walk) push(target string, linked bool) {
	var front []component
	for name := range strings.SplitSeq(target, "/") {
		if name != "" && name != "." {
			front = append(front, component{name, linked})
		}
	}
	w.pending = append(front, w.pending...)
}

func (w *walk) next() (c component, more bool) {
	if len(w.pending) == 0 {
		return component{}, false
	}
	c, w.pending = w.pending[0], w.pending[1:]
	return c, true
}

// enter makes the directory at, known by its path, the current one.
func (w *walk) enter(at handle, path string) {
	w.at.close()
	w.at, w.path = at, path
}

// reopen goes to a directory the walk has already come through.
func (w *walk) reopen(dir string) error {
	at, err := w.f.descend(dir[1:])
	if err != nil {
		return errMoved
	}
	w.enter(at, dir)
	return nil
}

// step goes to an entry of the current directory.
func (w *walk) step(c component) (done bool, err error) {
	child := path.Join(w.path, c.name)
	if w.f.rules.Locate(child) == scope.Outside {
		return true, w.outside(child)
	}
	if w.leavesUnreadable(child) {
		return true, w.unreadable(child)
	}
	self, err := w.at.child(c.name)
	if err != nil {
		return true, w.end(child, c.linked, err)
	}
	n, err := self.stat()
	last := len(w.pending) == 0
	switch {
	case err != nil:
	case n.isLink() && (w.follow || !last):
		err = w.through(self, child)
	case last:
		w.arrive(child, c.name, self, n)
		return true, nil
	case n.mode.IsDir():
		w.enter(self, child)
		return false, nil
	default:
		self.close()
		return true, w.end(child, false, syscall.ENOTDIR)
	}
	self.close()
	return err != nil, err
}

// arrive ends the walk at an object of the current directory.
func (w *walk) arrive(canonical, name string, self handle, n node) {
	w.p.Canonical, w.p.name, w.p.self, w.p.node = canonical, name, self, n
	w.keepDir()
}

func (w *walk) keepDir() {
	w.p.dir, w.p.dirPath, w.at = w.at, w.path, none
}

// arriveInside ends a walk whose last component was ".." or nothing: at the
// current directory, looked at from above.
func (w *walk) arriveInside() error {
	if w.path == "/" {
		n, err := w.at.stat()
		w.p.Canonical, w.p.self, w.p.node, w.at = "/", w.at, n, none
		return err
	}
	child, name := w.path, path.Base(w.path)
	if err := w.reopen(path.Dir(child)); err != nil {
		return err
	}
	self, err := w.at.child(name)
	if err != nil {
		return errMoved
	}
	n, err := self.stat()
	if err != nil || !n.mode.IsDir() {
		self.close()
		return errMoved
	}
	w.arrive(child, name, self, n)
	return nil
}

// through puts what the link at child says in front of the rest. The link's
// own place must be readable.
func (w *walk) through(self handle, child string) error {
	if w.f.rules.Locate(child) != scope.Within {
		return w.outside(child)
	}
	if !w.f.rights(w.at, child).Has(scope.R) {
		return w.unreadable(child)
	}
	w.links++
	w.p.link = child
	target, err := self.readlink()
	if err != nil {
		return errMoved
	}
	if w.links > maxLinks {
		return fault.New(fault.FSLinkLoop, w.op, "path", w.p.Asked, "resolved", child)
	}
	if strings.HasPrefix(target, "/") {
		w.push(w.f.logical(target), true)
		return w.reopen("/")
	}
	w.push(target, true)
	return nil
}

// end ends a walk that cannot go on at child. The rest of the path is judged
// by its words alone, so that the verdict is the same for what exists and for
// what does not.
func (w *walk) end(child string, linked bool, cause error) error {
	w.p.missing = []string{path.Base(child)}
	at := child
	for c, more := w.next(); more; c, more = w.next() {
		if c.name == ".." {
			if !w.passable(at) {
				return w.unreadable(at)
			}
			at, w.p.broken = path.Dir(at), cause
			continue
		}
		at = path.Join(at, c.name)
		w.p.missing = append(w.p.missing, c.name)
		if w.f.rules.Locate(at) == scope.Outside {
			return w.outside(at)
		}
	}
	w.p.Canonical, w.p.name = at, w.p.missing[0]
	w.p.dangling = linked && errors.Is(cause, fs.ErrNotExist)
	if !errors.Is(cause, fs.ErrNotExist) {
		w.p.broken = cause
	}
	if w.p.broken != nil {
		w.p.missing = nil
	}
	w.keepDir()
	return nil
}

// leavesUnreadable reports whether the path goes into child and out again
// although child must not be read: it would tell what exists there.
func (w *walk) leavesUnreadable(child string) bool {
	depth := 0
	for _, c := range w.pending {
		if c.name != ".." {
			depth++
			continue
		}
		if depth == 0 {
			return !w.passable(child)
		}
		depth--
	}
	return false
}

// passable reports whether a path may come out of dir again.
func (w *walk) passable(dir string) bool {
	return w.f.rules.Locate(dir) == scope.Above || w.f.rights(none, dir).Has(scope.R)
}

// rest is where the path would lead from child if no link were in the way.
func (w *walk) rest(child string) string {
	for c, more := w.next(); more; c, more = w.next() {
		child = path.Join(child, c.name)
	}
	return child
}

func (w *walk) outside(child string) error {
	return w.f.refuse(w.op, fault.FSOutsideWorkspace, w.p.Asked, w.rest(child), w.p.link, scope.R)
}

func (w *walk) unreadable(child string) error {
	return w.f.refuse(w.op, fault.FSOutOfScope, w.p.Asked, w.rest(child), w.p.link, scope.R)
}
