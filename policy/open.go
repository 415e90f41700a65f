package policy

import (
	"errors"
	"os"

	"sunaba/fault"
)

// Open opens the executable by its resolved path, refusing links, and returns
// the handle only when the bytes behind it are the approved ones: a file in the
// state it was hashed in is taken as it is, any other is hashed again (C-82).
// What is executed must be this handle (SD-34). Errors are exec.hash_mismatch,
// or exec.not_approved when nothing can be opened there any more.
func (e *Entry) Open() (*os.File, error) {
	f, err := openResolved(e.Path)
	if err != nil {
		return nil, fault.Wrap(err, fault.ExecNotApproved, "start", "path", e.Path, "name", e.Alias, "alias", e.Alias, "source", e.Source)
	}
	if err := e.verify(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (e *Entry) verify(f *os.File) error {
	now, err := Look(f)
	if err == nil && now.SameState(e.Identity) {
		return nil
	}
	if err == nil {
		now, err = Identify(f)
	}
	if err != nil || now.SHA256 != e.Identity.SHA256 {
		return fault.Wrap(err, fault.ExecHashMismatch, "start", "path", e.Path, "alias", e.Alias, "source", e.Source,
			"approved", e.Identity.SHA256, "found", now.SHA256)
	}
	return nil
}
