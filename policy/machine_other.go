//go:build !linux

package policy

import "net/netip"

// localRoutes returns none: only Linux keeps routes to itself that name no
// address of a device.
func localRoutes() ([]netip.Prefix, error) { return nil, nil }
