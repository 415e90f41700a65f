package cli

import (
	"os"
	"path/filepath"
	"time"

	"sunaba/fault"
	"sunaba/internal/config"
	"sunaba/internal/locale"
	"sunaba/policy"
	"sunaba/sandbox"
)

// candidate is a configuration that passed validation: what would be applied,
// and what is (S1-218, SD-26).
type candidate struct {
	texts
	settings *config.Settings
	stateDir string
	resolved *policy.Resolution
	now      policy.Snapshot
	store    policy.Store
	applied  *policy.Snapshot // nil: none that can be used
	notYet   error            // why applied is nil
}

// placedError is what the setting at a place in the configuration leads to.
type placedError struct {
	place string // file:line:column, "" when no file sets it
	error
}

func (e placedError) Unwrap() error { return e.error }

// prepare runs the validation that serve, apply and show share; starting is
// that of serve. The texts are usable in any case.
func prepare(path string, starting bool) (*candidate, texts, error) {
	s, err := config.Load(path)
	if err != nil {
		return nil, catalogFor(path), err
	}
	catalog, err := locale.Load(s.Application.Language)
	if err != nil {
		if fault.CodeOf(err) == fault.LocaleMissing { // other errors name the language file
			err = placedError{s.At("application.language").String(), err}
		}
		return nil, textsIn(""), err
	}
	c := &candidate{texts: texts{catalog}, settings: s}
	if c.stateDir, err = policy.StateDir(); err != nil {
		return nil, c.texts, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, c.texts, err
	}
	in := s.PolicyInput(policy.Own{
		Executable: filepath.Clean(exe),
		LocaleDirs: locale.Directories(),
		StateDir:   c.stateDir,
	})
	in.Starting = starting
	c.resolved, err = policy.Resolve(in)
	if err != nil {
		return nil, c.texts, err
	}
	c.resolved.Effective.Confinement = sandbox.Confinement(&c.resolved.Effective)
	values := map[string]string{}
	for _, v := range s.Values() {
		values[v.Key] = v.Text
	}
	c.now = policy.NewSnapshot(s.Path, s.Fingerprint(), values, c.resolved.Effective, time.Now())
	c.store = policy.NewStore(c.stateDir)
	c.applied, c.notYet = c.store.Load(s.Path)
	return c, c.texts, nil
}

// differences lists what is not as applied; ok is false when nothing is.
func (c *candidate) differences() (list []policy.Difference, ok bool) {
	if c.applied == nil {
		return nil, false
	}
	return policy.Compare(c.now, *c.applied), true
}
