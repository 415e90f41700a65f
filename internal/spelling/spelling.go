// Package spelling knows which names some volumes take for one.
//
// The one rule to keep in mind: it takes more for one than any single volume
// does, so it may only be used to refuse.
package spelling

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"sunaba/internal/pattern"
)

// Fold maps the spellings of a path that some case-folding volume takes for one
// name onto one: upper and lower case, composed and decomposed letters, code
// points that do not show (ext4 and HFS+ skip them), and dots and blanks at the
// end of a name (FAT and NTFS drop them).
func Fold(path string) string {
	if isFolded(path) {
		return path
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		bare := strings.TrimRight(strings.Map(visible, name), ". ")
		if bare == "" { // "..." is a name where nothing is dropped
			bare = name
		}
		names[i] = norm.NFC.String(cases.Fold().String(norm.NFD.String(bare)))
	}
	return strings.Join(names, "/")
}

// isFolded reports whether path certainly is what Fold would make of it.
func isFolded(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 0x80, 'A' <= c && c <= 'Z':
			return false
		case (c == '.' || c == ' ') && (i+1 == len(path) || path[i+1] == '/'):
			return false
		}
	}
	return true
}

// visible drops the code points that do not show.
func visible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	return r
}

// short is what a name of the old 8.3 form looks like that FAT and NTFS keep
// beside a longer one.
var short = pattern.Lazy(`/[^/.]{1,6}~[0-9]{1,6}(\.[^/.]{1,3})?(/|$)`)

// Shortened returns the directory that holds the first name of path that may be
// the short one of another entry. What known says of the path to such a name is
// that it is a name of its own.
func Shortened(path string, known func(path string) bool) (dir string, ok bool) {
	if !strings.Contains(path, "~") {
		return "", false
	}
	for from := 0; from < len(path); {
		at := short().FindStringIndex(path[from:])
		if at == nil {
			break
		}
		start, end := from+at[0], from+at[1]
		name := strings.TrimSuffix(path[:end], "/")
		if !known(name) {
			return path[:max(start, 1)], true
		}
		from = len(name)
	}
	return "", false
}
