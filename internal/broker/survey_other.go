//go:build !linux

package broker

import (
	"os"
	"time"
)

// changedAt is when the content of a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
