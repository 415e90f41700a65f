package broker

import (
	"os"
	"syscall"
	"time"
)

// changedAt is when the content, name or mode of a file was last changed, which
// nobody without rights over the clock can set.
func changedAt(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
