// Package scopedfs gives file access that the rules of a policy decide, free
// of races between the decision and the act.
//
// The one rule to keep in mind: a path is walked component by component on
// open handles, the decision falls on where the walk arrived, and the act uses
// the very handle that was judged. A path string is never opened.
package scopedfs

import (
	"io/fs"
	"time"

	"sunaba/fault"
	"sunaba/scope"
)

// Rules decides about paths. Every path it is asked about is absolute, clean
// and free of links. Implementations must be pure and safe for concurrent use.
type Rules interface {
	// Locate says where path lies; a step to an Outside path ends a walk.
	Locate(path string) scope.Place
	// CapabilityAt returns the rights that hold on path.
	CapabilityAt(path string) scope.Capability
	// Why names the rule that takes lacking away from path: "rule", "source".
	Why(path string, lacking scope.Capability) fault.Args
	// DeniedBeneath returns a path strictly beneath dir that a rule protects,
	// so that dir must neither be moved nor removed (SD-18).
	DeniedBeneath(dir string) (target string, denied bool)
}

// Options adjusts Open. The zero value has no working directory (relative
// paths are refused), no logical spellings and no limits.
type Options struct {
	// Pwd is where relative paths start: absolute and resolved (S0-75).
	Pwd string
	// Logical maps a path spelled through a root's configured name onto the
	// resolved root; nil leaves paths as they are.
	Logical func(path string) string
	// AllowHardLinks writes through files that have several names (C-63).
	AllowHardLinks bool
	// MaxFileBytes bounds every file that is read or written; 0: no bound.
	MaxFileBytes int64
	// MaxFiles bounds the number of files beneath Pwd after a creation; 0: no
	// bound (SD-22).
	MaxFiles int
}

// Path is a path as it was asked for and as it was judged.
type Path struct {
	Asked     string
	Canonical string // absolute, clean, free of links
}

// Digest is a SHA-256 in lower-case hexadecimal; "" stands for no file.
type Digest = string

// WriteOptions adjusts WriteFile. The zero value creates or replaces.
type WriteOptions struct {
	// MustNotExist refuses to replace anything (fs.exists).
	MustNotExist bool
	// Expect, when set, is the digest the file must still have (fs.changed).
	Expect *Digest
}

// Outcome is what a successful change did.
type Outcome struct {
	Path    Path
	From    string // Rename: the canonical path before
	Created bool   // there was nothing before
	Changed bool   // content or name differs from before
	Bytes   int64  // size afterwards
	Before  Digest // "" when there was no readable file
	After   Digest // "" for directories, links and removals
	// Similar names an older entry of the same directory that looks the same
	// but is spelled with other code points; "" if none.
	Similar string
}

// Entry is one name of a directory that the rules let be seen.
type Entry struct {
	Name    string
	Type    fs.FileMode // type bits only
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
	Target  string // what a link says; "" otherwise
}
