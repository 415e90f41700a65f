// Package namespace builds the file tree of a sandbox out of detached mounts
// and moves into it.
//
// The one rule to keep in mind: every source and every target is opened by
// handle without following links; a path is never looked up twice
// (CVE-2026-87766: a link planted at a mount target for the next start).
package namespace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/ablation"
)

// Attr are mount flags to add; flags are never taken away.
type Attr uint64

// The flags a placed mount may carry.
const (
	ReadOnly Attr = unix.MOUNT_ATTR_RDONLY
	NoExec   Attr = unix.MOUNT_ATTR_NOEXEC
	NoDev    Attr = unix.MOUNT_ATTR_NODEV
	NoSUID   Attr = unix.MOUNT_ATTR_NOSUID
)

// held is a without what a test build leaves out.
func (a Attr) held() Attr {
	for flag, name := range map[Attr]string{ReadOnly: "read-only mounts", NoExec: "noexec mounts", NoDev: "nodev mounts", NoSUID: "nosuid mounts"} {
		if ablation.Off(name) {
			a &^= flag
		}
	}
	return a
}

// Open opens an absolute path of the present tree as a handle, refusing links
// in every component.
func Open(p string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", p, err)
	}
	return fd, nil
}

// Private cuts mount propagation to and from the host.
func Private() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// Clone makes a detached copy of the mount tree at handle fd with attr added.
func Clone(fd int, attr Attr) (int, error) {
	m, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("clone mount: %w", err)
	}
	if err := SetAttr(m, attr, true); err != nil {
		return -1, errors.Join(err, unix.Close(m))
	}
	return m, nil
}

// SetAttr adds flags to the mount at handle m, or to its whole tree.
func SetAttr(m int, attr Attr, recursive bool) error {
	attr = attr.held()
	flags := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	if err := unix.MountSetattr(m, "", flags, &unix.MountAttr{Attr_set: uint64(attr)}); err != nil {
		return fmt.Errorf("set mount flags: %w", err)
	}
	return nil
}

// NewFS makes a detached mount of a new file system of the given type;
// options are key=value pairs or words.
func NewFS(kind string, attr Attr, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("new %s: %w", kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		k, v, has := strings.Cut(o, "=")
		if has {
			err = unix.FsconfigSetString(fs, k, v)
		} else {
			err = unix.FsconfigSetFlag(fs, k)
		}
		if err != nil {
			return -1, fmt.Errorf("new %s: %s: %w", kind, o, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("new %s: %w", kind, err)
	}
	m, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, int(attr.held()))
	if err != nil {
		return -1, fmt.Errorf("new %s: %w", kind, err)
	}
	return m, nil
}

// Tree is the root a sandbox will live in, while it is being built.
type Tree struct{ root int }

// NewTree attaches an empty tmpfs at an existing directory of the present tree
// and returns it. Sources hidden by it must have been opened before.
func NewTree(at string, sizeBytes int64) (*Tree, error) {
	m, err := NewFS("tmpfs", NoDev|NoSUID, fmt.Sprintf("size=%d", sizeBytes), "mode=0755")
	if err != nil {
		return nil, err
	}
	if err := unix.MoveMount(m, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return nil, errors.Join(fmt.Errorf("attach root: %w", err), unix.Close(m))
	}
	return &Tree{root: m}, nil
}

// At opens a path of the tree as a handle, refusing escapes and links on the
// way; a link at the end is opened itself, so that it can be covered: a link
// that leads to what is protected must stay where it is, too.
func (t *Tree) At(p string) (int, error) {
	rel := strings.TrimPrefix(path.Clean(p), "/")
	if rel == "" {
		rel = "."
	}
	fd, err := unix.Openat2(t.root, rel, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("in the tree: %s: %w", p, err)
	}
	return fd, nil
}

// Mkdir makes a directory and its parents; existing ones stay as they are.
func (t *Tree) Mkdir(p string) error {
	var done string
	for name := range strings.SplitSeq(strings.Trim(path.Clean(p), "/"), "/") {
		parent, err := t.At("/" + done)
		if err != nil {
			return err
		}
		err = unix.Mkdirat(parent, name, 0o755)
		unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("in the tree: make %s: %w", p, err)
		}
		done = path.Join(done, name)
	}
	return nil
}

// WriteFile makes a new file with the given content.
func (t *Tree) WriteFile(p, content string) error {
	parent, err := t.At(path.Dir(p))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	fd, err := unix.Openat(parent, path.Base(p), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("in the tree: make %s: %w", p, err)
	}
	f := os.NewFile(uintptr(fd), p)
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// Chmod sets the mode of a file of the tree's own.
func (t *Tree) Chmod(p string, mode uint32) error {
	if err := unix.Fchmodat(t.root, strings.TrimPrefix(path.Clean(p), "/"), mode, 0); err != nil {
		return fmt.Errorf("in the tree: mode of %s: %w", p, err)
	}
	return nil
}

// Symlink makes a link.
func (t *Tree) Symlink(target, p string) error {
	parent, err := t.At(path.Dir(p))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := unix.Symlinkat(target, parent, path.Base(p)); err != nil {
		return fmt.Errorf("in the tree: link %s: %w", p, err)
	}
	return nil
}

// Place attaches the detached mount m over the existing path p and closes m.
func (t *Tree) Place(m int, p string) error {
	at, err := t.At(p)
	if err != nil {
		return errors.Join(err, unix.Close(m))
	}
	defer unix.Close(at)
	err = unix.MoveMount(m, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err = errors.Join(err, unix.Close(m)); err != nil {
		return fmt.Errorf("place mount at %s: %w", p, err)
	}
	return nil
}

// Cover binds what stands at p of the tree over itself with attr added: a pin
// that makes renaming p impossible, or a narrower area inside a wider one.
func (t *Tree) Cover(p string, attr Attr) error {
	fd, err := t.At(p)
	if err != nil {
		return err
	}
	m, err := Clone(fd, attr)
	unix.Close(fd)
	if err != nil {
		return fmt.Errorf("cover %s: %w", p, err)
	}
	return t.Place(m, p)
}

// Enter makes the tree the root of this mount namespace, detaches everything
// else, and freezes the tree's own directories.
func (t *Tree) Enter() error {
	defer unix.Close(t.root)
	if err := unix.Fchdir(t.root); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the host's tree: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	return SetAttr(t.root, ReadOnly|NoDev|NoSUID, false)
}
