package gitignore

import (
	"bytes"
	"strings"
)

// pattern is one line of an ignore file.
type pattern struct {
	negated  bool
	dirOnly  bool
	anchored bool   // has a slash: matched against the whole relative path
	prefix   string // literal beginning, compared as it stands
	rest     glob   // what follows prefix
}

func parse(text []byte) []pattern {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var patterns []pattern
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if i := bytes.IndexByte(line, 0); i >= 0 {
			line = line[:i]
		}
		patterns = append(patterns, newPattern(trimSpaces(string(line))))
	}
	return patterns
}

// trimSpaces drops trailing blanks except those behind a backslash.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
			if i == len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}

func newPattern(s string) pattern {
	var p pattern
	if strings.HasPrefix(s, "!") {
		p.negated, s = true, s[1:]
	}
	if strings.HasSuffix(s, "/") {
		p.dirOnly, s = true, s[:len(s)-1]
	}
	p.anchored = strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	literal := strings.IndexAny(s, `*?[\`)
	if literal < 0 {
		literal = len(s)
	}
	p.prefix, p.rest = s[:literal], compile(s[literal:])
	return p
}

func (p *pattern) match(rel string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if !p.anchored {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	tail, ok := strings.CutPrefix(rel, p.prefix)
	if !ok {
		return false
	}
	if len(p.rest) == 0 {
		return tail == "" && rel != ""
	}
	return p.rest.match(tail)
}
