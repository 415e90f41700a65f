//go:build !linux

package pod

// They have no counterpart on this system.
const noWait, noFollow = 0, 0

// syncDir has nothing to do: the system keeps names without being asked.
func syncDir(string) error { return nil }
