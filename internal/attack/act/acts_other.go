//go:build !linux

package act

func acts() map[string]func([]string) error { return nil }
