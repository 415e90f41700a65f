package pod

import (
	"os"

	"golang.org/x/sys/unix"
)

// noFollow keeps a planted link or pipe from being opened in a session's place.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// syncDir makes a new name in dir survive a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
