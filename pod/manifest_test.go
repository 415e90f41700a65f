package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"sunaba/fault"
	"sunaba/scope"
)

// example is the manifest of the document, word for word (D0 L38-61).
const example = `[pod]
name = "agent-foo"
pwd = "./src"

[scope]

[[scope.allow]]
target = "./src"
permission = "write"
recursive = true            # 省略可、デフォルト true

[[scope.allow]]
target = "./docs"
permission = "read"

[[scope.deny]]
target = "./src/secrets.rs"
permission = "write"        # → ./src/secrets.rs は read-only に格下げ

[[scope.deny]]
target = "./src/.env"
permission = "read"         # → アクセス不可
`

// onManifest is example with the switch of C-01.
var onManifest = strings.Replace(example, "[scope]\n", "[scope]\nbase = \"manifest\"\n", 1)

// project makes a directory with a manifest in it, and directories and files:
// "src/" or "src/a = text" or "l -> target". It returns the directory resolved.
func project(t testing.TB, manifest string, lines ...string) (dir, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(lines, "pod.toml = "+manifest) {
		name, content, isFile := strings.Cut(line, " = ")
		link, target, isLink := strings.Cut(line, " -> ")
		switch {
		case isFile:
			name = filepath.Join(dir, name)
			err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644))
		case isLink:
			link = filepath.Join(dir, link)
			err = errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(strings.ReplaceAll(target, "$", dir), link))
		default:
			err = os.MkdirAll(filepath.Join(dir, line), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Join(dir, "pod.toml")
}

// problems returns what err reports, one line each: "3:7 code key (reason)".
func problems(t testing.TB, err error) (lines []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	p, ok := errors.AsType[*Problems](err)
	if !ok {
		t.Fatalf("not problems: %v", err)
	}
	for _, one := range p.List {
		lines = append(lines, fmt.Sprintf("%d:%d %s %s (%s)", one.Line, one.Column, one.Code, one.Key, one.Reason))
		tellable(t, one)
	}
	return lines
}

var hole = regexp.MustCompile(`\{[a-z_]+\}`)

