package journal

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sunaba/fault"
)

// Placeholders are made in four steps, each of which a crash may be the last:
//
//	1. the intent is journalled, with a random private name beside the path
//	2. the empty file or directory is made exclusively under that name
//	3. its device and inode are journalled
//	4. it is renamed to the path, which must not exist
//
// So whatever bears the private name is ours, and what bears the path is ours
// exactly if it is that inode: nothing else is ever removed (C-84).

// tempPrefix begins every private name.
const tempPrefix = ".agent-mcp-"

// Placeholder is one made placeholder. It keeps its parent directory open, so
// that it is found again even when that was moved. Not for concurrent use.
type Placeholder struct {
	run    *Run
	entry  Entry
	parent *os.File
}

// Path returns where the placeholder stands.
func (p *Placeholder) Path() string { return p.entry.Path }

// Want is a placeholder to make: an empty directory, or a file that is empty or
// has the given content.
type Want struct {
	Path    string // absolute and without links
	Dir     bool
	Content string // for a path whose readers an empty file would break
}

// MakePlaceholders makes the wanted placeholders and returns those it made:
// where something exists already, no placeholder is needed. They belong to the
// owner of their parent directories, and host programs see them until Remove.
// Made together, they cost two syncs together. When one fails, none remains.
func MakePlaceholders(run *Run, wants ...Want) (made []*Placeholder, err error) {
	var all []*Placeholder
	defer func() {
		for _, p := range slices.Backward(all) {
			if err != nil || !slices.Contains(made, p) {
				err = errors.Join(err, p.Remove())
			}
		}
		if err != nil {
			made = nil
		}
	}()
	var entries []Entry
	for _, w := range wants {
		parent, err := openDir(filepath.Dir(w.Path))
		if err != nil {
			return nil, placeholderFault(err, w.Path)
		}
		p := &Placeholder{run: run, parent: parent, entry: Entry{
			Kind: KindPlaceholder, Path: w.Path, Temp: tempPrefix + rand.Text(), Dir: w.Dir, Content: w.Content,
		}}
		all = append(all, p)
		var st unix.Stat_t
		if err := stat(parent, filepath.Base(w.Path), &st); err == nil {
			continue
		} else if !missing(err) {
			return nil, placeholderFault(err, w.Path)
		}
		made, entries = append(made, p), append(entries, p.entry)
	}
	if len(made) == 0 {
		return nil, nil
	}
	if entries, err = run.Add(entries...); err != nil {
		return nil, err
	}
	for i, p := range made {
		p.entry = entries[i]
		if err := p.create(); err != nil {
			return nil, err
		}
		entries[i] = p.entry
	}
	if err := run.Made(entries...); err != nil {
		return nil, err
	}
	var placed []*Placeholder
	for _, p := range made {
		switch err := p.place(); {
		case err == nil:
			placed = append(placed, p)
		case !errors.Is(err, unix.EEXIST): // else it came into being meanwhile
			return nil, placeholderFault(err, p.entry.Path)
		}
	}
	made = placed
	return made, nil
}

