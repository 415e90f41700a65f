// Package suggest finds the word that was most likely meant.
//
// The one rule to keep in mind: a suggestion is shown, never acted on.
package suggest

import "strings"

// longest bounds the words that are compared, in bytes.
const longest = 64

// Nearest returns the one of known that word was most likely meant to be, "" when
// none is near enough: up to a third of its letters and one more may differ.
// Upper and lower case do not.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, limit := "", len(word)/3+2
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < limit && d < max(len(word), len(k)) {
			best, limit = k, d
		}
	}
	return best
}

// distance is the number of inserted, removed, replaced or swapped neighbouring
// bytes that turn a into b.
func distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return len(a) + len(b)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
