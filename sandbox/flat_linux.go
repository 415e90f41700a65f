package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/namespace"
	"sunaba/scope"
)

// maxFlat bounds how many names directories under rules that are not recursive
// may hold together: each file among them is a kernel rule of its own.
const maxFlat = 4096

// flats are the directories under allow rules that are not recursive.
type flats struct {
	rules *policy.Rules
	dirs  []string
	first map[string]unix.Stat_t // what stood in them when the tree had been narrowed
	seen  map[string]unix.Stat_t // what stood in them when rules were made last
}

func newFlats(l *layout, e *policy.Effective) (*flats, error) {
	f := &flats{}
	for _, a := range l.areas {
		if a.flat && a.cap != 0 {
			f.dirs = append(f.dirs, a.path)
		}
	}
	slices.SortFunc(f.dirs, func(a, b string) int { return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b)) })
	f.dirs = slices.Compact(f.dirs)
	if len(f.dirs) == 0 && len(l.flat) == 0 {
		return f, nil // nobody will ask
	}
	var err error
	f.rules, err = e.Rules()
	return f, err
}

// narrow takes away from the directories in flat areas what only their parent
// was granted, outer before inner.
func (f *flats) narrow(b *builder, l *layout) {
	for _, dir := range f.dirs {
		if b.err != nil {
			return
		}
		names, err := b.directories(dir)
		b.do(err)
		for _, name := range names {
			c := path.Join(dir, name)
			deep := f.rules.CapabilityAt(inside(c))
			own, listed := l.granted(c)
			switch deep |= own; {
			case deep.Has(scope.W):
			case deep.Has(scope.R):
				b.over(c, l.beneath(c, scope.W), false)
			case !listed:
				b.over(c, l.beneath(c, scope.R), true)
			}
		}
	}
}

