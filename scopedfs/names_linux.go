package scopedfs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxNames bounds what is read of one directory.
const maxNames = 1 << 18

// name is one entry of a directory as the system lists it.
type name struct {
	text string
	kind fs.FileMode // type bits
	sure bool        // the file system told the kind

	passing bool // only to be passed through, see FS.leadsOn
}

// names lists the open directory dir in the system's order, without "." and
// "..". more reports that it was too long to be read to its end.
func names(dir *os.File) (list []name, more bool, err error) {
	const header = int(unsafe.Offsetof(unix.Dirent{}.Name))
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(int(dir.Fd()), buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return list, false, err
		}
		for rest := buf[:n]; len(rest) > header; {
			size := int(binary.NativeEndian.Uint16(rest[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
			if size <= header || size > len(rest) {
				return list, false, unix.EIO
			}
			text := unix.ByteSliceToString(rest[header:size])
			kind, sure := typeOf(rest[unsafe.Offsetof(unix.Dirent{}.Type)])
			if text != "." && text != ".." {
				list = append(list, name{text: text, kind: kind, sure: sure})
			}
			rest = rest[size:]
		}
		if len(list) >= maxNames {
			return list, true, nil
		}
	}
}
