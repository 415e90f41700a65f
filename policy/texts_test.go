package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Everything this package gives a person to read by name has a sentence in
// every shipped language.
func TestReasonsHaveTexts(t *testing.T) {
	keys := map[string]bool{}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reason := regexp.MustCompile(`"((?:root|entry|scope|environment|unresolvable)_[a-z_]+[a-z]|nested|runtime_writable)"`)
	link := regexp.MustCompile(`linkError\{"([a-z_]+)"`)
	why := regexp.MustCompile(`Why: "([a-z_]+)"`)
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") || name == "rules.go" {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for pattern, prefix := range map[*regexp.Regexp]string{
			reason: "policy.why.", link: "policy.why.unresolvable_", why: "view.why.",
		} {
			for _, m := range pattern.FindAllStringSubmatch(string(source), -1) {
				keys[prefix+m[1]] = true
			}
		}
	}
	for _, kind := range kinds {
		keys["policy.difference."+kind.name] = true
	}
	for _, reason := range []string{"never", "unreadable", "torn", "foreign"} {
		keys["policy.not_applied."+reason] = true
	}
	if len(keys) < 40 {
		t.Fatalf("only %d keys found; the patterns are wrong", len(keys))
	}
	for _, id := range []string{"en", "ja", "zh-CN"} {
		data, err := os.ReadFile("../internal/locale/locales/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(data, &texts); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if texts[key] == "" {
				t.Errorf("%s: no text for %s", id, key)
			}
		}
	}
}
