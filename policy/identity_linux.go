package policy

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func (i *Identity) addInode(info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		i.Device, i.Inode = s.Dev, s.Ino
		i.CTime = time.Unix(s.Ctim.Sec, s.Ctim.Nsec).UTC()
	}
}

// openResolved opens a path that holds no links; one that was put there since
// is an error. A FIFO does not block.
func openResolved(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// kernelTrees are not files in the sense of a root: what lies there acts on
// the system.
func kernelTrees() []string { return []string{"/proc", "/sys", "/dev"} }

// systemTrees are exposed to every command by the sandbox itself (S1-200).
func systemTrees() []string { return []string{"/usr"} }
