package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"sunaba/fault"
	"sunaba/internal/screen"
	"sunaba/plan"
)

// texts is the catalogue.
type texts interface {
	Text(key string, args fault.Args) string
}

// page prints for a person, at once, line by line.
type page struct {
	out      io.Writer
	texts    texts
	coloured bool
	root     string // is shown as "…" where space is short; "" nothing is
}

type tone string

const (
	plain tone = ""
	good  tone = "\x1b[32m"
	bad   tone = "\x1b[31m"
	warn  tone = "\x1b[33m"
	bold  tone = "\x1b[1m"
	faint tone = "\x1b[2m"
)

// verdict says what became of a call.
type verdict struct {
	tone tone
	word string // a key
	code string // of a refusal
	note string
}

// text returns a text of the program's own with arguments that need not be.
func (p page) text(key string, pairs ...string) string {
	args := fault.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = screen.Escape(pairs[i+1])
	}
	return p.texts.Text(key, args)
}

func (p page) paint(t tone, s string) string {
	if !p.coloured || t == plain || s == "" {
		return s
	}
	return string(t) + s + "\x1b[0m"
}

func (p page) line(s string) { fmt.Fprintln(p.out, s) }

func (p page) heading(key string, pairs ...string) {
	p.line("")
	p.line(p.paint(bold, p.text(key, pairs...)))
}

func (p page) note(key string, pairs ...string) {
	p.line("  " + p.paint(faint, p.text(key, pairs...)))
}

// fact prints a name and its value.
func (p page) fact(key, value string) {
	p.line("  " + pad(p.text(key), 13) + " " + screen.Escape(value))
}

// short is untrusted text in little space.
func (p page) short(s string, width int) string {
	if p.root != "" {
		s = strings.ReplaceAll(s, p.root, "…")
	}
	return cut(screen.Escape(s), width)
}

// call prints one call with its verdict.
func (p page) call(task, tool, subject string, v verdict) {
	l := "  " + p.paint(v.tone, pad(p.text(v.word), 8)) + " " + pad(screen.Escape(task), 3) + " " +
		pad(tool, 12) + " " + p.short(subject, 64)
	if v.code != "" {
		l += "  " + p.paint(v.tone, screen.Escape(v.code))
	}
	if v.note != "" {
		l += "  " + p.paint(faint, p.short(v.note, 80))
	}
	p.line(l)
}

// plan prints the tasks, marked where they lie on the critical path.
func (p page) plan(g *plan.Graph) {
	p.heading("demo.plan")
	critical := map[string]bool{}
	path := g.CriticalPath()
	for _, id := range path {
		critical[id] = true
	}
	for _, t := range g.Tasks() {
		sign := "  "
		if critical[t.ID] {
			sign = p.paint(bold, "* ")
		}
		after := ""
		if len(t.DependsOn) > 0 {
			after = p.paint(faint, "  "+p.text("demo.after", "tasks", strings.Join(t.DependsOn, ", ")))
		}
		p.line("  " + sign + pad(screen.Escape(t.ID), 3) + " " + pad(cut(screen.Escape(t.Title), 40), 40) + " " +
			p.text("demo.expected", "tokens", g.Expected(t.ID).String(), "budget", t.Budget.String()) + after)
	}
	p.note("demo.critical", "path", strings.Join(path, " → "), "tokens", g.CriticalCost().String())
	p.heading("demo.calls")
}

// claim prints one thing that was found out afterwards.
func (p page) claim(holds bool, key string, pairs ...string) {
	sign, t := "✓", good
	if !holds {
		sign, t = "✗", bad
	}
	p.line("  " + p.paint(t, sign) + " " + p.text(key, pairs...))
}

// answer prints text that the model had a part in.
func (p page) answer(s string) {
	for l := range strings.Lines(s) {
		p.line("  " + screen.Escape(strings.TrimRight(l, "\r\n")))
	}
}

// pad fills s up to width columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-displaywidth.String(s), 0))
}

// cut shortens s to width columns.
func cut(s string, width int) string {
	if displaywidth.String(s) <= width {
		return s
	}
	used, end := 0, 0
	for i, r := range s {
		used += displaywidth.Rune(r)
		if used >= width {
			break
		}
		end = i + len(string(r))
	}
	return s[:end] + "…"
}
