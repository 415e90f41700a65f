//go:build !linux

package journal

import "sunaba/fault"

// Placeholder is one made placeholder; not available on this system.
type Placeholder struct{}

// Want is a placeholder to make; see the Linux file.
type Want struct {
	Path    string
	Dir     bool
	Content string
}

// MakePlaceholders is refused: this system's backend needs no placeholders.
func MakePlaceholders(_ *Run, wants ...Want) ([]*Placeholder, error) {
	if len(wants) == 0 {
		return nil, nil
	}
	return nil, fault.New(fault.PlatformUnsupported, "placeholder", "what", "placeholder", "source", "", "path", wants[0].Path)
}

// Path returns "": none is ever made.
func (p *Placeholder) Path() string { return "" }

// Remove does nothing.
func (p *Placeholder) Remove() error { return nil }

// UndoPlaceholder is refused: no program of this system has made one.
func UndoPlaceholder(e Entry) error {
	return fault.New(fault.PlatformUnsupported, "placeholder", "what", "placeholder", "source", "", "path", e.Path)
}
