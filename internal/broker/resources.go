package broker

import (
	"errors"
	"slices"

	"sunaba/internal/journal"
	"sunaba/sandbox"
)

// placeholders makes the sandbox's placeholders under the recovery journal.
type placeholders struct {
	run  *journal.Run
	made []*journal.Placeholder
}

func (p *placeholders) Make(want []sandbox.Placeholder) ([]sandbox.Placeholder, error) {
	wants := make([]journal.Want, len(want))
	byPath := make(map[string]sandbox.Placeholder, len(want))
	for i, w := range want {
		wants[i] = journal.Want{Path: w.Path, Dir: w.Dir, Content: w.Content}
		byPath[w.Path] = w
	}
	made, err := journal.MakePlaceholders(p.run, wants...)
	if err != nil {
		return nil, err
	}
	p.made = append(p.made, made...)
	placed := make([]sandbox.Placeholder, len(made))
	for i, m := range made {
		placed[i] = byPath[m.Path()]
	}
	return placed, nil
}

func (p *placeholders) Remove() error {
	var errs []error
	for _, m := range slices.Backward(p.made) { // an inner one before its parent
		errs = append(errs, m.Remove())
	}
	p.made = nil
	return errors.Join(errs...)
}
