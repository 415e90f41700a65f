//go:build !linux

package tool

import (
	"errors"
	"os"
	"path/filepath"
)

// openNoLinks opens path for reading and refuses a link in any component.
func openNoLinks(path string) (*os.File, error) {
	if resolved, err := filepath.EvalSymlinks(path); err != nil || resolved != path {
		return nil, errors.Join(err, &os.PathError{Op: "open", Path: path, Err: os.ErrInvalid})
	}
	return os.Open(path)
}
