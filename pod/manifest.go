package pod

import (
	"errors"
	"io"
	"os"
	"strconv"

	"sunaba/fault"
	"sunaba/scope"
)

// Manifest says who a Pod is, where it works and what it may touch. Load and
// Parse make one from TOML; one made by hand is checked as far as it can be by
// Resolve. It is not changed by this package. (S0-19, S0-61..64)
type Manifest struct {
	Pod   PodMeta
	Scope ScopeConfig
	// File is where the manifest was read from. Relative paths start at its
	// directory; "" stands for the process's working directory.
	File string

	places map[string]Position // of keys such as "scope.allow[0].target"
}

// PodMeta is the table [pod] (S0-33).
type PodMeta struct {
	Name string
	// Pwd is the working directory as written: absolute, or relative to the
	// directory of the manifest (C-14).
	Pwd string
}

// Base says where the relative targets of a Scope start (C-01).
type Base string

// The two bases. The zero value stands for BasePwd.
const (
	BasePwd      Base = "pwd"      // the working directory (S0-83)
	BaseManifest Base = "manifest" // the directory of the manifest
)

// ScopeConfig is the table [scope] (S0-34). The order of rules means nothing
// (S0-18).
type ScopeConfig struct {
	Base  Base
	Allow []ScopeRule // at least one (S0-26)
	Deny  []ScopeRule // none is fine (S0-27)
}

// ScopeRule is one rule as written (S0-35).
type ScopeRule struct {
	Target     string           // absolute, or relative to the base
	Permission scope.Permission // scope.Read or scope.Write (S0-28)
	// Recursive is true unless the file says otherwise (S0-29). A rule that is
	// not covers its target and the direct children (SD-07).
	Recursive bool
	// Delete also lets files be removed; only an allow rule of level Write may
	// say so (SD-04).
	Delete bool
	// Source is where the rule stands, as "file:line:column".
	Source string
}

// maxManifest bounds a manifest's file.
const maxManifest = 1 << 20

// Load reads the manifest in file and resolves it once, so that every mistake
// in it is found now. A manifest with mistakes is a *Problems (S0-65).
func Load(file string) (*Manifest, error) {
	data, err := read(file)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, fault.Wrap(err, fault.PodManifest, "load", "path", file, "limit", strconv.Itoa(maxManifest), "case", "too_large")
	case err != nil:
		return nil, fault.Wrap(err, fault.PodManifest, "load", "path", file, "case", "unreadable")
	}
	m, found := parse(file, data)
	if m != nil {
		_, _, more := m.resolve(len(found) == 0)
		found = append(found, more...)
	}
	if len(found) > 0 {
		return nil, newProblems(found)
	}
	return m, nil
}

func read(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("pod: not an ordinary file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = errTooLarge
	}
	return data, err
}

var errTooLarge = errors.New("pod: a manifest has at most 1 MiB")

// Parse reads a manifest from data without touching the file system; file is
// its name in messages and where relative paths start. Every mistake in the
// text is reported at once, as a *Problems.
func Parse(file string, data []byte) (*Manifest, error) {
	m, found := parse(file, data)
	if len(found) > 0 {
		return nil, newProblems(found)
	}
	return m, nil
}
