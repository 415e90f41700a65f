package main

import (
	"strings"
	"testing"

	"sunaba/pod"
	"sunaba/texts"
)

// The example runs with its scripted model, in every language, and shows what
// it is there to show.
func TestExample(t *testing.T) {
	for _, language := range []string{"en", "ja", "zh-CN"} {
		t.Run(language, func(t *testing.T) {
			var out strings.Builder
			e := example{out: &out, language: language, host: "127.0.0.1:1"} // nothing listens there
			if err := e.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			for _, want := range []string{
				"writer", "reader", "generated.go",
				"greeting.txt is written.", "I may not change it.",
				"[fs.read_only]", "[fs.out_of_scope]",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			// The writer: generated.go, .env, docs; the reader: greeting.txt.
			if n := strings.Count(text, "[fs."); n != 4 {
				t.Errorf("%d refusals, want 4:\n%s", n, text)
			}
			if strings.Contains(text, "example.pods.") || strings.Contains(text, "{pod}") {
				t.Errorf("a text is missing:\n%s", text)
			}
		})
	}
}

// A manifest with mistakes is told to a person in sentences, each with its
// place.
func TestBadManifestIsExplained(t *testing.T) {
	words, err := texts.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	_, err = pod.Parse("bad.toml", []byte("[pod]\nname = 'n'\npdw = '.'\n"))
	e := example{texts: words}
	want := `bad.toml:1:1: The table [scope] is required: without it the Pod could touch nothing. Add [scope] with at least one [[scope.allow]].
bad.toml:1:2: The key "pwd" is required.
bad.toml:3:1: There is no key "pdw" here. Did you mean "pwd"?`
	if got := e.explain(err).Error(); got != want {
		t.Errorf("told as\n%s\nwant\n%s", got, want)
	}
}
