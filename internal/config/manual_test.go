package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The manual shows every key, and each with the default that holds: a file that
// says nothing and the file of the manual are the same configuration.
func TestManualIsComplete(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "CONFIGURATION.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(manual), "```yaml\n")
	file, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the manual has no file")
	}
	shown := mustLoad(t, file, "")
	for _, v := range mustLoad(t, minimal, "").Values() {
		if v.Key == "sandbox.workspace.root" { // in another temporary directory
			continue
		}
		if shown.At(v.Key).Line == 0 {
			t.Errorf("%s is not shown", v.Key)
		}
		for _, w := range shown.Values() {
			if w.Key == v.Key && w.Text != v.Text {
				t.Errorf("%s is shown as %s, but is %s", v.Key, w.Text, v.Text)
			}
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bat\("([a-z_]+)"\)`).FindAllSubmatch(source, -1) {
			if key := string(m[1]); !regexp.MustCompile(`\b` + key + `\b`).MatchString(file) {
				t.Errorf("%s is not mentioned", key)
			}
		}
	}
	if got := problems(t, uncommented(file)); got != nil {
		t.Errorf("a key that is only explained is not understood: %q", got)
	}
}

// uncommented turns the keys that stand behind # into keys that hold.
func uncommented(file string) string {
	return regexp.MustCompile(`(?m)^( *)# ((?:[a-z_]+:|  ).*)$`).ReplaceAllString(file, "$1$2")
}
