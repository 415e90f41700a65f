package policy

import (
	"errors"
	"io/fs"
	"os"

	"sunaba/fault"
)

// stateName is the directory's name below the user's state directory.
const stateName = "agent-mcp"

// StateDir returns the directory of the applied store, run directories, logs
// and approval sockets (C-71): $XDG_STATE_HOME/agent-mcp when that variable is
// absolute, else ~/.local/state/agent-mcp; on Windows beneath %LOCALAPPDATA%.
// It creates nothing. A directory that exists and is a link, not ours, or open
// to others is refused with platform.state. (S1-220)
func StateDir() (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", fault.Wrap(err, fault.PlatformState, "state", "path", stateName)
	}
	if err := checkPrivate(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.Wrap(err, fault.PlatformState, "state", "path", dir)
	}
	return dir, nil
}

// MakeStateDir is StateDir for those who write: it creates the directory, mode
// 0700, when it does not exist.
func MakeStateDir() (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	if err := makePrivate(dir); err != nil {
		return "", fault.Wrap(err, fault.PlatformState, "state", "path", dir)
	}
	return dir, nil
}

// makePrivate creates dir with its parents, all 0700, and checks it.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkPrivate(dir)
}
