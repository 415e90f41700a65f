package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	searchBlock = 1 << 20  // what is read of a file at a time, in bytes
	searchLine  = 32 << 20 // a longer line is searched in pieces
	shownChars  = 300      // of one line, around the match
	maxContext  = 20       // lines on each side
)

// search collects the matches of one search_file.
type search struct {
	ctx                   context.Context
	m                     *matcher
	mode                  string
	context               int
	maxMatches, maxBytes  int
	maxFiles              int
	matches, files, shown int
	out                   strings.Builder
	full                  bool // nothing more is shown, only counted

	head, buf, scratch []byte
}

func newSearch(ctx context.Context, m *matcher, a searchArgs, l Limits) *search {
	return &search{ctx: ctx, m: m, mode: a.Mode, context: int(max(0, min(a.Context, maxContext))),
		maxMatches: l.Matches, maxBytes: l.ReadBytes, maxFiles: l.Entries, head: make([]byte, sniffBytes)}
}

// wanted is how much a result without limits would show.
func (s *search) wanted() int {
	if s.mode == "files" || s.mode == "count" {
		return s.files
	}
	return s.matches
}

// file searches one text. It holds one block and the lines before it that may
// still be shown as context.
func (s *search) file(shown string, text io.Reader) error {
	p := &printer{s: s, path: valid([]byte(oneLine(shown)))}
	before := s.matches
	pos, line := 0, 1 // where the unsearched text starts in buf, and its line
	s.buf = s.buf[:0]
	for last := false; !last; {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		size := len(s.buf)
		s.buf = slices.Grow(s.buf, searchBlock)[:size+searchBlock]
		n, err := io.ReadFull(text, s.buf[size:])
		s.buf = s.buf[:size+n]
		if last = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !last {
			return err
		}
		end, cut := len(s.buf), false // search whole lines only
		if !last {
			if end = bytes.LastIndexByte(s.buf, '\n') + 1; end <= pos {
				if len(s.buf)-pos < searchLine {
					continue
				}
				end, cut = len(s.buf), true
			}
		}
		rest := end
		block := dropReturns(s.buf[:end], pos)
		line = s.block(p, block, pos, line)
		if s.mode == "files" && s.matches > before {
			break // one is enough
		}
		keep := s.keep(block, cut)
		pos = len(block) - keep
		s.buf = append(append(s.buf[:0], block[keep:]...), s.buf[rest:]...)
	}
	if found := s.matches - before; found > 0 {
		s.files++
		switch s.mode {
		case "files":
			s.list(p.path)
		case "count":
			s.list(p.path + ":" + strconv.Itoa(found))
		}
	}
	return nil
}

// keep returns where the part of block starts that later matches may need as
// their context: the last lines, as far as memory stays bounded. A line that
// was cut is no context: what comes next would not begin a line.
func (s *search) keep(block []byte, cut bool) int {
	if cut {
		return len(block)
	}
	at := contextStart(block, s.context)
	least := len(block) - searchBlock
	if at >= least {
		return at
	}
	if i := bytes.IndexByte(block[least:], '\n'); i >= 0 {
		return least + i + 1
	}
	return len(block)
}

// list shows one line of the modes files and count.
func (s *search) list(line string) {
	if s.full = s.full || s.shown >= s.maxFiles || s.out.Len()+len(line) >= s.maxBytes; !s.full {
		s.out.WriteString(line + "\n")
		s.shown++
	}
}

// block searches block from pos, the start of line number line, and returns
// the number of the line after it.
func (s *search) block(p *printer, block []byte, pos, line int) int {
	var lines scan
	lines, s.scratch = s.m.scan(block, s.scratch)
	start, end, ok := lines.next(pos)
	for ok {
		p.after(block[pos:start], line)
		line += bytes.Count(block[pos:start], []byte{'\n'})
		s.matches++
		if s.mode == "files" {
			return line
		}
		p.match(block, start, end, line)
		pos = min(end+1, len(block))
		if end < len(block) { // else the line goes on in the next block, or nothing does
			line++
		}
		start, end, ok = lines.next(pos)
	}
	p.after(block[pos:], line)
	return line + bytes.Count(block[pos:], []byte{'\n'})
}

