package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/internal/screen"
	"sunaba/policy"
	"sunaba/scope"
)

// sections writes the policy as people read it: what may be reached, run and
// used, and where each line comes from.
func (c *candidate) sections(p *screen.Page) {
	e := &c.resolved.Effective
	c.workspaceSection(p, e)
	c.rootSection(p, e)
	c.entrySection(p, e)
	c.limitSection(p, e)
	c.protectedSection(p, e)
}

func (c *candidate) workspaceSection(p *screen.Page, e *policy.Effective) {
	p.Heading(c.text("view.workspace"))
	p.Row(screen.Plain, c.text("view.name"), e.Workspace.Name)
	p.Row(screen.Plain, c.text("view.root"), arrow(e.Workspace.Logical, e.Workspace.Root))
	p.Row(screen.Plain, c.text("view.profile"), e.Profile)
	p.Row(screen.Plain, c.text("view.outside"), e.Workspace.Policy+": "+c.text("view.policy."+e.Workspace.Policy))
}

// arrow prints where a path leads when that is not where it seems to.
func arrow(logical, resolved string) string {
	if logical == resolved {
		return resolved
	}
	return logical + " → " + resolved
}

func (c *candidate) rootSection(p *screen.Page, e *policy.Effective) {
	p.Heading(c.text("view.files"))
	p.Row(screen.Plain, c.text("view.path"), c.text("view.rights"), c.text("view.kind"), c.text("view.source"))
	for _, r := range e.Roots {
		p.Row(screen.Plain, arrow(r.Logical, r.Path), matrix(r.Capability), c.text("view.kind."+string(r.Kind)), r.Source)
	}
	p.Text("  " + c.text("view.legend"))
	if e.Scope == nil {
		return
	}
	p.Heading(c.text("view.scope"))
	if e.Scope.Allow == nil {
		p.Row(screen.Plain, c.text("view.allow"), c.text("view.allow_rest"))
	}
	for _, r := range e.Scope.Allow {
		p.Row(screen.Plain, c.text("view.allow"), r.Target, c.ruleWord(r), r.Source)
	}
	for _, r := range e.Scope.Deny {
		p.Row(screen.Plain, c.text("view.deny"), r.Target, c.ruleWord(r), r.Source)
	}
}

func (c *candidate) ruleWord(r scope.Rule) string {
	word := r.Permission.String()
	if r.Delete {
		word += " " + c.text("view.with_delete")
	}
	if !r.Recursive {
		word += " " + c.text("view.not_recursive")
	}
	return word
}

// matrix prints a capability with one column for each right.
func matrix(capability scope.Capability) string {
	out := []byte("----")
	for i, right := range []scope.Capability{scope.R, scope.W, scope.D, scope.X} {
		if capability.Has(right) {
			out[i] = "RWDX"[i]
		}
	}
	return string(out)
}

func (c *candidate) entrySection(p *screen.Page, e *policy.Effective) {
	p.Heading(c.text("view.execution"))
	if e.Confinement == policy.ByLandlock {
		p.Row(screen.Warning, c.text("view.files_only"))
	}
	if len(e.Entries) == 0 {
		p.Row(screen.Plain, c.text("view.no_entries"))
	}
	for _, x := range e.Entries {
		shell := ""
		if x.Shell {
			shell = c.text("view.shell")
		}
		p.Row(screen.Plain, x.Alias, shell, arrow(x.Logical, x.Path))
		p.Row(screen.Plain, "", "", x.Source)
		p.Row(screen.Plain, "", "", "SHA-256 "+x.Identity.SHA256)
		if x.RuntimeRoot != "" {
			p.Row(screen.Plain, "", "", c.text("view.runtime_root", "path", x.RuntimeRoot))
		}
	}
	if e.Profile == "development" {
		p.Text("  " + c.text("view.artifacts"))
	}
	if e.AllowedCommands != nil {
		p.Row(screen.Plain, c.text("view.allowed_commands"))
		for _, name := range e.AllowedCommands {
			p.Row(screen.Plain, "", name)
		}
	}
}

