//go:build !linux

package journal

import "sunaba/fault"

// Placeholder is one made placeholder; not available on this system.
type Placeholder struct{}

// MakePlaceholder is refused: this system's backend needs no placeholders.
func MakePlaceholder(_ *Run, path string, _ bool) (*Placeholder, error) {
	return nil, fault.New(fault.PlatformUnsupported, "placeholder", "what", "placeholder", "source", "", "path", path)
}

// Remove does nothing.
func (p *Placeholder) Remove() error { return nil }

// UndoPlaceholder is refused: no program of this system has made one.
func UndoPlaceholder(e Entry) error {
	return fault.New(fault.PlatformUnsupported, "placeholder", "what", "placeholder", "source", "", "path", e.Path)
}
