package policy

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
)

func stateDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, stateName), nil
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		u, err := user.Current()
		if err != nil {
			return "", err
		}
		if home = u.HomeDir; !filepath.IsAbs(home) {
			return "", errors.New("no home directory")
		}
	}
	return filepath.Join(home, ".local", "state", stateName), nil
}

// checkPrivate refuses a directory that someone else could have prepared or
// could change.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "check", Path: dir, Err: syscall.ENOTDIR}
	case info.Mode().Perm()&0o077 != 0:
		return &fs.PathError{Op: "check", Path: dir, Err: errors.New("open to other users")}
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
		return &fs.PathError{Op: "check", Path: dir, Err: errors.New("owned by another user")}
	}
	return nil
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
