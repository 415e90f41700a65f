package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"recursive", "permission", "target", "read_file", "write_file", "root", "x"}
	for word, want := range map[string]string{
		"recusive": "recursive", "premission": "permission", "TARGET": "target", "targte": "target", "read_fil": "read_file",
		"root": "root", "roots": "root", "banana": "", "": "", "y": "", strings.Repeat("r", 100): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// The distance is symmetric and at most the length of the longer word.
func TestDistance(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "recursive", "recusrive", "delete"}
	for _, a := range words {
		for _, b := range words {
			d := distance(a, b)
			if d != distance(b, a) || d > max(len(a), len(b)) || (d == 0) != (a == b) {
				t.Errorf("distance(%q, %q) = %d", a, b, d)
			}
		}
	}
	if d := distance("recursive", "recusrive"); d != 1 {
		t.Errorf("swapped neighbours count %d", d)
	}
}