// tellable demands a whole sentence for a problem in every language.
func tellable(t testing.TB, p Problem) {
	t.Helper()
	for _, language := range []string{"en", "ja", "zh-CN"} {
		data, err := os.ReadFile("../internal/locale/locales/" + language + ".json")
		var texts map[string]string
		if err == nil {
			err = json.Unmarshal(data, &texts)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, ok := texts[p.TextKey()]
		if !ok {
			t.Errorf("%s: no text for %s", language, p.TextKey())
		}
		for _, h := range hole.FindAllString(text, -1) {
			if _, ok := p.Args[strings.Trim(h, "{}")]; !ok {
				t.Errorf("%s: %s leaves %s open: %v", language, p.TextKey(), h, p.Args)
			}
		}
	}
}

// The document's own example with both bases: by the settled rule it does not
// load and says why; with the switch it gives the results its comments name.
//
// Covers: S0-05, S0-08, S0-19, S0-20, S0-21, S0-22, S0-23, S0-24, S0-83, S0-84, SD-05, C-01
func TestTheDocumentsExample(t *testing.T) {
	dir, file := project(t, example, "src/", "docs/")
	_, err := Load(file)
	if diff := cmp.Diff([]string{"3:7 pod.pwd pod.pwd (pwd_outside)"}, problems(t, err)); diff != "" {
		t.Fatal(diff)
	}
	facts := err.(*Problems).List[0].Args
	want := fault.Args{"path": filepath.Join(dir, "src"), "directory": dir,
		"targets": filepath.Join(dir, "src/docs") + ", " + filepath.Join(dir, "src/src")}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("the facts of the refusal: %s", diff)
	}
	if !errors.Is(err, &fault.Error{Code: fault.PodPwd}) {
		t.Error("the code cannot be asked for")
	}

	if err := os.WriteFile(file, []byte(onManifest), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Load(file)
	if err != nil {
		t.Fatal(problems(t, err))
	}
	pwd, s, err := m.Resolve()
	if err != nil || pwd != filepath.Join(dir, "src") {
		t.Fatalf("pwd %q, %v", pwd, err)
	}
	for path, want := range map[string]scope.Permission{
		"src": scope.Write, "src/main.rs": scope.Write, "docs/a.md": scope.Read,
		"src/.env": scope.None, "src/secrets.rs": scope.Read, "pod.toml": scope.None, "src-archive/x": scope.None,
	} {
		if got := s.PermissionAt(filepath.Join(dir, path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	// By the settled rule the same areas are written from pwd.
	moved := strings.NewReplacer(`"./src"`+"\nperm", `"."`+"\nperm", `"./docs"`, `"../docs"`, `"./src/`, `"./`).Replace(example)
	if err := os.WriteFile(file, []byte(moved), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err = Load(file)
	if err != nil {
		t.Fatal(problems(t, err))
	}
	_, same, _ := m.Resolve()
	for _, path := range []string{"src", "src/x", "docs/a", "src/.env", "src/secrets.rs", "pod.toml"} {
		if path = filepath.Join(dir, path); same.CapabilityAt(path) != s.CapabilityAt(path) {
			t.Errorf("%s: %v from pwd, %v from the manifest", path, same.CapabilityAt(path), s.CapabilityAt(path))
		}
	}
}

// Covers: S0-27, S0-29, S0-33, S0-34, S0-35, S0-61, S0-62, S0-63, S0-64, S0-81, SD-04, C-15
func TestParse(t *testing.T) {
	m, err := Parse("d/pod.toml", []byte(example))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	m.places = nil
	want := &Manifest{
		Pod: PodMeta{Name: "agent-foo", Pwd: "./src"}, File: "d/pod.toml",
		Scope: ScopeConfig{
			Base: BasePwd,
			Allow: []ScopeRule{
				{Target: "./src", Permission: scope.Write, Recursive: true, Source: "d/pod.toml:7:9"},
				{Target: "./docs", Permission: scope.Read, Recursive: true, Source: "d/pod.toml:12:9"},
			},
			Deny: []ScopeRule{
				{Target: "./src/secrets.rs", Permission: scope.Write, Recursive: true, Source: "d/pod.toml:16:9"},
				{Target: "./src/.env", Permission: scope.Read, Recursive: true, Source: "d/pod.toml:20:9"},
			},
		},
	}
	allowed := cmp.AllowUnexported(Manifest{})
	if diff := cmp.Diff(want, m, allowed); diff != "" {
		t.Error(diff)
	}

	// TOML has other spellings of the same.
	m, err = Parse("p", []byte("\ufeffpod = { name = 'x', pwd = \"\"\"/a\"\"\" }\r\n"+
		"scope.allow = [ { target = \"/\\u0061\", permission = \"write\", delete = true, recursive = false } ]\r\n"))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	m.places = nil
	want = &Manifest{Pod: PodMeta{Name: "x", Pwd: "/a"}, File: "p", Scope: ScopeConfig{Base: BasePwd, Deny: nil,
		Allow: []ScopeRule{{Target: "/a", Permission: scope.Write, Delete: true, Source: "p:2:17"}}}}
	if diff := cmp.Diff(want, m, allowed); diff != "" {
		t.Error(diff)
	}
}

// One report names every mistake, whatever it is, with its place.
//
// Covers: S0-25, S0-26, S0-28, S0-36, S0-65
func TestEveryProblemAtOnce(t *testing.T) {
	_, file := project(t, `nmae = 1
[pod]
nam = "x"
pwd = "./gone"
[scope]
base = "cwd"
[[scope.allow]]
target = "~/x"
permision = "read"
[[scope.allow]]
permission = "Write"
recursive = "yes"
[[scope.allow]]
target = 3
permission = "all"
あ = 1; 
`, "src/")
	_, err := Load(file)
	if diff := cmp.Diff([]string{"16:1 pod.manifest  (syntax)"}, problems(t, err)); diff != "" {
		t.Errorf("a syntax error: %s", diff)
	}
	data, _ := os.ReadFile(file)
	text := strings.Replace(string(data), "あ = 1; \n", `"あ" = { x = 1 }
[[scope.deny]]
target = "loop/x"
permission = "read"
delete = true
[[scope.deny]]
target = "**/.env"
permission = ""
`, 1)
	dir, file := project(t, text, "src/", "loop -> loop")
	_, err = Load(file)
	if diff := cmp.Diff([]string{
		"1:1 pod.manifest nmae (unknown)",
		"2:2 pod.manifest pod.name (missing)",
		"3:1 pod.manifest pod.nam (unknown_near)",
		"4:7 pod.pwd pod.pwd (pwd_absent)",
		"6:8 pod.manifest scope.base (base)",
		"7:9 policy.rule_permission scope.allow[0].permission (missing_permission)",
		"8:10 policy.rule_target scope.allow[0].target (tilde)",
		"9:1 pod.manifest scope.allow[0].permision (unknown_near)",
		"10:9 pod.manifest scope.allow[1].target (missing)",
		"11:14 policy.rule_permission scope.allow[1].permission (permission_near)",
		"12:13 pod.manifest scope.allow[1].recursive (want_boolean)",
		"14:10 pod.manifest scope.allow[2].target (want_string)",
		"15:14 policy.rule_permission scope.allow[2].permission (permission)",
		"16:1 pod.manifest scope.allow[2].あ (unknown)",
		"20:10 policy.rule_delete scope.deny[0].delete (delete)",
		"22:10 policy.rule_target scope.deny[1].target (pattern)",
		"23:14 policy.rule_permission scope.deny[1].permission (permission)",
	}, problems(t, err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// With pwd known its relative targets are looked at, too.
	_, file = project(t, strings.Replace(text, "./gone", dir, 1))
	_, err = Load(file)
	if got := strings.Join(problems(t, err), "\n"); !strings.Contains(got, "18:10 policy.rule_target scope.deny[0].target (unresolvable)") {
		t.Errorf("the loop is not reported:\n%s", got)
	}
}

func TestOneMistake(t *testing.T) {
	const pod, allow = "[pod]\nname='n'\npwd='.'\n", "[[scope.allow]]\ntarget='.'\npermission='read'\n"
	for _, c := range []struct{ name, text, want string }{
		{"right", pod + allow, ""},
		{"right, and an empty deny list", pod + "[scope]\ndeny=[]\n" + allow, ""},
		{"nothing", "", "1:1 pod.manifest pod (missing)\n1:1 pod.manifest scope (missing_scope)"},
		{"no scope", pod, "1:1 pod.manifest scope (missing_scope)"},
		{"scope only", "[scope]\n", "1:1 pod.manifest pod (missing)\n1:2 pod.manifest scope.allow (no_allow)"},
		{"no rule", pod + "[scope]\n", "4:2 pod.manifest scope.allow (no_allow)"},
		{"an empty list", pod + "[scope]\nallow=[]\n", "5:1 pod.manifest scope.allow (no_allow)"},
		{"a deny alone", pod + "[[scope.deny]]\ntarget='.'\npermission='read'\n", "4:3 pod.manifest scope.allow (no_allow)"},
		{"the former root", pod + "[scope]\nroot='.'\n" + allow, "5:1 pod.manifest scope.root (unknown)"},
		{"a list for a table", "pod=[]\n" + allow, "1:1 pod.manifest pod (want_table)"},
		{"a table for a list", pod + "[scope.allow]\ntarget='.'\n", "4:8 pod.manifest scope.allow (want_list)"},
		{"a text in the list", pod + "[scope]\nallow=['.']\n", "5:8 pod.manifest scope.allow[0] (want_table)"},
		{"a date", "[pod]\nname=2020-01-01\npwd='.'\n" + allow, "2:6 pod.manifest pod.name (want_string)"},
		{"an empty name", "[pod]\nname=' '\npwd='.'\n" + allow, "2:6 pod.manifest pod.name (empty)"},
		{"a control character", "[pod]\nname=\"a\\u0007\"\npwd='.'\n" + allow, "2:6 pod.manifest pod.name (control)"},
		{"NUL", "[pod]\nname='n'\npwd=\"a\\u0000\"\n" + allow, "3:5 pod.pwd pod.pwd (nul)"},
		{"a variable", "[pod]\nname='n'\npwd='$HOME/x'\n" + allow, "3:5 pod.pwd pod.pwd (variable)"},
		{"a key twice", pod + "pwd='.'\n" + allow, "4:1 pod.manifest pod.pwd (twice)"},
		{"three keys twice", pod + "pwd='.'\nname='m'\n" + allow + "target='x'\n", "4:1 pod.manifest pod.pwd (twice)\n5:1 pod.manifest pod.name (twice)\n9:1 pod.manifest scope.allow[0].target (twice)"},
		{"a table twice", pod + "[pod]\n" + allow, "4:2 pod.manifest  (syntax)"},
		{"a table over a value", "pod=1\n[pod]\n" + allow, "2:2 pod.manifest pod (twice)"},
		{"delete without write", pod + allow + "delete=true\n", "7:8 policy.rule_delete scope.allow[0].delete (delete)"},
		{"not UTF-8", pod + "#\xff\n" + allow, "4:2 pod.manifest  (not_utf8)"},
		{"not TOML", "pod:\n  name: x\n", "1:4 pod.manifest  (syntax)"},
		{"the same rule twice changes nothing", pod + allow + allow, ""},
		{"a file that is its directory", "[pod]\nname='n'\npwd='pod.toml'\n" + allow, "3:5 pod.pwd pod.pwd (pwd_file)"},
		{"denied", pod + allow + "[[scope.deny]]\ntarget='.'\npermission='read'\n", "3:5 pod.pwd pod.pwd (pwd_denied)"},
		{"denied by a parent", pod + allow + "[[scope.deny]]\ntarget='/'\npermission='read'\n", "3:5 pod.pwd pod.pwd (pwd_denied)"},
		{"write denied", pod + allow + "[[scope.deny]]\ntarget='.'\npermission='write'\n", ""},
		{"outside, from the manifest", pod + "[scope]\nbase='manifest'\n[[scope.allow]]\ntarget='x'\npermission='read'\n", "3:5 pod.pwd pod.pwd (pwd_outside_manifest)"},
		{"outside", pod + "[[scope.allow]]\ntarget='x'\npermission='read'\n", "3:5 pod.pwd pod.pwd (pwd_outside)"},
		{"a sibling with a longer name", "[pod]\nname='n'\npwd='a'\n[[scope.allow]]\ntarget='../ab'\npermission='read'\n", "3:5 pod.pwd pod.pwd (pwd_outside)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, file := project(t, c.text, "a/")
			_, err := Load(file)
			if diff := cmp.Diff(c.want, strings.Join(problems(t, err), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, maxManifest+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{filepath.Join(dir, "none.toml"): "unreadable", dir: "unreadable", big: "too_large"} {
		_, err := Load(file)
		is(t, file, err, fault.PodManifest)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Args["case"] != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// No text of the greatest size takes long to read: with work that grows with
// the square of the size each of these would take minutes.
func TestLargeManifests(t *testing.T) {
	const right = "[pod]\nname='n'\npwd='.'\n[scope]\nbase='manifest'\n"
	const allow = "[[scope.allow]]\ntarget='.'\npermission='read'\n"
	many := func(text string, tail int) string { return strings.Repeat(text, (maxManifest-tail)/len(text)) }
	var keys strings.Builder
	for i := 0; keys.Len() < maxManifest-200; i++ {
		fmt.Fprintf(&keys, "k%d=1\n", i)
	}
	for _, c := range []struct{ name, text, want string }{
		{"rules", right + allow + many("[[scope.deny]]\ntarget='b'\npermission='read'\n", 200), ""},
		{"rules in one line", right + "allow=[" + many("{target='.',permission='read'},", 200) + "]", ""},
		{"a list in one line", right + allow + "x=[" + many("1,", 200) + "]", "9:1 pod.manifest scope.allow[0].x (unknown)"},
		{"keys", right + allow + keys.String(), "71:1 pod.manifest  (too_many_keys)"},
		{"a dotted key", right + allow + many("a.", 200) + "b=1", "9:2039 pod.manifest  (too_many_keys)"},
		{"a dotted header", "[" + many("a.", 200) + "b]", "1:2050 pod.manifest  (too_many_keys)"},
		{"nested lists", "x=" + strings.Repeat("[", 500000), "1:10003 pod.manifest  (syntax)"},
		{"a deep target", right + allow + "[[scope.deny]]\npermission='read'\ntarget='" + many("a/", 200) + "'", "11:8 policy.rule_target scope.deny[0].target (too_long)"},
		{"a target just short enough", right + allow + "[[scope.deny]]\npermission='read'\ntarget='" + strings.Repeat("a/", maxTarget/2) + "'", ""},
	} {
		_, file := project(t, c.text)
		_, err := Load(file)
		if diff := cmp.Diff(c.want, strings.Join(problems(t, err), "\n")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// strictly is the manifest as the library's strict mode reads it.
type strictly struct {
	Pod struct {
		Name string `toml:"name"`
		Pwd  string `toml:"pwd"`
	} `toml:"pod"`
	Scope struct {
		Base  string `toml:"base"`
		Allow []struct {
			Target     string `toml:"target"`
			Permission string `toml:"permission"`
			Recursive  *bool  `toml:"recursive"`
			Delete     bool   `toml:"delete"`
		} `toml:"allow"`
		Deny []struct {
			Target     string `toml:"target"`
			Permission string `toml:"permission"`
			Recursive  *bool  `toml:"recursive"`
			Delete     bool   `toml:"delete"`
		} `toml:"deny"`
	} `toml:"scope"`
}

// FuzzParse: whatever the text, Parse returns; what it accepts, the library's
// strict mode reads in the same way, and every mistake has a place within the
// text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{example, onManifest, "pod.name='x'\npod.pwd='/'\nscope.allow=[{target='/',permission='read'}]", "[[scope.allow]]\n[scope]\n", "a.b=1\n[a]\n", "[a.b]\n[[a]]\n", "x=[[[{a=[1]}]]]", "pod={name='a'}\npod.pwd=1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse("f", data)
		if err != nil {
			p, ok := errors.AsType[*Problems](err)
			if !ok || len(p.List) == 0 {
				t.Fatalf("not problems: %v", err)
			}
			for _, one := range p.List {
				if one.Line < 1 || one.Line > strings.Count(string(data), "\n")+1 || one.Column < 1 {
					t.Errorf("%v is no place in the text", one)
				}
			}
			return
		}
		var want strictly
		d := toml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff"))).DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted, but not by the strict mode: %v", err)
		}
		if m.Pod.Name != want.Pod.Name || m.Pod.Pwd != want.Pod.Pwd || len(m.Scope.Allow) != len(want.Scope.Allow) ||
			len(m.Scope.Deny) != len(want.Scope.Deny) || len(m.Scope.Allow) == 0 {
			t.Fatalf("read %+v, the strict mode %+v", m, want)
		}
		for i, r := range m.Scope.Allow {
			w := want.Scope.Allow[i]
			if r.Target != w.Target || r.Permission.String() != w.Permission || r.Recursive != (w.Recursive == nil || *w.Recursive) || r.Delete != w.Delete {
				t.Errorf("read %+v, the strict mode %+v", r, w)
			}
		}
		for i, r := range m.Scope.Deny {
			w := want.Scope.Deny[i]
			if r.Target != w.Target || r.Permission.String() != w.Permission || r.Recursive != (w.Recursive == nil || *w.Recursive) || w.Delete {
				t.Errorf("read %+v, the strict mode %+v", r, w)
			}
		}
	})
}
