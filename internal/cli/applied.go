package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/internal/screen"
)

// applicable returns nil when what was applied is what holds now; else a
// policy.not_applied or policy.changed that says so (S1-221).
func (c *candidate) applicable() error {
	list, applied := c.differences()
	switch {
	case !applied:
		return c.notYet
	case len(list) > 0:
		return fault.New(fault.PolicyChanged, "serve", "path", c.settings.Path,
			"count", strconv.Itoa(len(list)), "state", c.stateDir)
	}
	return nil
}

// reportChanges lists what changed since apply, when there is an applied state.
func (t texts) reportChanges(w io.Writer, c *candidate) {
	if c == nil {
		return
	}
	list, applied := c.differences()
	if !applied || len(list) == 0 {
		return
	}
	var p screen.Page
	c.differenceSection(&p, list)
	_ = p.Write(w, false) // standard error: there is no one left to tell
}

// firstLine returns the sentence of err without its hint.
func firstLine(t texts, err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	line, _, _ := strings.Cut(t.fault(e), "\n")
	return line
}
