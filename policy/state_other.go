//go:build !linux

package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

func stateDir() (string, error) {
	base, err := os.UserCacheDir() // %LocalAppData% on Windows
	if err != nil {
		return "", err
	}
	return filepath.Join(base, stateName), nil
}

// checkPrivate refuses a link; who may enter is inherited from the user's own
// directory.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "check", Path: dir, Err: errors.New("not a directory")}
	}
	return err
}

// syncDir does nothing: directories cannot be synchronised there.
func syncDir(string) error { return nil }
