// Package screen prints for a person: aligned tables, a few colours, and no
// untrusted character that could lie about what is on the screen.
//
// The one rule to keep in mind: whatever did not come from the program itself
// passes Escape before it is printed (C-91).
package screen

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with every character replaced that is not plainly visible:
// control characters, line breaks, bidirectional and other invisible format
// characters, unusual spaces, and bytes that are not UTF-8. What it returns is
// one line. A backslash stays as it is, since paths hold them.
func Escape(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case hidden(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

// hidden reports whether r does not show, or shows as something else. Variation
// selectors and enclosing marks are printable to Go, yet invisible.
func hidden(r rune) bool {
	return !unicode.IsPrint(r) ||
		unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}
