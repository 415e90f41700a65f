package pod

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// noWait keeps a pipe in a file's place from being waited for.
	noWait = unix.O_NONBLOCK
	// noFollow also keeps a planted link from being opened in a session's place.
	noFollow = unix.O_NOFOLLOW | noWait
)

// syncDir makes a new name in dir survive a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
