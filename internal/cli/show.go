package cli

import (
	"context"

	"sunaba/internal/screen"
)

// show prints what is desired, what it resolves to, what is applied and what
// is in force, with the platform's state. It changes nothing (UC-06,
// S1-087..089).
func show(ctx context.Context, std Streams, path string) int {
	c, t, err := prepare(path, false)
	if err != nil {
		t.report(std.Err, err)
		return exitInvalid
	}
	out := connect(c)
	var p screen.Page
	c.desiredSection(&p)
	c.resolvedSection(&p)
	inForce := c.appliedSection(&p)
	p.Heading(t.text("show.effective"))
	if inForce {
		p.Row(screen.Plain, t.text("show.in_force"))
	} else {
		p.Row(screen.Warning, t.text("show.not_in_force"))
	}
	c.sections(&p)
	c.platformSection(ctx, &p, out)
	c.warningSection(ctx, &p, out)
	if err := p.Write(std.Out, screen.Coloured(std.Out)); err != nil {
		t.report(std.Err, err)
		return exitFailure
	}
	return exitOK
}

func (c *candidate) desiredSection(p *screen.Page) {
	p.Heading(c.text("show.desired"))
	for _, v := range c.settings.Values() {
		place := c.text("show.default")
		if at := c.settings.At(v.Key); at.Line > 0 {
			place = at.String()
		}
		p.Row(screen.Plain, v.Key, v.Text, place)
	}
}

func (c *candidate) resolvedSection(p *screen.Page) {
	p.Heading(c.text("show.resolved"))
	for _, r := range c.resolved.Effective.Roots {
		p.Row(screen.Plain, c.text("view.kind."+string(r.Kind)), r.Logical, r.Path)
	}
	for _, e := range c.resolved.Effective.Entries {
		p.Row(screen.Plain, e.Alias, e.Logical, e.Path)
		p.Row(screen.Plain, "", "SHA-256", e.Identity.SHA256)
	}
}

// appliedSection reports whether what is applied is what would hold now.
func (c *candidate) appliedSection(p *screen.Page) (inForce bool) {
	list, applied := c.differences()
	p.Heading(c.text("show.applied"))
	if !applied {
		p.Row(screen.Warning, firstLine(c.texts, c.notYet))
		return false
	}
	p.Row(screen.Plain, c.text("show.applied_at"), c.applied.AppliedAt.Local().Format("2006-01-02 15:04:05"))
	p.Row(screen.Plain, c.text("show.fingerprint"), c.applied.Fingerprint)
	if len(list) > 0 {
		c.differenceSection(p, list)
	}
	return len(list) == 0
}

func (c *candidate) platformSection(ctx context.Context, p *screen.Page, out outside) {
	if out.Platform == nil {
		return
	}
	p.Heading(c.text("show.platform"))
	lines, ok := out.Platform.Lines(ctx)
	mark := screen.Plain
	if !ok {
		mark = screen.Warning
	}
	for _, line := range lines {
		p.Row(mark, line)
		mark = screen.Plain // what follows a warning are its hints
	}
}
