package broker

import (
	"errors"
	"slices"

	"sunaba/fault"
	"sunaba/internal/journal"
	"sunaba/sandbox"
)

// placeholders makes the sandbox's placeholders under the recovery journal.
type placeholders struct {
	run  *journal.Run
	made []*journal.Placeholder
}

func (p *placeholders) Make(want []sandbox.Placeholder) ([]sandbox.Placeholder, error) {
	var made []sandbox.Placeholder
	for _, w := range want {
		var m *journal.Placeholder
		var err error
		if w.Content != "" {
			m, err = journal.MakeFilledPlaceholder(p.run, w.Path, w.Content)
		} else {
			m, err = journal.MakePlaceholder(p.run, w.Path, w.Dir)
		}
		if fault.CodeOf(err) == fault.FSExists {
			continue // it came into being meanwhile, and is covered as it is
		}
		if err != nil {
			return nil, errors.Join(err, p.Remove())
		}
		p.made = append(p.made, m)
		made = append(made, w)
	}
	return made, nil
}

func (p *placeholders) Remove() error {
	var errs []error
	for _, m := range slices.Backward(p.made) { // an inner one before its parent
		errs = append(errs, m.Remove())
	}
	p.made = nil
	return errors.Join(errs...)
}

// cgroups journals the sandbox's control groups.
type cgroups struct {
	run *journal.Run
	ids map[string]int
}

func (c *cgroups) Add(path string) error {
	id, err := c.run.Add(journal.Entry{Kind: journal.KindCgroup, Path: path})
	if err == nil {
		c.ids[path] = id
	}
	return err
}

func (c *cgroups) Retire(path string) error {
	id := c.ids[path]
	delete(c.ids, path)
	return c.run.Retire(id)
}
