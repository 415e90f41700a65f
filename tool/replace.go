package tool

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"sunaba/fault"
	"sunaba/internal/pattern"
)

const (
	maxLinesNamed = 10   // line numbers that a refusal lists
	maxPlaces     = 1000 // places that are counted where one was meant
)

// replacement is what replace did.
type replacement struct {
	text  []byte
	count int
	line  int // of the first place, from 1
}

// span is one place in the text, [start, end) in bytes.
type span struct{ start, end int }

// replace puts a.New for a.Old in text, literally. When a.Old has no carriage
// return, line ends of either kind match its line feeds, because that is how
// read_file shows them, and inserted lines take the ending of the place.
func replace(text []byte, a editArgs) (replacement, error) {
	limit, step := maxPlaces, 1 // overlapping places are places too
	if a.ReplaceAll {
		limit, step = math.MaxInt, len(a.Old)
	}
	found := find(text, a.Old, limit, step)
	switch {
	case len(found) == 0:
		return replacement{}, noMatch(text, a)
	case len(found) > 1 && !a.ReplaceAll:
		return replacement{}, notUnique(text, found, a)
	}
	adapt := !strings.Contains(a.Old, "\r")
	crlf := bytes.Count(text, []byte("\r\n"))
	mostlyCRLF := 2*crlf > bytes.Count(text, []byte{'\n'})
	r := replacement{line: lineAt(text, found[0].start)}
	at := 0
	for _, s := range found {
		inserted := a.New
		if adapt && endsCRLF(text[s.start:s.end], mostlyCRLF) {
			inserted = strings.ReplaceAll(strings.ReplaceAll(inserted, "\r\n", "\n"), "\n", "\r\n")
		}
		r.text = append(append(r.text, text[at:s.start]...), inserted...)
		at = s.end
		r.count++
	}
	r.text = append(r.text, text[at:]...)
	return r, nil
}

// endsCRLF tells the line ending of a place, or the file's when it has none.
func endsCRLF(place []byte, otherwise bool) bool {
	i := bytes.IndexByte(place, '\n')
	if i < 0 {
		return otherwise
	}
	return i > 0 && place[i-1] == '\r'
}

// find returns the first places of old in text, at most limit, each at least
// step bytes after the one before.
func find(text []byte, old string, limit, step int) []span {
	hay, toRaw := text, func(i int) int { return i }
	if !strings.Contains(old, "\r") && strings.Contains(old, "\n") && bytes.Contains(text, []byte("\r\n")) {
		hay = bytes.ReplaceAll(text, []byte("\r\n"), []byte{'\n'})
		raw, norm := 0, 0
		toRaw = func(i int) int { // i never decreases by more than len(old)
			if i < norm {
				raw, norm = 0, 0
			}
			for norm < i {
				if text[raw] == '\r' && raw+1 < len(text) && text[raw+1] == '\n' {
					raw++
				}
				raw++
				norm++
			}
			return raw
		}
	}
	var found []span
	for from := 0; len(found) < limit; {
		i := bytes.Index(hay[from:], []byte(old))
		if i < 0 {
			break
		}
		from += i
		found = append(found, span{from, from + len(old)})
		if from += step; from >= len(hay) {
			break
		}
	}
	// Two passes, each of them rising, so that the mapping stays linear.
	for i := range found {
		found[i].start = toRaw(found[i].start)
	}
	for i := range found {
		found[i].end = toRaw(found[i].end)
	}
	return found
}

func lineAt(text []byte, at int) int { return bytes.Count(text[:at], []byte{'\n'}) + 1 }

func notUnique(text []byte, found []span, a editArgs) error {
	var lines []string
	for i, s := range found {
		if i == maxLinesNamed {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, strconv.Itoa(lineAt(text, s.start)))
	}
	count := strconv.Itoa(len(found))
	if len(found) == maxPlaces {
		count += "+"
	}
	return fault.New(fault.FSNotUnique, EditFile, "path", a.Path, "count", count, "lines", strings.Join(lines, ", "))
}

var numbered = pattern.Lazy(`(?m)^[ ]*\d+\t`)

// noMatch looks for what was probably meant, so that the model can mend its
// call instead of repeating it.
func noMatch(text []byte, a editArgs) error {
	refuse := func(reason string, at int) error {
		return fault.New(fault.FSNoMatch, EditFile, "path", a.Path, Case, reason, "line", strconv.Itoa(lineAt(text, at)))
	}
	if bare := numbered().ReplaceAllString(a.Old, ""); bare != a.Old && bare != "" {
		if f := find(text, bare, 1, 1); len(f) > 0 {
			return refuse("numbers", f[0].start)
		}
	}
	if at := findLoose(text, a.Old); at >= 0 {
		return refuse("whitespace", at)
	}
	if a.New != "" {
		if f := find(text, a.New, 2, 1); len(f) == 1 && len(strings.TrimSpace(a.New)) > 3 {
			return refuse("already", f[0].start)
		}
	}
	for line := range strings.Lines(a.Old) {
		if line = strings.TrimSpace(line); len(line) > 3 {
			if i := bytes.Index(text, []byte(line)); i >= 0 {
				return refuse("first_line", i)
			}
			break
		}
	}
	return fault.New(fault.FSNoMatch, EditFile, "path", a.Path)
}

// findLoose finds old in text when all white space is left out of both, and
// returns where it starts, or -1.
func findLoose(text []byte, old string) int {
	squeeze := func(s []byte) (out []byte, from []int) {
		for i, c := range s {
			if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				out, from = append(out, c), append(from, i)
			}
		}
		return out, from
	}
	needle, _ := squeeze([]byte(old))
	if len(needle) == 0 {
		return -1
	}
	hay, from := squeeze(text)
	if i := bytes.Index(hay, needle); i >= 0 {
		return from[i]
	}
	return -1
}
