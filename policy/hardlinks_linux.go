package policy

import (
	"os"
	"syscall"
)

// namesAreCounted: the system says how many names a file has.
const namesAreCounted = true

// inode tells one file of this machine from all others.
type inode struct{ device, number uint64 }

// severalNames returns which file info is of, and whether it has more than one
// name.
func severalNames(info os.FileInfo) (inode, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{uint64(st.Dev), st.Ino}, st.Nlink > 1
}
