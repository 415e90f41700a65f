package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"sunaba/fault"
	"sunaba/internal/screen"
)

// apply shows once what the configuration would allow and what that changes,
// asks once, and stores the answer (UC-05, S1-082..086).
func apply(ctx context.Context, std Streams, path string, yes bool) int {
	c, t, err := prepare(path, false)
	if err != nil {
		t.report(std.Err, err)
		return exitInvalid
	}
	if yes {
		if err := c.yesAllowed(); err != nil {
			t.report(std.Err, err)
			return exitInvalid
		}
	}
	out := connect(c)
	changed, err := c.present(ctx, std.Out, out)
	if err != nil {
		t.report(std.Err, err)
		return exitFailure
	}
	if !changed {
		return exitOK
	}
	channel := "yes"
	if !yes {
		channel = "terminal"
		if err := c.ask(ctx, std); err != nil {
			t.report(std.Err, err)
			return exitDeclined
		}
	}
	if err := c.keep(out.Recorder, channel); err != nil {
		t.report(std.Err, err)
		return exitFailure
	}
	fmt.Fprintln(std.Out, t.text("apply.done", "path", c.settings.Path))
	return exitOK
}

// yesAllowed refuses what only a person at a terminal may allow (C-88).
func (c *candidate) yesAllowed() error {
	if c.resolved.Effective.Workspace.Policy == "allow_all" || slices.Contains(c.settings.Approval.Channels, "client") {
		return fault.New(fault.PolicyDeclined, "apply", "reason", "yes")
	}
	return nil
}

// present prints the table and reports whether there is something to apply.
func (c *candidate) present(ctx context.Context, w io.Writer, out outside) (changed bool, err error) {
	var p screen.Page
	p.Text(c.text("apply.title", "path", c.settings.Path))
	c.sections(&p)
	c.warningSection(ctx, &p, out, c.unfit(ctx, out)...)
	list, applied := c.differences()
	switch {
	case !applied:
		e, _ := errors.AsType[*fault.Error](c.notYet)
		p.Heading(c.text("view.differences"))
		p.Row(screen.Plain, c.text("policy.not_applied."+e.Args["reason"], "path", c.settings.Path, "file", e.Args["file"]))
		changed = true
	case len(list) == 0:
		p.Text("\n" + c.text("apply.unchanged", "time", c.applied.AppliedAt.Local().Format("2006-01-02 15:04:05")))
	default:
		c.differenceSection(&p, list)
		changed = true
	}
	return changed, p.Write(w, screen.Coloured(w))
}

// unfit says why the server would not start on this machine: what cannot be
// enforced here may be applied, but not without knowing it.
func (c *candidate) unfit(ctx context.Context, out outside) []string {
	if out.Platform == nil {
		return nil
	}
	lines, ok := out.Platform.Lines(ctx)
	if ok {
		return nil
	}
	return []string{c.text("view.unfit") + "\n" + strings.Join(lines, "\n")}
}

// codeLetters are hard to take for one another.
const codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// ask shows a short random code and waits until the person has typed it, so
// that neither a habit nor a program answers (C-88). An interrupt is a no like
// any other. The error has code policy.declined.
func (c *candidate) ask(ctx context.Context, std Streams) error {
	decline := func(reason string) error { return fault.New(fault.PolicyDeclined, "apply", "reason", reason) }
	if !screen.Terminal(std.In) || !screen.Terminal(std.Out) {
		return decline("terminal")
	}
	code := make([]byte, 4)
	if _, err := rand.Read(code); err != nil {
		return decline("terminal")
	}
	for i, b := range code {
		code[i] = codeLetters[int(b)%len(codeLetters)] // 32 letters: no bias
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprint(std.Out, "\n"+c.text("apply.question", "code", string(code))+" ")
	type line struct {
		text string
		err  error
	}
	answered := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(std.In, 256)).ReadString('\n')
		answered <- line{text, err}
	}()
	var answer line
	select {
	case <-ctx.Done():
		fmt.Fprintln(std.Out)
		return decline("interrupted")
	case answer = <-answered:
	}
	switch {
	case answer.err != nil:
		fmt.Fprintln(std.Out)
		return decline("eof")
	case !strings.EqualFold(strings.TrimSpace(answer.text), string(code)):
		return decline("answer")
	}
	return nil
}

// keep records the decision and stores the snapshot; without the record
// nothing is stored (S1-086).
func (c *candidate) keep(recorder ApplyRecorder, channel string) error {
	err := recorder.Record("apply", map[string]string{
		"decision": "approve", "channel": channel, "path": c.settings.Path, "digest": c.now.Fingerprint,
	})
	if err != nil {
		return err
	}
	return c.store.Save(c.now)
}