// create is step 2: the placeholder under its private name.
func (p *Placeholder) create() error {
	var st, owner unix.Stat_t
	fd := int(p.parent.Fd())
	err := create(fd, p.entry)
	if err == nil {
		err = stat(p.parent, p.entry.Temp, &st)
	}
	if err == nil {
		err = unix.Fstat(fd, &owner)
	}
	if err == nil && (st.Uid != owner.Uid || st.Gid != owner.Gid) && os.Geteuid() == 0 {
		err = unix.Fchownat(fd, p.entry.Temp, int(owner.Uid), int(owner.Gid), unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return placeholderFault(err, p.entry.Path)
	}
	p.entry.Device, p.entry.Inode = uint64(st.Dev), st.Ino
	return nil
}

// place is step 4: the placeholder gets its name, which must be free.
func (p *Placeholder) place() error {
	fd, name := int(p.parent.Fd()), filepath.Base(p.entry.Path)
	err := unix.Renameat2(fd, p.entry.Temp, fd, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) && !p.entry.Dir { // a file system without NOREPLACE
		if err = unix.Linkat(fd, p.entry.Temp, fd, name, 0); err == nil {
			err = unix.Unlinkat(fd, p.entry.Temp, 0)
		}
	}
	return err
}

// Remove removes the placeholder if it is still that inode and empty, and
// retires its entry; what has become of it otherwise is not ours any more.
// Placeholders within it must have been removed before, or it is an error. A
// second Remove does nothing.
func (p *Placeholder) Remove() error {
	if p.parent == nil {
		return nil
	}
	if err := p.clear(); err != nil {
		return err
	}
	err := p.parent.Close()
	p.parent = nil
	return err
}

func (p *Placeholder) clear() error {
	if p.entry.ID == 0 { // not even journalled: never made
		return nil
	}
	if p.run.beneath(p.entry.Path) { // it would be left, and forgotten, as not empty
		return placeholderFault(unix.ENOTEMPTY, p.entry.Path)
	}
	if err := removeFrom(p.parent, p.entry); err != nil {
		return placeholderFault(err, p.entry.Path)
	}
	return p.run.Retire(p.entry.ID)
}

// beneath reports whether an open entry lies below path.
func (r *Run) beneath(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.open, func(e Entry) bool {
		return strings.HasPrefix(e.Path, path+string(filepath.Separator))
	})
}

// UndoPlaceholder removes what is left of a placeholder after a crash, found
// by its path without following links. A missing directory holds nothing.
func UndoPlaceholder(e Entry) error {
	parent, err := openDir(filepath.Dir(e.Path))
	if missing(err) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // what stands there now is not the directory we worked in
	}
	if err == nil {
		defer parent.Close()
		err = removeFrom(parent, e)
	}
	if err != nil {
		return placeholderFault(err, e.Path)
	}
	return nil
}

func removeFrom(parent *os.File, e Entry) error {
	if strings.HasPrefix(e.Temp, tempPrefix) && !strings.Contains(e.Temp, "/") {
		if err := removeIf(parent, e.Temp, e, func(*unix.Stat_t) bool { return true }); err != nil {
			return err
		}
	}
	if e.Inode == 0 {
		return nil
	}
	return removeIf(parent, filepath.Base(e.Path), e, func(st *unix.Stat_t) bool {
		return uint64(st.Dev) == e.Device && st.Ino == e.Inode
	})
}

// removeIf removes name if it is ours and an empty directory, or a file that is
// empty or holds what it was made with.
func removeIf(parent *os.File, name string, e Entry, ours func(*unix.Stat_t) bool) error {
	var st unix.Stat_t
	if err := stat(parent, name, &st); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	isDir, isFile := st.Mode&unix.S_IFMT == unix.S_IFDIR, st.Mode&unix.S_IFMT == unix.S_IFREG
	if isDir != e.Dir || (!e.Dir && !isFile) || !ours(&st) {
		return nil
	}
	if isFile && st.Size != 0 && !holds(parent, name, e.Content) {
		return nil
	}
	flags := 0
	if isDir {
		flags = unix.AT_REMOVEDIR
	}
	err := retry(func() error { return unix.Unlinkat(int(parent.Fd()), name, flags) })
	if missing(err) || isDir && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)) {
		return nil
	}
	return err
}

// holds reports whether the file name begins with a piece of content and has
// nothing else: a crash may have cut it short.
func holds(parent *os.File, name, content string) bool {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	got := make([]byte, len(content)+1)
	n := 0
	if err := retry(func() (err error) { n, err = unix.Read(fd, got); return err }); err != nil {
		return false
	}
	return strings.HasPrefix(content, string(got[:n]))
}

func create(parent int, e Entry) error {
	name := e.Temp
	if e.Dir {
		return retry(func() error { return unix.Mkdirat(parent, name, 0o755) })
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		return err
	})
	if err != nil {
		return err
	}
	if e.Content != "" {
		_, err = unix.Write(fd, []byte(e.Content))
	}
	return errors.Join(err, unix.Close(fd))
}

func stat(parent *os.File, name string, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstatat(int(parent.Fd()), name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

// openDir opens a directory by a path none of whose components may be a link.
func openDir(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, unix.EINVAL
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func placeholderFault(err error, path string) error {
	return fault.Wrap(err, fault.PlatformState, "placeholder", "case", "placeholder", "path", path)
}
