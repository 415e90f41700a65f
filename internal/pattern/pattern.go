// Package pattern holds regular expressions that are compiled on first use.
//
// The one rule to keep in mind: every Worker is this program started anew, so
// what a package does before main is paid once per Task, used or not.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles expr when it is first called and gives
// the same value from then on. An expr that is no regular expression panics at
// that first call. Safe for concurrent use.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
