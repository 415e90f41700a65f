package journal

import "sunaba/fault"

// Kind says what an Entry stands for, and thereby how it is undone.
type Kind string

// The kinds of Task Resources that outlive a process.
const (
	// KindPlaceholder is an empty file or directory made where a deny rule
	// names something that does not exist yet (C-67).
	KindPlaceholder Kind = "placeholder"
	// KindCgroup is a directory of the cgroup file system.
	KindCgroup Kind = "cgroup"
)

// Entry is one resource. Path is absolute and resolved.
type Entry struct {
	ID   int    `json:"id"` // set by Add
	Kind Kind   `json:"kind,omitempty"`
	Path string `json:"path,omitempty"`
	// Temp is the private name beside Path a placeholder has until its inode
	// is known; see MakePlaceholders.
	Temp string `json:"temp,omitempty"`
	Dir  bool   `json:"dir,omitempty"`
	// Content is what a placeholder file holds where an empty one would break
	// its readers.
	Content string `json:"content,omitempty"`
	// Device and Inode identify the resource once it is made; zero before.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
}

// Undo removes what e stands for, whatever stage it was in. Undoing twice, or
// what was never made, does nothing. An unknown kind is an error: a newer
// program may have left it.
func Undo(e Entry) error {
	switch e.Kind {
	case KindPlaceholder:
		return UndoPlaceholder(e)
	case KindCgroup:
		return undoCgroup(e)
	default:
		return fault.New(fault.PlatformRecovery, "undo", "path", e.Path, "kind", string(e.Kind))
	}
}
