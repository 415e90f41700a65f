package scopedfs

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A handle is a place in the file system that neither renames nor links can
// exchange: an O_PATH descriptor.
type handle int

// none is no handle; closing it does nothing.
const none handle = -1

const pathOnly = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openTop opens the top of the visible tree.
func openTop() (handle, error) { return none.openat("/", pathOnly|unix.O_DIRECTORY, 0) }

func (h handle) close() {
	if h != none {
		unix.Close(int(h))
	}
}

// openat is the system call, repeated when a signal came in between.
func (h handle) openat(name string, flags int, mode uint32) (handle, error) {
	for {
		fd, err := unix.Openat(int(h), name, flags|unix.O_CLOEXEC, mode)
		if err == nil {
			return handle(fd), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return none, err
		}
	}
}

// child opens the entry name of directory h itself, be it a link.
func (h handle) child(name string) (handle, error) { return h.openat(name, pathOnly, 0) }

// descend opens the directory rel beneath h; no component may be a link.
func (h handle) descend(rel string) (handle, error) {
	if rel == "" {
		rel = "."
	}
	how := unix.OpenHow{
		Flags:   pathOnly | unix.O_DIRECTORY,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(int(h), rel, &how)
		switch {
		case err == nil:
			return handle(fd), nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // a rename came in between
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			return h.descendByName(rel) // before Linux 5.6, behind a filter, or deeper than PATH_MAX
		default:
			return none, err
		}
	}
}

// descendByName is descend with one call for each component.
func (h handle) descendByName(rel string) (handle, error) {
	at, err := h.openat(".", pathOnly|unix.O_DIRECTORY, 0)
	for name := range strings.SplitSeq(rel, "/") {
		if err != nil {
			break
		}
		above := at
		at, err = above.openat(name, pathOnly|unix.O_DIRECTORY, 0)
		above.close()
	}
	return at, err
}

// readlink returns what the link h says.
func (h handle) readlink() (string, error) {
	return target(func(buf []byte) (int, error) { return unix.Readlinkat(int(h), "", buf) })
}

// realPath returns where h lies now by the kernel's account, or "" when nobody
// can tell: without /proc, or beyond the length of a path.
func (h handle) realPath() string {
	path := "/proc/self/fd/" + strconv.Itoa(int(h))
	real, err := target(func(buf []byte) (int, error) { return unix.Readlink(path, buf) })
	if err != nil {
		return ""
	}
	return real
}

// target calls read with growing buffers until the answer fits.
func target(read func([]byte) (int, error)) (string, error) {
	var short [256]byte
	for buf := short[:]; ; buf = make([]byte, unix.PathMax) {
		n, err := read(buf)
		switch {
		case err != nil:
			return "", err
		case n < len(buf):
			return string(buf[:n]), nil
		case n == unix.PathMax:
			return "", unix.ENAMETOOLONG
		}
	}
}

// open opens the entry name of directory h for real. It neither follows a link
// nor waits for the other end of a FIFO. path names the result in messages.
func (h handle) open(name, path string, access int) (*os.File, error) {
	fd, err := h.openat(name, access|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, access); err != nil { // the files that are kept never wait
		fd.close()
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (h handle) openRead(name, path string) (*os.File, error) {
	return h.open(name, path, unix.O_RDONLY)
}

func (h handle) openWrite(name, path string) (*os.File, error) {
	return h.open(name, path, unix.O_WRONLY)
}

// openDir opens the directory name of directory h for reading; "." is h itself.
func (h handle) openDir(name, path string) (*os.File, error) {
	fd, err := h.openat(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// create makes the file name in directory h, which must not hold that name, with
// mode as far as the process's mask lets it.
func (h handle) create(name string, mode uint32) (*os.File, error) {
	fd, err := h.openat(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (h handle) mkdir(name string) error  { return unix.Mkdirat(int(h), name, 0o777) }
func (h handle) unlink(name string) error { return unix.Unlinkat(int(h), name, 0) }
func (h handle) rmdir(name string) error  { return unix.Unlinkat(int(h), name, unix.AT_REMOVEDIR) }

// exchange lets the two names of directory h change places in one step.
func (h handle) exchange(a, b string) error {
	return unix.Renameat2(int(h), a, int(h), b, unix.RENAME_EXCHANGE)
}

// replace moves name onto another name of directory h.
func (h handle) replace(from, to string) error {
	return unix.Renameat(int(h), from, int(h), to)
}

// move moves name of directory h to toName of to, which must not hold it.
func (h handle) move(name string, to handle, toName string) error {
	err := unix.Renameat2(int(h), name, int(to), toName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not every file system can
		return h.moveInSteps(name, to, toName)
	}
	return err
}

// moveInSteps is move by calls that every file system has and that replace
// nothing either: a second link, or an empty directory to rename over.
func (h handle) moveInSteps(name string, to handle, toName string) error {
	err := unix.Linkat(int(h), name, int(to), toName, 0)
	if err == nil {
		return h.unlink(name)
	}
	if !errors.Is(err, unix.EPERM) { // what Linux says of directories
		return err
	}
	if err := to.mkdir(toName); err != nil {
		return err
	}
	if err := unix.Renameat(int(h), name, int(to), toName); err != nil {
		return errors.Join(err, to.rmdir(toName))
	}
	return nil
}

// stat tells about h itself.
func (h handle) stat() (node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return node{}, err
	}
	return nodeOf(&st), nil
}

// lookup tells about the entry name of directory h, not following a link.
func (h handle) lookup(name string) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return node{}, err
	}
	return nodeOf(&st), nil
}

// onHandle gives f's descriptor for calls on it; f must stay reachable.
func onHandle(f *os.File) handle { return handle(f.Fd()) }
