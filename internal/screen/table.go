package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// Mark is the meaning of a row, shown as a sign and, on a terminal, a colour.
type Mark uint8

// The marks. The sign alone carries the meaning; the colour only helps.
const (
	Plain   Mark = iota
	Added        // +
	Removed      // -
	Changed      // ~
	Warning      // !
)

var signs = [...]string{"  ", "+ ", "- ", "~ ", "! "}

var colours = [...]string{"", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[33m"}

const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

// Page collects headings, aligned rows and paragraphs, and writes them at
// once. Rows between two headings are aligned with each other. The zero Page is
// empty. A Page is for one goroutine.
type Page struct {
	parts []part
}

type part struct {
	heading string
	text    string // a paragraph, when there are no rows
	rows    []row
}

type row struct {
	mark  Mark
	cells []string
}

// Heading starts a section.
func (p *Page) Heading(text string) {
	p.parts = append(p.parts, part{heading: Escape(text)})
}

// Row adds one row of cells to the present section; every cell is escaped.
func (p *Page) Row(mark Mark, cells ...string) {
	escaped := make([]string, len(cells))
	for i, c := range cells {
		escaped[i] = Escape(c)
	}
	last := len(p.parts) - 1
	if last < 0 || p.parts[last].text != "" {
		p.parts = append(p.parts, part{})
		last++
	}
	p.parts[last].rows = append(p.parts[last].rows, row{mark, escaped})
}

// Text adds a paragraph of the program's own; what is untrusted in it must have
// been escaped before, since its line breaks are kept.
func (p *Page) Text(text string) {
	p.parts = append(p.parts, part{text: text})
}

// Write writes the page to w, with colours if coloured.
func (p *Page) Write(w io.Writer, coloured bool) error {
	var b strings.Builder
	for i, part := range p.parts {
		if i > 0 && part.heading != "" {
			b.WriteByte('\n')
		}
		if part.heading != "" {
			b.WriteString(paint(part.heading, bold, coloured) + "\n")
		}
		if part.text != "" {
			b.WriteString(part.text + "\n")
		}
		writeRows(&b, part.rows, coloured)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeRows(b *strings.Builder, rows []row, coloured bool) {
	var widths []int
	for _, r := range rows {
		for i, c := range r.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(c))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		line.WriteString(signs[r.mark])
		for i, c := range r.cells {
			line.WriteString(c)
			if i < len(r.cells)-1 {
				fmt.Fprintf(&line, "%*s", widths[i]-displaywidth.String(c)+2, "")
			}
		}
		b.WriteString(paint(strings.TrimRight(line.String(), " "), colours[r.mark], coloured) + "\n")
	}
}

func paint(text, colour string, coloured bool) string {
	if !coloured || colour == "" {
		return text
	}
	return colour + text + reset
}

// Terminal reports whether f, an input or an output, is a terminal.
func Terminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Coloured reports whether colours may be written to w: a terminal, and
// NO_COLOR unset or empty.
func Coloured(w io.Writer) bool { return Terminal(w) && os.Getenv("NO_COLOR") == "" }
