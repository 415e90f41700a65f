//go:build !linux

package bench

// peakMemory is not measured on this system.
func (*stage) peakMemory(*client) (int64, string, error) { return 0, "not measured here", nil }