// dropReturns makes the line ends of b from pos on plain line feeds.
func dropReturns(b []byte, pos int) []byte {
	if i := bytes.Index(b[pos:], []byte("\r\n")); i >= 0 {
		to := pos + i
		for from := to; from < len(b); from++ {
			if b[from] == '\r' && from+1 < len(b) && b[from+1] == '\n' {
				continue
			}
			b[to] = b[from]
			to++
		}
		b = b[:to]
	}
	return b
}

// contextStart returns where the last n lines of b start.
func contextStart(b []byte, n int) int {
	at := len(b)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(b[:at-1], '\n') + 1
	}
	return at
}

// printer shows the matches of one file with their context.
type printer struct {
	s       *search
	path    string
	printed int // the last line that was shown
	pending int // lines that are still to be shown after the last match
}

// match shows the line [start, end) of block, number line, and what is before it.
func (p *printer) match(block []byte, start, end, line int) {
	if p.s.mode == "count" {
		return
	}
	if p.s.full = p.s.full || p.s.shown >= p.s.maxMatches; p.s.full {
		return
	}
	var text strings.Builder
	if n := min(p.s.context, line-1-p.printed); n > 0 {
		from := contextStart(block[:start], n)
		first := line - bytes.Count(block[from:start], []byte{'\n'})
		if p.printed > 0 && first > p.printed+1 {
			text.WriteString("--\n")
		}
		for at := from; at < start; first++ {
			to := at + bytes.IndexByte(block[at:start], '\n')
			p.line(&text, "-", first, block[at:to], nil)
			at = to + 1
		}
	} else if p.s.context > 0 && p.printed > 0 && line > p.printed+1 {
		text.WriteString("--\n")
	}
	raw := block[start:end]
	around := text.Len()
	p.line(&text, ":", line, raw, p.s.m.re.FindIndex(raw))
	show := text.String()
	if p.s.full = p.s.out.Len()+len(show) > p.s.maxBytes; p.s.full {
		if p.s.shown > 0 {
			return
		}
		show = show[around:] // one match is always shown, if need be without context
	}
	p.s.out.WriteString(show)
	p.s.shown++
	p.printed, p.pending = line, p.s.context
}

// after shows the lines of text that belong to the match before them.
func (p *printer) after(text []byte, line int) {
	for ; p.pending > 0 && len(text) > 0 && !p.s.full; p.pending-- {
		var raw []byte
		raw, text, _ = bytes.Cut(text, []byte{'\n'})
		var shown strings.Builder
		p.line(&shown, "-", line, raw, nil)
		if p.s.out.Len()+shown.Len() > p.s.maxBytes {
			return
		}
		p.s.out.WriteString(shown.String())
		p.printed = line
		line++
	}
}

// line writes "path:12:text"; a long line is cut around the place at, with the
// column of the match and how many bytes are left out.
func (p *printer) line(to *strings.Builder, mark string, line int, raw []byte, at []int) {
	fmt.Fprintf(to, "%s%s%d%s", p.path, mark, line, mark)
	if utf8.RuneCount(raw[:min(len(raw), shownChars*utf8.UTFMax)]) <= shownChars && len(raw) <= shownChars*utf8.UTFMax {
		to.WriteString(valid(raw) + "\n")
		return
	}
	from := 0
	if at != nil {
		from = max(0, at[0]-shownChars/3)
	}
	window := raw[from:min(len(raw), from+shownChars*utf8.UTFMax)]
	if from > 0 {
		window = trimPartialStart(window)
	}
	text := []rune(valid(trimPartialEnd(window)))
	shown := string(text[:min(len(text), shownChars)])
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if from+len(shown) < len(raw) {
		after = "…"
	}
	to.WriteString(before + shown + after)
	if at != nil {
		fmt.Fprintf(to, " [column %d, -%d bytes]\n", utf8.RuneCount(raw[:at[0]])+1, max(0, len(raw)-len(shown)))
		return
	}
	fmt.Fprintf(to, " [-%d bytes]\n", max(0, len(raw)-len(shown)))
}
