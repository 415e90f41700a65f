package gitignore

// glob is a compiled wildcard pattern: a list of tokens over bytes.
type glob []token

type token struct {
	kind kind
	lit  byte // one
	set  *set // class
	skip bool // deep: the slash that follows may be left out with it
}

type kind uint8

const (
	one   kind = iota // exactly lit
	any1              // any byte but a slash
	class             // any byte of set but a slash
	star              // any run of bytes without a slash
	deep              // any run of bytes, slashes included
	never             // matches nothing: the pattern is malformed
)

type set [256]bool

// compile never fails: a malformed pattern becomes one that matches nothing.
func compile(s string) glob {
	var g glob
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '?':
			g = append(g, token{kind: any1})
			i++
		case '*':
			start := i
			for i < len(s) && s[i] == '*' {
				i++
			}
			t := token{kind: star}
			// Two or more stars that fill a whole component cross slashes. A
			// component may begin where the literal prefix ended: Git's quirk.
			opens := start == 0 || s[start-1] == '/'
			closes := i == len(s) || s[i] == '/' || (s[i] == '\\' && i+1 < len(s) && s[i+1] == '/')
			if i-start >= 2 && opens && closes {
				t.kind, t.skip = deep, i < len(s) && s[i] == '/'
			}
			g = append(g, t)
		case '[':
			set, n := compileClass(s[i:])
			if n == 0 {
				return glob{{kind: never}}
			}
			g = append(g, token{kind: class, set: set})
			i += n
		case '\\':
			if i+1 == len(s) {
				return glob{{kind: never}}
			}
			g = append(g, token{lit: s[i+1]})
			i += 2
		default:
			g = append(g, token{lit: c})
			i++
		}
	}
	return g
}

// compileClass reads "[…]" at the start of s and returns its length, 0 when it
// is malformed.
func compileClass(s string) (*set, int) {
	var m set
	i, negated := 1, false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negated = true
		i++
	}
	var prev byte
	for first := true; first || i >= len(s) || s[i] != ']'; first = false {
		if i >= len(s) {
			return nil, 0
		}
		c := s[i]
		switch {
		case c == '\\':
			i++
			if i == len(s) {
				return nil, 0
			}
			c = s[i]
			m[c] = true
		case c == '-' && prev != 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			high := s[i]
			if high == '\\' {
				i++
				if i == len(s) {
					return nil, 0
				}
				high = s[i]
			}
			for b := int(prev); b <= int(high); b++ {
				m[b] = true
			}
			c = 0
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := i + 2
			for end < len(s) && s[end] != ']' {
				end++
			}
			if end == len(s) {
				return nil, 0
			}
			if end-1 < i+2 || s[end-1] != ':' {
				m['['] = true // no ":]": an ordinary member
				break
			}
			if !m.addNamed(s[i+2 : end-1]) {
				return nil, 0
			}
			i, c = end, 0
		default:
			m[c] = true
		}
		prev = c
		i++
	}
	if negated {
		for b := range m {
			m[b] = !m[b]
		}
	}
	m['/'] = false
	return &m, i + 1
}

func (m *set) addNamed(name string) bool {
	lower := func(b byte) bool { return 'a' <= b && b <= 'z' }
	upper := func(b byte) bool { return 'A' <= b && b <= 'Z' }
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	graph := func(b byte) bool { return '!' <= b && b <= '~' }
	var in func(byte) bool
	switch name {
	case "alnum":
		in = func(b byte) bool { return lower(b) || upper(b) || digit(b) }
	case "alpha":
		in = func(b byte) bool { return lower(b) || upper(b) }
	case "blank":
		in = func(b byte) bool { return b == ' ' || b == '\t' }
	case "cntrl":
		in = func(b byte) bool { return b < ' ' || b == 0x7f }
	case "digit":
		in = digit
	case "graph":
		in = graph
	case "lower":
		in = lower
	case "print":
		in = func(b byte) bool { return b == ' ' || graph(b) }
	case "punct":
		in = func(b byte) bool { return graph(b) && !lower(b) && !upper(b) && !digit(b) }
	case "space":
		in = func(b byte) bool { return b == ' ' || ('\t' <= b && b <= '\r') }
	case "upper":
		in = upper
	case "xdigit":
		in = func(b byte) bool { return digit(b) || ('a' <= b && b <= 'f') || ('A' <= b && b <= 'F') }
	default:
		return false
	}
	for b := range m {
		m[b] = m[b] || in(byte(b))
	}
	return true
}

// state of one token position: off, stayed on, or newly arrived at.
type state uint8

const (
	off state = iota
	stayed
	arrived
)

// match reports whether the whole of s matches. It follows all token positions
// at once, so the work is at most len(g)·len(s): no pattern can blow up.
func (g glob) match(s string) bool {
	now := make([]state, len(g)+1)
	next := make([]state, len(g)+1)
	now[0] = arrived
	g.spread(now)
	for i := 0; i < len(s); i++ {
		clear(next)
		alive := false
		for p, t := range g {
			if now[p] == off {
				continue
			}
			c, ok := s[i], false
			switch t.kind {
			case one:
				ok = c == t.lit
			case any1:
				ok = c != '/'
			case class:
				ok = t.set[c]
			case star, deep:
				if t.kind == deep || c != '/' {
					next[p], alive = max(next[p], stayed), true
				}
			}
			if ok {
				next[p+1], alive = arrived, true
			}
		}
		if !alive {
			return false
		}
		g.spread(next)
		now, next = next, now
	}
	return now[len(g)] != off
}

// spread follows the tokens that may match nothing. A "**/" may be left out
// with its slash only on arrival, not after it has matched something.
func (g glob) spread(on []state) {
	for p, t := range g {
		if on[p] == off || (t.kind != star && t.kind != deep) {
			continue
		}
		on[p+1] = max(on[p+1], on[p])
		if t.skip && on[p] == arrived {
			on[p+2] = arrived
		}
	}
}
