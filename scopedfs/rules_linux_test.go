package scopedfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/scope"
)

// openScope opens an FS under a Scope alone. A rule is "read|write|delete name",
// "deny " before it for a deny, "." at its end for not recursive.
func (w *world) openScope(t testing.TB, rules ...string) *FS {
	t.Helper()
	var allow, deny []scope.Rule
	for i, text := range rules {
		rest, isDeny := strings.CutPrefix(text, "deny ")
		level, name, _ := strings.Cut(rest, " ")
		name, flat := strings.CutSuffix(name, "/.")
		r := scope.Rule{Target: w.path(name), Permission: scope.Write, Recursive: !flat, Delete: level == "delete", Source: "pod.toml:" + string(rune('1'+i))}
		if level == "read" {
			r.Permission = scope.Read
		}
		if isDeny {
			deny = append(deny, r)
		} else {
			allow = append(allow, r)
		}
	}
	s, err := scope.New(allow, deny)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A search may start above what is allowed and passes down to it; what it
// passes through is neither listed, nor read, nor told of.
//
// Covers: S0-57, S0-87, S0-88, C-31
func TestWalkPassesThrough(t *testing.T) {
	w := build(t, "w/p/src/a = A", "w/p/src/deep/b = B", "w/p/doc/d = D", "w/p/other/o = O", "w/p/file = F", "w/q/x = X", "w/p/l -> doc",
		"w/r/allowed -> ../q", "w/p/src/no/n = N")
	f := w.openScope(t, "write w/p/src", "read w/p/doc/d", "read w/missing/sub", "read w/r/allowed/x", "deny read w/p/src/no")
	want := []string{"p", "p/doc", "p/doc/d", "p/src", "p/src/a", "p/src/deep", "p/src/deep/b", "r"}
	if got := walked(t, f, w.path("w")); !slices.Equal(got, want) {
		t.Errorf("from w: %q, want %q", got, want)
	}
	if got := walked(t, f, w.path("w/p/doc")); !slices.Equal(got, []string{"d"}) {
		t.Errorf("from w/p/doc: %q", got)
	}
	for path, code := range map[string]fault.Code{
		"w": "", "w/p": "", "w/p/doc": "", "w/p/src": "",
		"w/p/other": unruled, "w/p/file": unruled, "w/q": unruled, "w/p/l": unruled, "w/missing": unruled, "w/r/allowed": unruled, "w/p/src/no": unruled,
	} {
		_, _, err := f.Stat(w.path(path))
		wants(t, "stat "+path, err, code)
	}
	// Passing through is all: it may not be listed, opened or changed.
	_, _, _, err := f.ReadDir(w.path("w/p"), 0)
	wants(t, "list", err, unruled)
	_, _, err = f.OpenDir(w.path("w/p"))
	wants(t, "open", err, unruled)
	_, err = f.MkdirAll(w.path("w/p/new"))
	wants(t, "make", err, unruled)
	_, err = f.Remove(w.path("w/p"))
	wants(t, "remove", err, unruled)
}

// Whatever the rules, a walk from the top visits only readable entries and
// directories that lead to the target of an allow rule; and every readable
// file that can be reached through such directories.
func TestWalkLaw(t *testing.T) {
	w := build(t, "w/a/b/c/1 = x", "w/a/b/2 = x", "w/a/3 = x", "w/b/c/4 = x", "w/b/5 = x", "w/6 = x", "w/l -> a")
	var all []string
	filepath.WalkDir(w.path("w"), func(path string, d fs.DirEntry, _ error) error {
		all = append(all, path)
		return nil
	})
	target := rapid.SampledFrom([]string{"w", "w/a", "w/a/b", "w/a/b/c", "w/a/b/c/1", "w/b", "w/b/c", "w/b/5", "w/x/y", "w/l"})
	rule := rapid.Custom(func(t *rapid.T) string {
		text := rapid.SampledFrom([]string{"read ", "write ", "deny read ", "deny write "}).Draw(t, "kind") + target.Draw(t, "target")
		if rapid.IntRange(0, 3).Draw(t, "flat") == 0 {
			text += "/."
		}
		return text
	})
	rapid.Check(t, func(rt *rapid.T) {
		f := w.openScope(t, rapid.SliceOfN(rule, 1, 6).Draw(rt, "rules")...)
		defer f.Close()
		s := f.rules.(scoped)
		passes := func(path string) bool {
			info, err := os.Lstat(path)
			return s.IsReadable(path) || err == nil && info.IsDir() && s.AllowBeneath(path)
		}
		var want []string
		if passes(w.path("w")) {
			for _, path := range all[1:] {
				reached := true
				for p := path; p != w.path("w"); p = filepath.Dir(p) {
					reached = reached && passes(p)
				}
				if reached {
					want = append(want, path)
				}
			}
		}
		var got []string
		err := f.Walk(t.Context(), w.path("w"), func(e WalkEntry) error { got = append(got, e.Path); return nil })
		if passes(w.path("w")) != (err == nil) {
			rt.Fatalf("from the top: %v", err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			rt.Fatalf("walked %q\nwant   %q", got, want)
		}
	})
}

// A Scope that stands alone holds its denies for every spelling that a volume
// takes for the same name, as a whole policy does.
func TestPlainScopeFoldsDenies(t *testing.T) {
	w := build(t, "w/cfg/.secret = S", "w/CFG/.Secret = T", "w/Out/f = F", "w/か\u3099 = decomposed", "w/d/が.md = composed")
	for _, folds := range []bool{true, false} {
		f := w.openScope(t, "delete w", "deny read w/cfg/.secret", "deny read w/が", "deny read w/d/か\u3099.md")
		f.folds = func(handle) bool { return folds }
		refused := fault.Code("")
		if folds {
			refused = unruled
		}
		for path, code := range map[string]fault.Code{
			"cfg/.secret": unruled, "CFG/.Secret": refused, "か\u3099": unruled, "d/が.md": unruled, "Out/f": "",
		} {
			_, _, err := f.ReadFile(path, 0)
			wants(t, "read "+path, err, code)
		}
		_, err := w.write(f, "cfg/.SECRET", "x")
		wants(t, "write another case", err, refused)
		if folds {
			if err.(*fault.Error).Args["source"] != "pod.toml:2" {
				t.Errorf("the rule is not named: %v", err)
			}
			_, err = f.Rename("CFG", "moved")
			wants(t, "move the denied away", err, fault.FSDeniedBeneath)
		}
	}
	f := w.openScope(t, "read w/.", "read w/out")
	f.folds = func(handle) bool { return true }
	_, _, err := f.ReadFile("Out/f", 0)
	wants(t, "an allow rule in another case", err, unruled)
}

// What only folding volumes take for one name: code points that do not show,
// dots and blanks at the end, short names. Where nothing folds they are names of
// their own.
func TestSpellingsOfFoldingVolumes(t *testing.T) {
	others := []string{
		"sec\u00adret.key", "\u200dsecret.key", "secret\ufe0f.key", "SECRET.KEY\u200b", "secret.key.", "secret.key ", "Secret.Key. .",
		"SECRET~1.KEY", "secret~12", "\u2060sub.\u00ad/inner", "SUB~1/inner", "LONGDI~1/f",
	}
	lines := []string{"w/secret.key = S", "w/sub/inner = I", "w/longdirectory/f = L", "w/plain/back~1 = B", "w/note.. = N", "w/x~y.txt = X"}
	for _, name := range others {
		lines = append(lines, "w/"+strings.TrimSuffix(name, " ")+" = other")
	}
	w := build(t, lines...)
	if err := os.WriteFile(w.path("w/secret.key "), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folds := range []bool{true, false} {
		f := w.openScope(t, "write w", "deny read w/secret.key", "deny read w/sub/inner", "deny read w/longdirectory")
		f.folds = func(handle) bool { return folds }
		for _, path := range others {
			code := fault.Code("")
			if folds {
				code = unruled
			}
			_, _, err := f.ReadFile(path, 0)
			wants(t, fmt.Sprintf("folds %v: read %q", folds, path), err, code)
			if e, ok := errors.AsType[*fault.Error](err); ok && !strings.HasPrefix(e.Args["source"], "pod.toml:") {
				t.Errorf("%q: the rule is not named: %v", path, err)
			}
		}
		for _, path := range []string{"plain/back~1", "note..", "x~y.txt"} {
			_, _, err := f.ReadFile(path, 0)
			wants(t, fmt.Sprintf("folds %v: read %q", folds, path), err, "")
		}
	}
	// What a rule spells out is no short name.
	w = build(t, "w/real~1/f = F", "w/real~1/key = K", "w/back~1/f = F", "w/deny~1 = D")
	f := w.openScope(t, "write w/back~1", "write w/real~1", "deny read w/real~1/key", "deny write w/back~1/no", "read w/deny~1", "deny write w/deny~1")
	f.folds = func(handle) bool { return true }
	for path, code := range map[string]fault.Code{"real~1/f": "", "real~1/key": unruled, "back~1/f": "", "deny~1": ""} {
		_, _, err := f.ReadFile(path, 0)
		wants(t, "read "+path, err, code)
	}
}

// A magic link of /proc leads to an open file, not to a name: its text is
// judged like that of any link, so that it never leads past the rules, and what
// has no name any more cannot be reached at all. The twin: the system follows.
func TestMagicLinks(t *testing.T) {
	w := build(t, "w/a = A", "out/s = secret", "w/root -> /proc/self/root", "w/cwd -> /proc/self/cwd")
	secret, err := os.Open(w.path("out/s"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	gone, err := os.Create(w.path("w/gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if _, err := gone.WriteString("gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone.Name()); err != nil {
		t.Fatal(err)
	}
	toSecret, toGone := fmt.Sprintf("/proc/self/fd/%d", secret.Fd()), fmt.Sprintf("/proc/self/fd/%d", gone.Fd())
	w.add("w/fd -> "+toSecret, "w/fdGone -> "+toGone)

	// Not even /proc is visible: the link's own place is refused.
	f := w.openScope(t, "write w")
	// With /proc readable the target decides.
	s, err := scope.New([]scope.Rule{
		{Target: w.path("w"), Permission: scope.Write, Recursive: true},
		{Target: "/proc", Permission: scope.Write, Recursive: true},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	open, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, path := range []string{toSecret, "fd", "fdGone", toGone, "root/etc/passwd", "root" + w.path("out/s"), "/proc/self/root" + w.path("out/s"), "cwd/rules.go"} {
		for name, fs := range map[string]*FS{"without /proc": f, "with /proc": open} {
			data, _, err := fs.ReadFile(path, 0)
			if err == nil {
				t.Errorf("%s: %s was read: %q", name, path, data)
			}
			if _, err := fs.WriteFile(path, []byte("x"), WriteOptions{}); err == nil {
				t.Errorf("%s: %s was written", name, path)
			}
		}
	}
	if data, _, err := open.ReadFile("/proc/self/root"+w.path("w/a"), 0); err != nil || string(data) != "A" {
		t.Errorf("through a link that leads inside: %q, %v", data, err)
	}
	if got := w.content("out/s"); got != "secret" {
		t.Errorf("the file outside holds %q", got)
	}
	for path, want := range map[string]string{"w/fd": "secret", "w/fdGone": "gone"} {
		if data, err := os.ReadFile(w.path(path)); err != nil || string(data) != want {
			t.Errorf("the system itself reads %q, %v", data, err)
		}
	}
}
