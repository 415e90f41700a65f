package act

import (
	"maps"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// acts are all of them by name. Arguments are paths, addresses or numbers.
func acts() map[string]func([]string) error {
	all := map[string]func([]string) error{}
	for _, some := range []map[string]func([]string) error{files(), programs(), processes(), calls(), networks(), bombs()} {
		maps.Copy(all, some)
	}
	return all
}

func failed(e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// number reads a decimal or 0x number; acts are given only such.
func number(text string) uintptr {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		panic(err)
	}
	return uintptr(n)
}

// refused reports whether e says that somebody stood in the way, before the
// kernel looked at what was asked.
func refused(e syscall.Errno) bool { return e == unix.EPERM || e == unix.EACCES || e == unix.ENOSYS }
