package scopedfs

import (
	"errors"
	"sync"

	"sunaba/fault"
	"sunaba/scope"
)

// FS is file access under Rules. It keeps one handle, on the top of the
// visible tree; Close gives it back. An FS may be used by many goroutines.
//
// Its methods decide in a fixed order (C-80): outside_workspace, out_of_scope,
// hard_link and dangling_link, read_only, no_delete, no_execute, then what the
// file system says. Whether something outside exists never shows.
type FS struct {
	rules Rules
	o     Options
	mu    sync.RWMutex // guards top
	top   handle
	folds func(dir handle) bool // whether dir takes "A" and "a" for one name
}

// Open returns an FS that asks rules about every path. On systems without an
// implementation it fails with platform.unsupported.
func Open(rules Rules, o Options) (*FS, error) {
	if rules == nil {
		return nil, fault.New(fault.FSOutOfScope, "open", "path", o.Pwd, "resolved", o.Pwd, "rule", "", "source", "")
	}
	top, err := openTop()
	if err != nil {
		return nil, err
	}
	return &FS{rules: rules, o: o, top: top, folds: foldsNames}, nil
}

// Close gives back the FS's handle; files it has opened stay open. What is under
// way may end or be refused, what comes later is refused.
func (f *FS) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.top.close()
	f.top = none
	return nil
}

// descend opens the directory rel beneath the top. Holding the lock keeps the
// number of a closed handle, which the system gives away again, from being used.
func (f *FS) descend(rel string) (handle, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.top.descend(rel)
}

// errMoved says that the tree changed between two looks at it: look again.
var errMoved = errors.New("scopedfs: the tree changed meanwhile")

// maxAttempts bounds how often an act starts again because the tree changed
// under it. One attempt takes some ten microseconds.
const maxAttempts = 64

// settle runs act until it meets a tree that stands still.
func (f *FS) settle(op, asked string, act func() error) error {
	for range maxAttempts {
		if err := act(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return fault.Wrap(errMoved, fault.FSChanged, op, "path", asked, "resolved", asked)
}

// folder is what Rules may offer for volumes that do not tell upper from lower
// case: the rights on path when denies hold for every such spelling (C-66).
type folder interface {
	CapabilityFolded(path string) scope.Capability
}

// beneathFolder is what Rules may offer for such volumes: DeniedBeneath for
// every case in which dir can be written.
type beneathFolder interface {
	DeniedBeneathFolded(dir string) (target string, denied bool)
}

// passage is what Rules may offer for directories that may not be read but lead
// to what may be read: a search passes through them (S0-87, S0-88).
type passage interface {
	LeadsOn(dir string) bool
}

// leadsOn reports whether a search may pass through directory dir, which must
// not be read itself.
func (f *FS) leadsOn(dir string) bool {
	by, ok := f.rules.(passage)
	return ok && by.LeadsOn(dir)
}

// rights returns what holds on the entry path of directory dir. The volume is
// asked only where its answer matters.
func (f *FS) rights(dir handle, path string) scope.Capability {
	c := f.rules.CapabilityAt(path)
	if by, ok := f.rules.(folder); ok && c != 0 {
		if folded := by.CapabilityFolded(path); folded != c && (dir == none || f.folds(dir)) {
			return folded
		}
	}
	return c
}