// beneath returns the outermost areas strictly beneath c that grant want.
func (l *layout) beneath(c string, want scope.Capability) []string {
	var out []string
	for _, a := range l.areas {
		if a.cap.Has(want) && a.path != c && within(a.path, c) {
			out = append(out, a.path)
		}
	}
	slices.Sort(out)
	kept := out[:0]
	for _, p := range out {
		if len(kept) == 0 || !within(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// directories returns the names of the directories in dir of the tree, in
// order; none where dir is no directory.
func (b *builder) directories(dir string) ([]string, error) {
	entries, err := b.entries(dir)
	var out []string
	for _, d := range entries {
		if d.IsDir() {
			out = append(out, d.Name())
		}
	}
	return out, err
}

func (b *builder) entries(dir string) ([]fs.DirEntry, error) {
	at, err := b.tree.At(dir)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	return limited(d)
}

// limited lists d, which must not hold more than can be ruled one by one.
func limited(d *os.File) ([]fs.DirEntry, error) {
	entries, err := d.ReadDir(maxFlat + 1)
	if err != nil && len(entries) == 0 {
		return nil, nil // empty
	}
	if len(entries) > maxFlat {
		return nil, fmt.Errorf("%s: more than %d names under a rule of sandbox.scope with recursive: false", d.Name(), maxFlat)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// over covers the directory at c read-only, or with an empty one, and shows in
// it the parts as they were.
func (b *builder) over(c string, parts []string, empty bool) {
	if b.err != nil {
		return
	}
	type part struct {
		source
		path string
	}
	var open []part
	for _, p := range parts {
		at, err := b.tree.At(p)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue // nothing there to be shown
		}
		var st unix.Stat_t
		if err == nil {
			err = unix.Fstat(at, &st)
		}
		if b.do(err); err != nil {
			return
		}
		open = append(open, part{source{fd: at, file: st.Mode&unix.S_IFMT != unix.S_IFDIR}, p})
	}
	if !empty {
		b.cover(c, namespace.ReadOnly)
	} else {
		m, err := namespace.NewFS("tmpfs", namespace.NoSUID|namespace.NoDev|namespace.NoExec, "size=64k", "mode=0755")
		if err != nil {
			b.do(err)
			return
		}
		for _, p := range open {
			b.do(skeleton(m, strings.TrimPrefix(p.path, c+"/"), p.file))
		}
		b.do(namespace.SetAttr(m, namespace.ReadOnly, false))
		b.do(b.tree.Place(m, c))
	}
	for _, p := range open {
		b.bind(p.source, p.path, namespace.NoSUID|namespace.NoDev)
	}
}

// skeleton makes rel with its parents in the detached mount m.
func skeleton(m int, rel string, file bool) error {
	for i, c := range rel + "/" {
		if c != '/' {
			continue
		}
		var err error
		if file && i == len(rel) {
			err = unix.Mknodat(m, rel, unix.S_IFREG|0o444, 0)
		} else {
			err = unix.Mkdirat(m, rel[:i], 0o755)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make %s: %w", rel, err)
		}
	}
	return nil
}

// reopen covers p read-only and leaves the directories that stand in it, and
// may be written to, as they were.
func (f *flats) reopen(b *builder, p string) {
	names, err := b.directories(p)
	b.do(err)
	var parts []string
	for _, name := range names {
		if c := path.Join(p, name); f.rules.CapabilityAt(inside(c)).Has(scope.W) {
			parts = append(parts, c)
		}
	}
	b.over(p, parts, false)
}

// look returns what stands in the flat areas now, by path.
func (f *flats) look() (map[string]unix.Stat_t, error) {
	now := make(map[string]unix.Stat_t)
	for _, dir := range f.dirs {
		d, err := os.Open(dir)
		if err != nil {
			continue // nothing there to grant
		}
		entries, err := limited(d)
		d.Close()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			var st unix.Stat_t
			p := path.Join(dir, e.Name())
			if unix.Lstat(p, &st) == nil {
				now[p] = unix.Stat_t{Dev: st.Dev, Ino: st.Ino, Mode: st.Mode & unix.S_IFMT}
			}
		}
	}
	if len(now) > maxFlat {
		return nil, fmt.Errorf("more than %d names under rules of sandbox.scope with recursive: false", maxFlat)
	}
	return now, nil
}

// changed reports whether the grants no longer fit what stands there.
func (f *flats) changed() (bool, error) {
	if len(f.dirs) == 0 {
		return false, nil
	}
	now, err := f.look()
	return err == nil && !maps.Equal(now, f.seen), err
}

// grants returns the commands' rules for the flat areas: each file by itself,
// and the listing where everything beneath it may be listed or is narrowed.
func (f *flats) grants() ([]grant, error) {
	var err error
	if f.seen, err = f.look(); err != nil {
		return nil, err
	}
	if f.first == nil {
		f.first = f.seen
	}
	var out []grant
	for _, dir := range f.dirs {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			out = append(out, grant{dir, landlock.ForCommands(f.rules.CapabilityAt(dir)), true}) // a file is all there is
			continue
		}
		if f.rules.CapabilityAt(dir).Has(scope.R) && !f.later(dir) {
			out = append(out, grant{path: dir, access: landlock.List})
		}
	}
	for p, st := range f.seen {
		if st.Mode != unix.S_IFDIR && st.Mode != unix.S_IFLNK {
			out = append(out, grant{p, landlock.ForCommands(f.rules.CapabilityAt(p)), true})
		}
	}
	return out, nil
}

// later reports whether a directory came to lie beneath dir since the tree was
// made that must not be listed, as a rule on dir would allow; what the host put
// in the place of another one is no longer covered.
func (f *flats) later(dir string) bool {
	for p, st := range f.seen {
		if st.Mode == unix.S_IFDIR && p != dir && within(p, dir) && f.first[p] != st && !f.rules.CapabilityAt(inside(p)).Has(scope.R) {
			return true
		}
	}
	return false
}
