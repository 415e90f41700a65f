package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
	"sunaba/scopedfs"
)

// box is a workspace with the tools over it, under an Effective Sandbox Policy.
type box struct {
	t    *testing.T
	root string
	env  Env
	reg  *Registry
}

// newBox makes a workspace that holds files, "path" → content; a path that
// ends in "/" is a directory, a content "-> x" a link to x. adjust, if any,
// changes the environment before the tools are made.
func newBox(t *testing.T, files map[string]string, adjust ...func(*Env)) *box {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, root: filepath.Join(root, "w")}
	for path, content := range files {
		b.put(path, content)
	}
	b.put("./", "")
	b.env = Env{Policy: &policy.Effective{
		Profile:   "development",
		Workspace: policy.Workspace{Root: b.root, Logical: b.root, Name: "workspace", Policy: "deny_outside"},
		Roots:     []policy.Root{{Path: b.root, Logical: b.root, Kind: policy.RootWorkspace, Capability: scope.All, Source: "agent.yaml:1"}},
	}}
	for _, f := range adjust {
		f(&b.env)
	}
	rules, err := b.env.Policy.Rules()
	if err != nil {
		t.Fatal(err)
	}
	b.env.FS, err = scopedfs.Open(rules, scopedfs.Options{Pwd: b.root, MaxFileBytes: b.env.Policy.MaxFileBytes, MaxFiles: b.env.Policy.MaxFiles})
	if err != nil {
		t.Skip("scoped file access is missing on this system: " + err.Error())
	}
	t.Cleanup(func() { b.env.FS.Close() })
	b.reg = NewRegistry(Builtin(b.env)...)
	return b
}

func (b *box) put(path, content string) {
	b.t.Helper()
	full := filepath.Join(b.root, path)
	err := os.MkdirAll(filepath.Dir(full), 0o777)
	switch {
	case err != nil:
	case strings.HasSuffix(path, "/"):
		err = os.MkdirAll(full, 0o777)
	case strings.HasPrefix(content, "-> "):
		err = os.Symlink(content[3:], full)
	default:
		err = os.WriteFile(full, []byte(content), 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// content returns a file's bytes, "<missing>" when there is none.
func (b *box) content(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.root, path))
	if err != nil {
		return "<missing>"
	}
	return string(data)
}

// args is a JSON object in the making.
type args map[string]any

// call calls a tool and checks what holds for every Result.
func (b *box) call(name string, a args) Result {
	b.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.callRaw(name, string(raw))
}

func (b *box) callRaw(name, raw string) Result {
	b.t.Helper()
	r := b.reg.Call(b.t.Context(), name, json.RawMessage(raw))
	checkResult(b.t, r)
	return r
}

// ok calls a tool that must succeed.
func (b *box) ok(name string, a args) Result {
	b.t.Helper()
	r := b.call(name, a)
	if !r.OK {
		b.t.Fatalf("%s %v: %v", name, a, r.Error)
	}
	return r
}

// refused calls a tool that must fail with code and, when given, case.
func (b *box) refused(name string, a args, code fault.Code, reason ...string) Result {
	b.t.Helper()
	r := b.call(name, a)
	checkRefused(b.t, r, code, reason...)
	return r
}

func checkRefused(t *testing.T, r Result, code fault.Code, reason ...string) {
	t.Helper()
	switch {
	case r.OK:
		t.Fatalf("succeeded, want %s", code)
	case r.Error.Code != code:
		t.Fatalf("code %s %v, want %s", r.Error.Code, r.Error.Args, code)
	case len(reason) > 0 && r.Error.Args[Case] != reason[0]:
		t.Fatalf("%s: case %q %v, want %q", code, r.Error.Args[Case], r.Error.Args, reason[0])
	}
}

var hole = regexp.MustCompile(`\{[a-z_]+\}`)

// checkResult demands of every Result: valid UTF-8, one JSON object on the
// first line, and texts without holes in every language.
func checkResult(t *testing.T, r Result) {
	t.Helper()
	if r.OK != (r.Error == nil) {
		t.Errorf("ok = %v with error %v", r.OK, r.Error)
	}
	for _, locale := range []string{"en", "ja", "zh-CN"} {
		text := r.Model(localeTexts(t, locale))
		if !utf8.ValidString(text) {
			t.Errorf("not valid UTF-8: %q", text)
		}
		first, rest, _ := strings.Cut(text, "\n")
		var head map[string]any
		if err := json.Unmarshal([]byte(first), &head); err != nil {
			t.Errorf("first line is not a JSON object: %v: %s", err, first)
		}
		if rest != r.Text {
			t.Errorf("the text is not raw: %q", rest)
		}
		said := fmt.Sprint(head["error"], head["hint"])
		for _, h := range hole.FindAllString(said, -1) {
			if r.Error == nil || r.Error.Args[strings.Trim(h, "{}")] == "" {
				t.Errorf("%s: %s is not filled: %s", locale, h, said)
			}
		}
	}
}

// testTexts are one language's texts, straight from its file.
type testTexts struct {
	t    *testing.T
	keys map[string]string
}

func localeTexts(t *testing.T, id string) testTexts {
	t.Helper()
	data, err := os.ReadFile("../internal/locale/locales/" + id + ".json")
	texts := testTexts{t: t}
	if err == nil {
		err = json.Unmarshal(data, &texts.keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func (x testTexts) Fault(code fault.Code, args fault.Args) (message, hint string) {
	message, ok := x.keys[string(code)]
	if !ok {
		x.t.Errorf("no text for %s", code)
	}
	hint = x.keys[string(code)+".hint"]
	for k, v := range args {
		message, hint = strings.ReplaceAll(message, "{"+k+"}", v), strings.ReplaceAll(hint, "{"+k+"}", v)
	}
	return message, hint
}

// field returns a Result's field, nil when it has none of that name.
func field(r Result, name string) any {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// hasFields compares the named fields by their printed form.
func hasFields(t *testing.T, r Result, want string) {
	t.Helper()
	for _, pair := range strings.Fields(want) {
		name, value, _ := strings.Cut(pair, "=")
		if got := fmt.Sprint(field(r, name)); got != value {
			t.Errorf("%s = %s, want %s (fields %v)", name, got, value, r.Fields)
		}
	}
}
