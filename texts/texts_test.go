package texts

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/pod"
	"sunaba/scope"
)

// Every cause is told, in a sentence of the language, and nothing in it moves
// the cursor of a terminal.
func TestExplain(t *testing.T) {
	_, manifest := pod.Parse("bad.toml", []byte("[pod]\nname = 'n'\npdw = '.'\n"))
	_, rules := scope.New([]scope.Rule{{Target: "/a"}, {Target: "b", Permission: scope.Read}}, nil)
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"nothing", nil, nil},
		{"a manifest", manifest, []string{
			"bad.toml:1:1: The table [scope] is required: without it the Pod could touch nothing. Add [scope] with at least one [[scope.allow]].",
			`bad.toml:1:2: The key "pwd" is required.`,
			`bad.toml:3:1: There is no key "pdw" here. Did you mean "pwd"?`,
		}},
		{"a hint", fault.New(fault.PodTurns, "run", "limit", "32"), []string{
			"The model did not finish within 32 answers. Ask it to go on, or allow more answers.",
		}},
		{"no code", fs.ErrClosed, []string{"file already closed"}},
		{"a terminal's command", errors.New("a\x1b[2Jb"), []string{`a\x1b[2Jb`}},
	} {
		english, err := Load("en")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, english.Explain(c.err)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
	for _, language := range Languages() {
		texts, err := Load(language)
		if err != nil {
			t.Fatal(err)
		}
		for _, told := range append(texts.Explain(rules), texts.Explain(manifest)...) {
			if strings.Contains(told, "{") || strings.Contains(told, "policy.") || strings.Contains(told, "pod.why") {
				t.Errorf("%s: %q", language, told)
			}
		}
		if n := len(texts.Explain(rules)); n != 2 {
			t.Errorf("%s: two bad rules are told as %d", language, n)
		}
	}
	if _, err := Load("xx"); fault.CodeOf(err).Family() != "locale" {
		t.Errorf("a language that is not there: %v", err)
	}
}
