package tool

import (
	"bytes"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"

	"sunaba/fault"
)

// maxLiterals bounds how many texts are looked for at once.
const maxLiterals = 8

// matcher finds the lines that a regular expression matches. Where every match
// must contain one of a few texts, bytes.Index looks for these first: that is
// an order of magnitude faster than the expression.
type matcher struct {
	re       *regexp.Regexp
	literals [][]byte // every match contains one of them; empty: none are known
	fold     bool     // literals are in lower case and stand for both cases
	byLine   bool     // the expression is asked about one line at a time
}

// newMatcher compiles an RE2 expression; ^ and $ stand for the ends of a line.
func newMatcher(pattern string, caseInsensitive bool) (*matcher, error) {
	flags := "(?m)"
	if caseInsensitive {
		flags = "(?im)"
	}
	tree, err := syntax.Parse(flags+pattern, syntax.Perl)
	var re *regexp.Regexp
	if err == nil {
		re, err = regexp.Compile(flags + pattern)
	}
	if err != nil {
		return nil, regexFault(err, pattern)
	}
	m := &matcher{re: re, byLine: speaksOfEnds(tree)}
	for _, l := range required(tree) {
		m.literals = append(m.literals, []byte(l.text))
		m.fold = m.fold || l.fold
	}
	if m.fold {
		for i := range m.literals {
			lowerASCII(m.literals[i])
		}
	}
	return m, nil
}

// nowhere stands for the place of a literal that does not come any more.
const nowhere = math.MaxInt

// scan finds the matching lines of one text, from its start to its end.
type scan struct {
	m     *matcher
	buf   []byte
	hay   []byte // where the literals are looked for
	ahead []int  // where each literal comes next
}

// scan prepares a search of buf; scratch is used if it is large enough, and
// given back.
func (m *matcher) scan(buf, scratch []byte) (s scan, used []byte) {
	s = scan{m: m, buf: buf, hay: buf, ahead: make([]int, len(m.literals))}
	if m.fold {
		// Two characters outside ASCII fold to ASCII letters, but the literals
		// hold neither of these letters: see foldable.
		scratch = append(scratch[:0], buf...)
		lowerASCII(scratch)
		s.hay = scratch
	}
	for i := range s.ahead {
		s.ahead[i] = -1
	}
	return s, scratch
}

func lowerASCII(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

// next returns the first line from pos on that matches, without its line end.
// pos is the start of a line and never decreases.
func (s *scan) next(pos int) (start, end int, ok bool) {
	for pos < len(s.buf) {
		at := s.candidate(pos)
		if at < 0 {
			return 0, 0, false
		}
		if start = bytes.LastIndexByte(s.buf[:at], '\n') + 1; start == len(s.buf) {
			return 0, 0, false // behind the last line end there is no line
		}
		end = len(s.buf)
		if i := bytes.IndexByte(s.buf[at:], '\n'); i >= 0 {
			end = at + i
		}
		if s.m.re.Match(s.buf[start:end]) {
			return start, end, true
		}
		// Without literals the expression matched across lines. Asking it so
		// again and again could cost the square of the text: now line by line.
		s.m.byLine = true
		pos = end + 1
	}
	return 0, 0, false
}

// candidate returns a place in the first line from pos on that may match, -1
// when there is none.
func (s *scan) candidate(pos int) int {
	switch {
	case len(s.ahead) > 0:
		first := nowhere
		for i, literal := range s.m.literals {
			if s.ahead[i] < pos {
				s.ahead[i] = nowhere
				if at := bytes.Index(s.hay[pos:], literal); at >= 0 {
					s.ahead[i] = pos + at
				}
			}
			first = min(first, s.ahead[i])
		}
		if first < nowhere {
			return first
		}
		return -1
	case s.m.byLine:
		return pos
	}
	if loc := s.m.re.FindIndex(s.buf[pos:]); loc != nil {
		return pos + loc[0]
	}
	return -1
}

// speaksOfEnds reports whether the expression has \A, \z or a ^ or $ outside
// multi-line mode.
func speaksOfEnds(t *syntax.Regexp) bool {
	if t.Op == syntax.OpBeginText || t.Op == syntax.OpEndText {
		return true
	}
	for _, sub := range t.Sub {
		if speaksOfEnds(sub) {
			return true
		}
	}
	return false
}

// literal is a text that a match contains; with fold in any case.
type literal struct {
	text string
	fold bool
}

// required returns texts of which every match contains at least one, the
// longest it can tell; none when it cannot tell.
func required(t *syntax.Regexp) []literal {
	switch t.Op {
	case syntax.OpLiteral:
		if t.Flags&syntax.FoldCase == 0 {
			return []literal{{string(t.Rune), false}}
		}
		if text := foldable(string(t.Rune)); text != "" {
			return []literal{{text, true}}
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range t.Sub {
			if l := required(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range t.Sub {
			l := required(sub)
			if len(l) == 0 || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	case syntax.OpCapture, syntax.OpPlus:
		return required(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return required(t.Sub[0])
		}
	}
	return nil
}

func shortest(list []literal) int {
	n := 0
	for i, l := range list {
		if i == 0 || len(l.text) < n {
			n = len(l.text)
		}
	}
	return n
}

// foldable returns the longest run of text whose letters have no case variant
// outside ASCII (k and s have), in lower case.
func foldable(text string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r > 0x7e || r == 'k' || r == 's' }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

// regexFault names what is wrong with an expression, and what RE2 leaves out.
func regexFault(err error, pattern string) error {
	reason, fragment := "syntax", pattern
	e, ok := err.(*syntax.Error)
	if ok {
		fragment = e.Expr
	}
	switch {
	case strings.Contains(pattern, "(?=") || strings.Contains(pattern, "(?!") ||
		strings.Contains(pattern, "(?<=") || strings.Contains(pattern, "(?<!"):
		reason = "look_around"
	case ok && e.Code == syntax.ErrInvalidEscape && len(fragment) == 2 && '1' <= fragment[1] && fragment[1] <= '9':
		reason = "backreference"
	case ok && e.Code == syntax.ErrInvalidRepeatSize, ok && e.Code == syntax.ErrLarge, ok && e.Code == syntax.ErrNestingDepth:
		reason = "too_large"
	}
	return fault.Wrap(err, fault.ToolRegex, SearchFile, "pattern", clip(pattern), Case, reason, "at", clip(fragment))
}
