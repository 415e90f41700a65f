package scope

import "strings"

// Capability is the set of rights that hold on one path: the meet of all
// configured layers. The zero value grants nothing. (SD-03, S1-165..168)
type Capability uint8

// The four rights. Write never implies Delete (FS-04), Read never implies
// Execute (FS-10).
const (
	R Capability = 1 << iota // read file contents, list directories
	W                        // create, overwrite, rename; never remove
	D                        // remove files and empty directories
	X                        // be started as an executable image
)

// All is every right at once.
const All = R | W | D | X

// Has reports whether c grants every right of want.
func (c Capability) Has(want Capability) bool { return c&want == want }

// String prints the rights in the fixed order "RWDX", with "-" for the empty set.
func (c Capability) String() string {
	if c&All == 0 {
		return "-"
	}
	var b strings.Builder
	for i, letter := range "RWDX" {
		if c&(1<<i) != 0 {
			b.WriteRune(letter)
		}
	}
	return b.String()
}

// Place says where a path lies with respect to the areas of a policy.
type Place uint8

const (
	// Outside is beneath no area; the zero value, so that an unset Place denies.
	Outside Place = iota
	// Above is a proper ancestor of an area: it may be walked through, not used.
	Above
	// Within is an area's root or beneath it.
	Within
)
