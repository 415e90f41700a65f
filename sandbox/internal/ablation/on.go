//go:build ablation

package ablation

import (
	"os"
	"sync"
)

// Variable names what is left out, in the environment of the broker.
const Variable = "SUNABA_ABLATE"

// which is the variable's value; the Worker, which has no environment, is told
// by its first argument.
var which = sync.OnceValue(func() string {
	if len(os.Args) == 2 && os.Args[0] == "sunaba-worker" {
		return os.Args[1]
	}
	return os.Getenv(Variable)
})

// Off reports whether the mechanism of that name is left out.
func Off(name string) bool { return which() == name }

// Arguments are what the broker adds to the Worker's.
func Arguments() []string { return []string{which()} }
