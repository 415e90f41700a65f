package scopedfs

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func nodeOf(st *unix.Stat_t) node {
	return node{
		device: uint64(st.Dev), inode: st.Ino, links: uint64(st.Nlink),
		mode: modeOf(st.Mode), size: st.Size,
		modified: time.Unix(st.Mtim.Unix()),
		changed:  time.Unix(st.Ctim.Unix()),
		owner:    int(st.Uid), group: int(st.Gid),
	}
}

// modeOf turns st_mode into Go's form.
func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// typeOf turns the type of a directory entry into Go's form; ok is false when
// the file system does not tell.
func typeOf(d uint8) (mode fs.FileMode, ok bool) {
	if d == unix.DT_UNKNOWN {
		return 0, false
	}
	return modeOf(uint32(d) << 12).Type(), true
}

// dress gives a new file the owner, the mode and the extended attributes of
// the one it will replace. It reports false when one of them cannot be had, so
// that the caller writes in place instead of losing it.
func dress(made *os.File, old *os.File, like node) bool {
	fd := int(made.Fd())
	now, err := onHandle(made).stat()
	if err != nil {
		return false
	}
	if now.owner != like.owner || now.group != like.group {
		if unix.Fchown(fd, like.owner, like.group) != nil {
			return false
		}
	}
	if made.Chmod(like.mode) != nil { // after chown, which clears set-id bits
		return false
	}
	return copyAttributes(fd, int(old.Fd()))
}

// maxAttributes bounds the names and each value of extended attributes that
// are copied; the kernel's own bound is the same.
const maxAttributes = 64 << 10

func copyAttributes(to, from int) bool {
	n, err := unix.Flistxattr(from, nil)
	if err != nil || n == 0 {
		return err == nil || err == unix.ENOTSUP
	}
	names := make([]byte, maxAttributes)
	if n, err = unix.Flistxattr(from, names); err != nil {
		return false
	}
	value := make([]byte, maxAttributes)
	for _, name := range zeroSeparated(names[:n]) {
		size, err := unix.Fgetxattr(from, name, value)
		if err != nil || unix.Fsetxattr(to, name, value[:size], 0) != nil {
			return false
		}
	}
	return true
}

func zeroSeparated(b []byte) (words []string) {
	for len(b) > 0 {
		word := unix.ByteSliceToString(b)
		words = append(words, word)
		b = b[min(len(word)+1, len(b)):]
	}
	return words
}
