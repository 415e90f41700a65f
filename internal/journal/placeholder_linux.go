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

// MakePlaceholder makes an empty file, or directory, at path, which must be
// absolute and without links. An existing path is fs.exists: no placeholder is
// needed then. It belongs to the owner of the parent directory, and host
// programs see an empty file until Remove.
func MakePlaceholder(run *Run, path string, dir bool) (*Placeholder, error) {
	parent, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, placeholderFault(err, path)
	}
	p, err := makeIn(run, parent, path, dir)
	if err != nil {
		parent.Close()
		return nil, err
	}
	return p, nil
}

func makeIn(run *Run, parent *os.File, path string, dir bool) (*Placeholder, error) {
	var st unix.Stat_t
	if err := stat(parent, filepath.Base(path), &st); err == nil {
		return nil, fault.New(fault.FSExists, "placeholder", "path", path)
	} else if !missing(err) {
		return nil, placeholderFault(err, path)
	}
	e := Entry{Kind: KindPlaceholder, Path: path, Temp: tempPrefix + rand.Text(), Dir: dir}
	id, err := run.Add(e)
	if err != nil {
		return nil, err
	}
	e.ID = id
	p := &Placeholder{run: run, entry: e, parent: parent}
	if err := p.make(); err != nil {
		return nil, errors.Join(err, p.clear())
	}
	return p, nil
}

// make performs steps 2 to 4.
func (p *Placeholder) make() error {
	var st, owner unix.Stat_t
	fd, name := int(p.parent.Fd()), filepath.Base(p.entry.Path)
	err := create(fd, p.entry.Temp, p.entry.Dir)
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
	if err := p.run.Made(p.entry.ID, uint64(st.Dev), st.Ino); err != nil {
		return err
	}
	p.entry.Device, p.entry.Inode = uint64(st.Dev), st.Ino
	err = unix.Renameat2(fd, p.entry.Temp, fd, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) && !p.entry.Dir { // a file system without NOREPLACE
		if err = unix.Linkat(fd, p.entry.Temp, fd, name, 0); err == nil {
			err = unix.Unlinkat(fd, p.entry.Temp, 0)
		}
	}
	switch {
	case errors.Is(err, unix.EEXIST):
		return fault.Wrap(err, fault.FSExists, "placeholder", "path", p.entry.Path)
	case err != nil:
		return placeholderFault(err, p.entry.Path)
	}
	return nil
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
		if err := removeIf(parent, e.Temp, e.Dir, func(*unix.Stat_t) bool { return true }); err != nil {
			return err
		}
	}
	if e.Inode == 0 {
		return nil
	}
	return removeIf(parent, filepath.Base(e.Path), e.Dir, func(st *unix.Stat_t) bool {
		return uint64(st.Dev) == e.Device && st.Ino == e.Inode
	})
}

// removeIf removes name if it is an empty file, or directory, and ours.
func removeIf(parent *os.File, name string, dir bool, ours func(*unix.Stat_t) bool) error {
	var st unix.Stat_t
	if err := stat(parent, name, &st); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	isDir, isFile := st.Mode&unix.S_IFMT == unix.S_IFDIR, st.Mode&unix.S_IFMT == unix.S_IFREG
	if isDir != dir || (!dir && (!isFile || st.Size != 0)) || !ours(&st) {
		return nil
	}
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	err := retry(func() error { return unix.Unlinkat(int(parent.Fd()), name, flags) })
	if missing(err) || dir && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)) {
		return nil
	}
	return err
}

func create(parent int, name string, dir bool) error {
	if dir {
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
	return unix.Close(fd)
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
