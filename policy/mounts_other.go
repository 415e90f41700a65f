//go:build !linux

package policy

// mountTable is empty where directories have one name only.
type mountTable struct{}

func mounts() mountTable { return mountTable{} }

func (mountTable) alias(dir, where string, wanted func(known, at string) bool) (at, known string) {
	return "", ""
}

func (mountTable) together(a, b string) bool { return true }
