//go:build !linux

package attack

import (
	"errors"

	"sunaba/sandbox"
)

var errNotHere = errors.New("nothing is confined on this system, and so nothing is attacked")

// All is empty: this system has no sandbox yet.
func All() []Attack { return nil }

// Run reports that there is nothing to attack.
func Run([]Attack, bool, func(Result)) error { return errNotHere }

// NewWorker reports that there are no Workers.
func NewWorker(sandbox.Inside) (sandbox.Handler, error) { return nil, errNotHere }

// AsUser reports that there is nothing to attack.
func AsUser([]string) error { return errNotHere }
