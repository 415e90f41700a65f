//go:build !linux

package relay

import "time"

// idle is not known on this system.
func (*joint) idle() time.Duration { return 0 }
