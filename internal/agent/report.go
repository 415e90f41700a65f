package agent

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/tool"
)

// reportLines bounds each part of the run report.
const reportLines = 40

// report is what the program itself saw: it stands under the model's summary,
// so that the two can be compared (C-81). It names no internal tool (S1-064).
type report struct {
	changes  []change
	commands []command
	refusals []refusal
	left     []Leftover
	started  bool      // a command was
	unseen   bool      // what commands left was not looked at, or not all of it
	failures []refusal // attempts to change something that failed and were not made good
}

type change struct {
	path    string
	removed bool
}

type command struct {
	name     string
	exitCode int
	times    int
}

type refusal struct {
	path        string
	code        fault.Code
	tool, where string // which call it was; not told
}

// add takes in the result of one call. where is the path, or the
// program, the call named.
func (p *report) add(name, where string, r tool.Result) {
	if name == tool.RunCommand && (r.OK || r.Error != nil && slices.Contains(
		[]fault.Code{fault.ExecTimeout, fault.ExecLimit, fault.AgentCancelled, fault.PlatformReplaced}, r.Error.Code)) {
		p.started = true
	}
	for _, e := range r.Effects {
		switch {
		case e.Kind == tool.EffectExecute:
			p.ran(e, where)
		case e.Changed && (e.Kind == tool.EffectWrite || e.Kind == tool.EffectDelete):
			p.changed(change{e.Path, e.Kind == tool.EffectDelete})
		}
	}
	if r.OK || r.Error == nil {
		if !reads(name) {
			p.madeGood(name, where)
		}
		return
	}
	f := refusal{path: target(*r.Error), code: r.Error.Code, tool: name, where: where}
	if f.path == "" {
		f.path = where
	}
	switch {
	case isDenial(f.code):
		p.refused(f)
	case !reads(name):
		p.madeGood(name, where) // only the newest failure of one thing counts
		p.failures = append(p.failures, f)
	}
}

// madeGood forgets the failures of what has succeeded now: of the same path by
// whichever tool, or of a command by a command.
func (p *report) madeGood(name, where string) {
	where = path.Clean(where)
	p.failures = slices.DeleteFunc(p.failures, func(f refusal) bool {
		return path.Clean(f.where) == where && (where != "." || f.tool == name)
	})
}

func (p *report) changed(c change) {
	for i, old := range p.changes {
		if old.path == c.path {
			p.changes[i] = c
			return
		}
	}
	p.changes = append(p.changes, c)
}

// ran books a command under the name it was asked for by; a command line has
// none but the shell's.
func (p *report) ran(e tool.Effect, asked string) {
	if asked == "" {
		asked = path.Base(filepath.ToSlash(e.Argv0))
	}
	c := command{asked, e.ExitCode, 1}
	for i, old := range p.commands {
		if old.name == c.name {
			c.times += old.times
			p.commands[i] = c
			return
		}
	}
	p.commands = append(p.commands, c)
}

func (p *report) refused(f refusal) {
	for _, old := range p.refusals {
		if old.path == f.path && old.code == f.code {
			return
		}
	}
	p.refusals = append(p.refusals, f)
}

// survey asks what commands left that matters outside of the sandbox; what the
// file tools changed is known. A Task that is over is still worth asking for.
func (p *report) survey(ctx context.Context, box Toolbox) {
	s, ok := box.(Surveyor)
	if !ok || !p.started {
		return
	}
	left, whole, err := s.Survey(context.WithoutCancel(ctx))
	p.unseen = err != nil || !whole
	for _, l := range left {
		if !slices.ContainsFunc(p.changes, func(c change) bool { return c.path == l.Path }) {
			p.left = append(p.left, l)
		}
	}
}

// text is the report in the configured language, "" when nothing happened.
func (p *report) text(texts Texts, root string) string {
	var b strings.Builder
	block := func(n int, line func(i int) (key string, args fault.Args)) {
		for i := range min(n, reportLines) {
			key, args := line(i)
			b.WriteString("\n- " + texts.Text(key, args))
		}
		if n > reportLines {
			b.WriteString("\n- " + texts.Text("report.more", fault.Args{"count": strconv.Itoa(n - reportLines)}))
		}
	}
	block(len(p.changes), func(i int) (string, fault.Args) {
		c := p.changes[i]
		key := "report.changed"
		if c.removed {
			key = "report.removed"
		}
		return key, fault.Args{"path": beneath(root, c.path)}
	})
	block(len(p.left), func(i int) (string, fault.Args) {
		l := p.left[i]
		if l.Target != "" {
			return "report.link_outside", fault.Args{"path": beneath(root, l.Path), "target": l.Target}
		}
		return "report.host_tool", fault.Args{"path": beneath(root, l.Path)}
	})
	if p.unseen {
		b.WriteString("\n- " + texts.Text("report.unseen", nil))
	}
	block(len(p.commands), func(i int) (string, fault.Args) {
		c := p.commands[i]
		key := "report.command"
		if c.times > 1 {
			key = "report.commands"
		}
		return key, fault.Args{"command": c.name, "code": strconv.Itoa(c.exitCode), "count": strconv.Itoa(c.times)}
	})
	block(len(p.refusals), func(i int) (string, fault.Args) {
		return p.refusals[i].line("report.refused", root)
	})
	block(len(p.failures), func(i int) (string, fault.Args) {
		return p.failures[i].line("report.failed", root)
	})
	if b.Len() == 0 {
		return ""
	}
	return texts.Text("report.title", nil) + b.String()
}

// line is key with a path, and key_plain without one.
func (f refusal) line(key, root string) (string, fault.Args) {
	if f.path == "" {
		return key + "_plain", fault.Args{"code": string(f.code)}
	}
	return key, fault.Args{"path": beneath(root, f.path), "code": string(f.code)}
}

// beneath shortens paths under the workspace root.
func beneath(root, p string) string {
	if root == "" || !filepath.IsAbs(p) {
		return p
	}
	rel, err := filepath.Rel(root, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return p
	}
	return filepath.ToSlash(rel)
}
