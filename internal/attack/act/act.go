// Package act is the attacker: acts that an ordinary process may do and a
// command in the sandbox must not.
//
// The one rule to keep in mind: an act ends well only when it has done what it
// set out to do and has looked; a refusal that comes as a surprise is one too.
package act

import (
	"fmt"
	"io"
)

// Word as its first argument makes a program the attacker.
const Word = "attack"

// Known reports whether there is an act of that name.
func Known(name string) bool { return acts()[name] != nil }

// Main does the act that args name, with the rest of args, and returns the exit
// code: 0 when it succeeded, 1 when it failed, 3 when there is no such act.
func Main(args []string, out io.Writer) int {
	do, ok := acts()[args[0]]
	if !ok {
		fmt.Fprintln(out, "no such act:", args[0])
		return 3
	}
	if err := do(args[1:]); err != nil {
		fmt.Fprintln(out, "failed:", err)
		return 1
	}
	fmt.Fprintln(out, "succeeded")
	return 0
}
