package bench

import (
	"context"
	"fmt"
	"io"
)

// Run measures everything with the given agent-mcp and writes tables to out.
// The Worker that some of it needs is the calling program, which must serve
// NewWorker when it is one.
func Run(ctx context.Context, agent string, out io.Writer) error {
	p := printer{out}
	model, err := startModel()
	if err != nil {
		return err
	}
	defer model.Close()
	s, err := newStage(agent, model.URL())
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.apply(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		heading string
		figures func(context.Context) ([]figure, error)
	}{
		{"starting the server", s.starts},
		{"making a Task's sandbox", s.setups},
		{"a command in a standing sandbox", s.commands},
		{"the network of a standing sandbox", s.network},
		{"decisions and records", s.decisions},
	} {
		figures, err := part.figures(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", part.heading, err)
		}
		if err := p.table(part.heading, figures); err != nil {
			return err
		}
	}
	return s.jobs(ctx, p)
}