func (c *candidate) limitSection(p *screen.Page, e *policy.Effective) {
	c.networkSection(p, &e.Network)
	p.Heading(c.text("view.resources"))
	r := e.Resources
	p.Row(screen.Plain, c.text("view.profile"), r.Profile)
	p.Row(screen.Plain, c.text("view.memory"), strconv.FormatInt(r.MemoryMiB, 10)+" MiB")
	p.Row(screen.Plain, c.text("view.processes"), strconv.Itoa(r.Processes))
	p.Row(screen.Plain, c.text("view.timeout"), strconv.FormatInt(int64(r.Timeout.Seconds()), 10)+" s")
	p.Row(screen.Plain, c.text("view.scratch"), strconv.FormatInt(r.ScratchBytes>>20, 10)+" MiB")
	p.Row(screen.Plain, c.text("view.file_size"), c.limit(e.MaxFileBytes, " B"))
	p.Row(screen.Plain, c.text("view.max_files"), c.limit(int64(e.MaxFiles), ""))
	if len(e.Environment) > 0 {
		p.Heading(c.text("view.environment"))
		for _, name := range slices.Sorted(maps.Keys(e.Environment)) {
			p.Row(screen.Plain, name, e.Environment[name])
		}
	}
}

// networkSection shows what can be reached, and where its names lead today.
func (c *candidate) networkSection(p *screen.Page, n *policy.Network) {
	p.Heading(c.text("view.network"))
	p.Row(screen.Plain, n.Mode, c.text("view.network."+n.Mode))
	for _, end := range n.Endpoints {
		leads := make([]string, len(end.Addresses))
		for i, a := range end.Addresses {
			leads[i] = a.String()
		}
		where := strings.Join(leads, ", ")
		if end.Closed != "" {
			where = c.text("view.closed." + end.Closed)
		}
		p.Row(screen.Plain, "", arrow(end.Name(), where))
		p.Row(screen.Plain, "", end.Source)
	}
	if n.UnixSockets == "own" {
		p.Row(screen.Plain, c.text("view.unix_sockets"), c.text("view.unix_sockets.own"))
	}
}

func (c *candidate) limit(n int64, unit string) string {
	if n == 0 {
		return c.text("view.no_limit")
	}
	return strconv.FormatInt(n, 10) + unit
}

func (c *candidate) protectedSection(p *screen.Page, e *policy.Effective) {
	p.Heading(c.text("view.protected"))
	for _, x := range e.Protected {
		how := c.text("view.unchanged")
		if x.Hidden {
			how = c.text("view.hidden")
		}
		p.Row(screen.Plain, x.Path, how, c.text("view.why."+x.Why))
	}
}

// warningSection lists what a person should know first; it asks the model
// server, which need not answer.
// more are further warnings.
func (c *candidate) warningSection(ctx context.Context, p *screen.Page, out outside, more ...string) {
	lines := slices.Clone(more)
	for _, w := range c.settings.Warnings {
		lines = append(lines, c.problem(w))
	}
	for _, w := range c.resolved.Warnings {
		lines = append(lines, c.policyProblem(w))
	}
	if out.Model != nil {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if err := out.Model.Probe(ctx); err != nil {
			if e, ok := errors.AsType[*fault.Error](err); ok {
				lines = append(lines, c.fault(e))
			} else {
				lines = append(lines, err.Error())
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	p.Heading(c.text("view.warnings"))
	for _, line := range lines {
		for i, part := range strings.Split(line, "\n") { // a sentence and its hint
			mark := screen.Warning
			if i > 0 {
				mark = screen.Plain
			}
			p.Row(mark, part)
		}
	}
}

// differenceSection lists what applying would change.
func (c *candidate) differenceSection(p *screen.Page, list []policy.Difference) {
	p.Heading(c.text("view.differences"))
	for _, d := range list {
		mark := screen.Changed
		switch {
		case d.Old == "":
			mark = screen.Added
		case d.New == "":
			mark = screen.Removed
		}
		p.Row(mark, c.text("policy.difference."+d.Kind), d.Name, change(d))
	}
}

func change(d policy.Difference) string {
	switch {
	case d.Old == "":
		return d.New
	case d.New == "":
		return d.Old
	}
	return d.Old + " → " + d.New
}
