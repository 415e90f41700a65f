package locale

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
)

// write makes a directory with one file and returns the directory.
func write(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func texts(t *testing.T, id string) map[string]string {
	t.Helper()
	data, err := shipped.ReadFile("locales/" + id + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(id+".json", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Covers: I18N-02, SD-32
func TestShippedLanguages(t *testing.T) {
	if diff := cmp.Diff([]string{"en", "ja", "zh-CN"}, Shipped()); diff != "" {
		t.Fatal(diff)
	}
	for id, name := range map[string]string{"en": "English", "ja": "日本語", "zh-CN": "简体中文"} {
		c, err := LoadFrom(id)
		if err != nil {
			t.Fatal(err)
		}
		if c.ID() != id || c.LanguageName() != name {
			t.Errorf("%s: got %s %s", id, c.ID(), c.LanguageName())
		}
	}
}

// Case I18N-002: no language lacks a key or a placeholder of another.
// Covers: I18N-09, NFR-08
func TestParityOfKeysAndPlaceholders(t *testing.T) {
	english := texts(t, Fallback)
	for _, id := range Shipped() {
		own := texts(t, id)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(english)), slices.Sorted(maps.Keys(own))); diff != "" {
			t.Errorf("%s has other keys than en:\n%s", id, diff)
		}
		for key, text := range own {
			if diff := cmp.Diff(placeholders(english[key]), placeholders(text)); diff != "" {
				t.Errorf("%s: %s has other placeholders than en:\n%s", id, key, diff)
			}
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is empty", id, key)
			}
		}
	}
}

// Beside Chinese and Japanese characters stand their own marks; the narrow ones
// are left to code, such as argv lists. Japanese keeps ": " before a value.
func TestPunctuation(t *testing.T) {
	const script = `[\p{Han}\p{Hiragana}\p{Katakana}]`
	for id, narrow := range map[string]string{"ja": `(,;!?`, "zh-CN": `(,;:!?`} {
		wrong := regexp.MustCompile(script + `[` + narrow + `]|[,;)] ?` + script)
		for key, text := range texts(t, id) {
			if key == "exec.shell_not_approved.none.hint" || key == "workspace.instructions" { // code; a list as Markdown
				continue
			}
			if at := wrong.FindString(text); at != "" {
				t.Errorf("%s: %s has %q; write the wide mark", id, key, at)
			}
		}
	}
}

// Covers: I18N-01, SD-31
func TestEveryCodeHasTextInEveryLanguage(t *testing.T) {
	for _, id := range Shipped() {
		own := texts(t, id)
		for _, code := range fault.Codes() {
			if own[string(code)] == "" {
				t.Errorf("%s has no text for %s", id, code)
			}
		}
	}
}

// A text of a code's family must belong to a code, or to a case of one: a
// renamed code would leave its text behind.
func TestNoTextOfAnUnknownCode(t *testing.T) {
	codes := map[string]bool{}
	families := map[string]bool{}
	for _, c := range fault.Codes() {
		codes[string(c)], families[c.Family()] = true, true
	}
	for key := range texts(t, Fallback) {
		base, isHint := strings.CutSuffix(key, ".hint")
		if !isHint || !families[fault.Code(key).Family()] {
			continue
		}
		parts := strings.Split(base, ".")
		if len(parts) < 2 || len(parts) > 3 || !codes[strings.Join(parts[:2], ".")] {
			t.Errorf("%s is the hint of no code", key)
		}
		if _, ok := texts(t, Fallback)[base]; !ok {
			t.Errorf("%s is the hint of no text", key)
		}
	}
}

func TestCases(t *testing.T) {
	c := &Catalog{id: "en", texts: map[string]string{
		"a.b": "plain {x}", "a.b.hint": "plain hint",
		"a.b.c": "case {x}", "a.b.c.hint": "case hint {x}",
		"a.b.d": "no hint",
	}}
	for name, row := range map[string]struct {
		code          fault.Code
		args          fault.Args
		message, hint string
	}{
		"plain":               {"a.b", fault.Args{"x": "1"}, "plain 1", "plain hint"},
		"by argument":         {"a.b", fault.Args{"x": "1", "case": "c"}, "case 1", "case hint 1"},
		"by key":              {"a.b.c", fault.Args{"x": "1"}, "case 1", "case hint 1"},
		"by both":             {"a.b.c", fault.Args{"x": "1", "case": "c"}, "case 1", "case hint 1"},
		"without a hint":      {"a.b", fault.Args{"case": "d"}, "no hint", ""},
		"unknown, argument":   {"a.b", fault.Args{"x": "1", "case": "z"}, "plain 1", "plain hint"},
		"unknown, key":        {"a.b.z", fault.Args{"x": "1"}, "plain 1", ""},
		"unknown code":        {"n.n", nil, "n.n", ""},
		"unknown code's case": {"n.n.n", nil, "n.n.n", ""},
	} {
		message, hint := c.Fault(row.code, row.args)
		if message != row.message || hint != row.hint {
			t.Errorf("%s: %q %q, want %q %q", name, message, hint, row.message, row.hint)
		}
	}
}

// Covers: I18N-03, AT-19, NFR-08
func TestAnotherLanguageNeedsNoCode(t *testing.T) {
	dir := write(t, "de.json", "\ufeff"+`{"language.name":"Deutsch","locale.id":"»{id}« ist keine Sprachkennung."}`)
	c, err := LoadFrom("de", dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.LanguageName(); got != "Deutsch" {
		t.Errorf("name: %s", got)
	}
	message, hint := c.Fault(fault.LocaleID, fault.Args{"id": "x/y"})
	if message != "»x/y« ist keine Sprachkennung." {
		t.Errorf("message: %s", message)
	}
	if want := texts(t, Fallback)["locale.id.hint"]; hint != want {
		t.Errorf("hint: %q, want the English %q", hint, want)
	}
	if _, err := LoadFrom("de"); fault.CodeOf(err) != fault.LocaleMissing {
		t.Errorf("without the directory: %v", err)
	}
}

// Covers: I18N-03
func TestLaterDirectoriesOverride(t *testing.T) {
	first := write(t, "ja.json", `{"language.name":"一","locale.duplicate_key":"{place} {key} 一"}`)
	second := write(t, "ja.json", `{"language.name":"二"}`)
	c, err := LoadFrom("ja", first, filepath.Join(first, "none"), filepath.Join(first, "ja.json"), second)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.LanguageName(); got != "二" {
		t.Errorf("name: %s", got)
	}
	if got := c.Text("locale.duplicate_key", fault.Args{"place": "p", "key": "k"}); got != "p k 一" {
		t.Errorf("text of the first directory: %s", got)
	}
	english := write(t, "en.json", `{"language.name":"Plain English"}`)
	c, err = LoadFrom("en", english)
	if err != nil || c.LanguageName() != "Plain English" {
		t.Errorf("en: %v %v", c.LanguageName(), err)
	}
}

// Covers: I18N-10
func TestFallback(t *testing.T) {
	dir := write(t, "fr.json", `{"language.name":"français"}`)
	c, err := LoadFrom("fr", dir)
	if err != nil {
		t.Fatal(err)
	}
	english := texts(t, Fallback)["locale.syntax.hint"]
	for key, want := range map[string]string{
		"language.name":      "français",
		"locale.syntax.hint": english,
		"no.such.key":        "no.such.key",
	} {
		if got := c.Text(key, nil); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	var none *Catalog
	if got := none.Text("fs.read_only", nil); got != "fs.read_only" || none.ID() != "en" {
		t.Errorf("nil: %q", got)
	}
}

// Covers: I18N-09
func TestPlaceholders(t *testing.T) {
	c := &Catalog{id: "en", texts: map[string]string{"k": "{a} and {b}, {a}; {not one} {}"}}
	for name, row := range map[string]struct {
		args fault.Args
		want string
	}{
		"all":              {fault.Args{"a": "1", "b": "2"}, "1 and 2, 1; {not one} {}"},
		"a missing one":    {fault.Args{"a": "1"}, "1 and {b}, 1; {not one} {}"},
		"none":             {nil, "{a} and {b}, {a}; {not one} {}"},
		"a brace in a one": {fault.Args{"a": "{b}", "b": "2"}, "{b} and 2, {b}; {not one} {}"},
		"an empty one":     {fault.Args{"a": "", "b": ""}, " and , ; {not one} {}"},
	} {
		if got := c.Text("k", row.args); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// Covers: I18N-11, AT-20
func TestBadFilesAreFatal(t *testing.T) {
	good := `{"language.name":"X"}`
	for name, row := range map[string]struct {
		content string
		code    fault.Code
		place   string // line:column
	}{
		"empty":             {"", fault.LocaleSyntax, "1:1"},
		"array":             {"[]", fault.LocaleSyntax, "1:1"},
		"cut":               {`{"language.name":"X"`, fault.LocaleSyntax, "1:21"},
		"missing comma":     {"{\"language.name\":\"X\"\n\"locale.id\":\"{id}\"}", fault.LocaleSyntax, "2:1"},
		"two objects":       {good + "\n" + good, fault.LocaleSyntax, "2:1"},
		"trailing text":     {good + "x", fault.LocaleSyntax, "1:22"},
		"number":            {"{\n  \"language.name\": 1}", fault.LocaleSyntax, "2:20"},
		"null":              {`{"language.name":null}`, fault.LocaleSyntax, "1:18"},
		"nested":            {`{"language.name":{"x":"y"}}`, fault.LocaleSyntax, "1:18"},
		"not UTF-8":         {"{\"language.name\":\"日\xff\"}", fault.LocaleSyntax, "1:20"},
		"unknown key":       {"{\n  \"language.nam\": \"X\"}", fault.LocaleUnknownKey, "2:3"},
		"comment as a key":  {`{"_comment":"X"}`, fault.LocaleUnknownKey, "1:2"},
		"duplicate":         {"{\"language.name\":\"X\",\n\t\"language.name\":\"Y\"}", fault.LocaleDuplicateKey, "2:2"},
		"other placeholder": {`{"locale.id":"{id} {path}"}`, fault.LocalePlaceholder, "1:2"},
		"lost placeholder":  {`{"locale.id":"no"}`, fault.LocalePlaceholder, "1:2"},
		"too large":         {good + strings.Repeat(" ", maxFileBytes), fault.LocaleTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, "de.json", row.content)
			_, err := LoadFrom("de", dir)
			if fault.CodeOf(err) != row.code {
				t.Fatalf("got %v, want %s", err, row.code)
			}
			args := err.(*fault.Error).Args
			want := filepath.Join(dir, "de.json")
			if row.place == "" {
				if args["file"] != want {
					t.Errorf("file %q, want %q", args["file"], want)
				}
			} else if args["place"] != want+":"+row.place {
				t.Errorf("place %q, want %q", args["place"], row.place)
			}
			for _, name := range placeholders(texts(t, Fallback)[string(row.code)]) {
				if _, ok := args[name]; !ok {
					t.Errorf("the fault lacks the fact %s", name)
				}
			}
		})
	}
	if _, err := LoadFrom("de", write(t, "de.json", good)); err != nil {
		t.Errorf("the good twin: %v", err)
	}
	if _, err := LoadFrom("ja", write(t, "en.json", "{")); fault.CodeOf(err) != fault.LocaleSyntax {
		t.Errorf("a broken en.json under another language: %v", err)
	}
}

// Covers: I18N-04
func TestIdentifiers(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(outside, "locales")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "x", "../x", "/etc/passwd", `..\x`, "ja/../en", "ja.json", "en\n", "en_US", "ja\x00", "-en", "en-", strings.Repeat("a-", 40) + "a"} {
		if _, err := LoadFrom(id, inside); fault.CodeOf(err) != fault.LocaleID {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"pt-BR", "zh-Hant-TW", "sr-Latn", "fil"} {
		if _, err := LoadFrom(id, write(t, id+".json", `{}`)); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Covers: I18N-05
func TestMissingLanguageNamesWhatThereIs(t *testing.T) {
	dir := write(t, "pt-BR.json", `{}`)
	_, err := LoadFrom("de", dir)
	if fault.CodeOf(err) != fault.LocaleMissing {
		t.Fatal(err)
	}
	want := fault.Args{"id": "de", "available": "en, ja, pt-BR, zh-CN", "directories": dir}
	if diff := cmp.Diff(want, err.(*fault.Error).Args); diff != "" {
		t.Error(diff)
	}
}

func TestNotARegularFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "de.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFrom("de", dir); fault.CodeOf(err) != fault.LocaleUnreadable {
		t.Errorf("a directory: %v", err)
	}
}

// Covers: I18N-03, I18N-06
func TestDirectoriesOfTheUser(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, row := range map[string]struct{ xdg, want string }{
		"absolute":                {filepath.Join(home, "cfg"), filepath.Join(home, "cfg", "agent-mcp", "locales")},
		"relative is not trusted": {"cfg", filepath.Join(home, ".config", "agent-mcp", "locales")},
		"unset":                   {"", filepath.Join(home, ".config", "agent-mcp", "locales")},
	} {
		t.Setenv("XDG_CONFIG_HOME", row.xdg)
		dirs := Directories()
		if got := dirs[len(dirs)-1]; got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
		if len(dirs) != 2 || filepath.Base(dirs[0]) != "locales" {
			t.Errorf("%s: %q", name, dirs)
		}
	}
	t.Setenv("HOME", "")
	for _, d := range Directories() {
		if !filepath.IsAbs(d) {
			t.Errorf("without HOME: %s", d)
		}
	}
}

func TestLoadReadsTheUsersDirectory(t *testing.T) {
	cfg := t.TempDir()
	dir := filepath.Join(cfg, "agent-mcp", "locales")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "de.json"), []byte(`{"language.name":"Deutsch"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", cfg)
	if configHome() != cfg {
		t.Skip("XDG_CONFIG_HOME is not used on this system")
	}
	c, err := Load("de")
	if err != nil || c.LanguageName() != "Deutsch" {
		t.Errorf("%v %v", c.LanguageName(), err)
	}
}

// Whatever a file holds, parse answers with texts or with a fault, never half.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"a":"b","a":"c"}`, `{"a":1}`, "{", "\xff", `{"a":"{x}"}`, `{"a":"b"}{`} {
		f.Add([]byte(s))
	}
	known := map[string]string{"a": "{x}"}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parse("f", data, known)
		if err != nil {
			if m != nil || fault.CodeOf(err).Family() != "locale" {
				t.Errorf("%v %v", m, err)
			}
			return
		}
		for key, text := range m {
			if key != "a" || !slices.Equal(placeholders(text), []string{"x"}) {
				t.Errorf("accepted %q: %q", key, text)
			}
		}
	})
}

// Filling changes nothing but placeholders that have an argument.
func TestFillLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		before := rapid.StringMatching(`[^{}]*`).Draw(t, "before")
		after := rapid.StringMatching(`[^{}]*`).Draw(t, "after")
		got := fill(before+"{path}"+after+"{other}", fault.Args{"path": value})
		if got != before+value+after+"{other}" {
			t.Fatalf("%q", got)
		}
	})
}
