//go:build !linux

package policy

import "io"

var runtimeHomes func(io.Reader, int) []string
