//go:build !linux

package policy

// mountTable is empty where directories have one name only.
type mountTable struct{}

func mounts() mountTable { return mountTable{} }

func (mountTable) alias(dir, where string, same func(a, b string) bool) (at, known string) {
	return "", ""
}
