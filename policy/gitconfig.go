package policy

import (
	"bufio"
	"io"
	"os"
	"strings"
)

// maxGitConfig bounds what is read of one configuration of git's, in bytes.
const maxGitConfig = 1 << 20

// gitSetting is one line of a configuration of git's. Key is its section, the
// subsection where there is one, and its name, with dots between; section and
// name are in lower case.
type gitSetting struct{ key, value string }

// readGitConfig reads a configuration as git does, up to where git would refuse
// it; nothing where there is none.
func readGitConfig(path string) []gitSetting {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil // reading a pipe might never end
	}
	return parseGitConfig(io.LimitReader(f, maxGitConfig))
}

func parseGitConfig(r io.Reader) (out []gitSetting) {
	p := gitParser{r: bufio.NewReader(r)}
	section := ""
	for {
		switch c := p.next(); {
		case c == 0:
			return out
		case c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == 0xef || c == 0xbb || c == 0xbf: // a byte order mark too
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			var ok bool
			if section, ok = p.section(); !ok {
				return out
			}
		default:
			name, value, ok := p.setting(c)
			if !ok {
				return out
			}
			out = append(out, gitSetting{section + "." + name, value})
		}
	}
}

// gitParser reads bytes; 0 is the end, which no configuration holds.
type gitParser struct{ r *bufio.Reader }

func (p gitParser) next() byte {
	c, err := p.r.ReadByte()
	if err != nil {
		return 0
	}
	return c
}

func (p gitParser) skipLine() {
	for c := p.next(); c != 0 && c != '\n'; {
		c = p.next()
	}
}

// section reads what follows "[": a name, and a subsection in quotes.
func (p gitParser) section() (name string, ok bool) {
	var b strings.Builder
	for {
		switch c := p.next(); {
		case c == ']':
			return strings.ToLower(b.String()), true
		case c == ' ' || c == '\t':
			for c == ' ' || c == '\t' {
				c = p.next()
			}
			if c != '"' {
				return "", false
			}
			sub, ok := p.subsection()
			return strings.ToLower(b.String()) + "." + sub, ok
		case c == 0 || c == '\n':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
}

func (p gitParser) subsection() (name string, ok bool) {
	var b strings.Builder
	for {
		switch c := p.next(); c {
		case '"':
			return b.String(), p.next() == ']'
		case '\\':
			c = p.next()
			if c == 0 {
				return "", false
			}
			b.WriteByte(c)
		case 0, '\n':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
}

// setting reads a name that begins with c, and its value; "" is that of a name
// alone.
func (p gitParser) setting(c byte) (name, value string, ok bool) {
	var b strings.Builder
	for isNameByte(c) {
		b.WriteByte(c)
		c = p.next()
	}
	name = strings.ToLower(b.String())
	for c == ' ' || c == '\t' || c == '\r' {
		c = p.next()
	}
	switch c {
	case 0, '\n':
		return name, "", name != ""
	case '=':
		value, ok = p.value()
		return name, value, ok && name != ""
	}
	return "", "", false
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// value reads up to the end of the line, without the blanks around it.
func (p gitParser) value() (string, bool) {
	var b strings.Builder
	quoted, kept := false, 0 // how much of b blanks at its end do not belong to
	for {
		c := p.next()
		switch {
		case c == 0 || c == '\n':
			return b.String()[:kept], !quoted
		case c == '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case '\r':
				if p.next() == '\n' {
					continue
				}
				return "", false
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '"', '\\':
			default:
				return "", false
			}
			b.WriteByte(c)
			kept = b.Len()
		case c == '"':
			quoted = !quoted
			kept = b.Len()
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return b.String()[:kept], true
		case !quoted && (c == ' ' || c == '\t' || c == '\r'):
			if b.Len() > 0 {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
			kept = b.Len()
		}
	}
}
