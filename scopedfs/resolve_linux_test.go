package scopedfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

const (
	outside = fault.FSOutsideWorkspace
	unruled = fault.FSOutOfScope
)

// TestResolve walks one tree by many spellings. Every refusal has its twin: the
// same spelling opened by the system itself.
//
// Covers: SD-16, SD-17, FS-02, SD-09
func TestResolve(t *testing.T) {
	w := build(t,
		"w/a.txt = A", "w/lib/a/b.txt = B", "w/secret/key = K", "w/ro/r.txt = R",
		"w/L -> lib", "w/abs -> $/w/lib/a/b.txt", "w/deep/up -> ../lib", "w/chain -> L",
		"w/out -> $/etc/passwd", "w/up -> ../..", "w/sibling -> ../w-archive/ledger", "w/top -> /",
		"w/back -> $/w-archive/back", "w-archive/back -> $/w/a.txt",
		"w/loop1 -> loop2", "w/loop2 -> loop1", "w/self -> self",
		"w/dangling -> nowhere", "w/toSecret -> secret/key", "w/secret/exit -> ../a.txt",
		"etc/passwd = root", "w-archive/ledger = outside", "m/data = M", "w/toMount -> $/m/data",
		"w/私/ノート.txt = 日本", "w/sp ace/q\"uote = S", "w/-rf = D", "w/new\nline = N")
	f := w.open(w.deny(scope.Read, "w/secret"), w.deny(scope.Write, "w/ro"), w.mount("m", scope.R))
	for _, c := range []struct {
		ask  string
		want string // content, or a code
	}{
		{"a.txt", "A"},
		{"./a.txt", "A"},
		{"$/w/a.txt", "A"},
		{"//$/w//lib/./a///b.txt", "B"},
		{"lib/../a.txt", "A"},
		{"lib/a/../../a.txt", "A"},
		{"../w/a.txt", "A"},
		{"L/a/b.txt", "B"},
		{"chain/a/b.txt", "B"},
		{"L/../a.txt", "A"}, // lib/.. is the workspace
		{"deep/up/a/b.txt", "B"},
		{"deep/up/../a.txt", "A"}, // by the link's target, not by its spelling
		{"abs", "B"},
		{"toMount", "M"},
		{"$/m/data", "M"},
		{"ro/r.txt", "R"},
		{"私/ノート.txt", "日本"},
		{"sp ace/q\"uote", "S"},
		{"-rf", "D"},
		{"new\nline", "N"},

		{"$/w-archive/ledger", string(outside)}, // never a byte prefix
		{"../w-archive/ledger", string(outside)},
		{"$/w/../w-archive/ledger", string(outside)},
		{"sibling", string(outside)},
		{"out", string(outside)},
		{"top/etc/passwd", string(outside)},
		{"up", string(outside)},
		{"up/w/a.txt", string(outside)}, // out is out, wherever the way leads
		{"back", string(outside)},
		{"../w-archive/../w/a.txt", string(outside)},
		{"../nowhere/../w/a.txt", string(outside)},
		{"missing/../../w-archive/../w/a.txt", string(outside)},
		{"..", string(outside)},
		{"$", string(outside)},
		{"/", string(outside)},
		{"/etc/hostname", string(outside)},
		{"$/etc/passwd", string(outside)},
		{"$/etc/missing", string(outside)},
		{"$/etc/passwd/missing", string(outside)},

		{"secret/key", string(unruled)},
		{"secret/missing", string(unruled)},
		{"secret/missing/deeper", string(unruled)},
		{"secret", string(unruled)},
		{"toSecret", string(unruled)},
		{"secret/exit", string(unruled)}, // the link's own place counts
		{"secret/../a.txt", string(unruled)},
		{"missing/../secret/../a.txt", string(unruled)},
		{"secret/key/../../a.txt", string(unruled)},
		{"secret/missing/../../a.txt", string(unruled)},

		{"loop1", string(fault.FSLinkLoop)},
		{"self/x", string(fault.FSLinkLoop)},
		{"dangling", string(fault.FSNotFound)},
		{"missing", string(fault.FSNotFound)},
		{"missing/../a.txt", string(fault.FSNotFound)},
		{"a.txt/b", string(fault.FSNotDirectory)},
		{"a.txt/", string(fault.FSNotDirectory)},
		{"a.txt/.", string(fault.FSNotDirectory)},
		{"a.txt/..", string(fault.FSNotDirectory)},
		{"lib", string(fault.FSIsDirectory)},
		{"lib/", string(fault.FSIsDirectory)},
		{".", string(fault.FSIsDirectory)},
		{"L", string(fault.FSIsDirectory)},

		{"", string(fault.FSBadPath)},
		{"a.txt\x00", string(fault.FSBadPath)},
		{strings.Repeat("n", 256), string(fault.FSBadPath)},
		{strings.Repeat("n", 255), string(fault.FSNotFound)},
		{strings.Repeat("d/", 40000), string(fault.FSBadPath)},
		{strings.Repeat("d/", 4000) + "x", string(fault.FSNotFound)},
		{strings.Repeat("./", 1000) + "a.txt", "A"},
		{"\xff\xfe", string(fault.FSNotFound)},
	} {
		ask := strings.ReplaceAll(c.ask, "$", strings.TrimPrefix(w.top, "/"))
		if strings.HasPrefix(c.ask, "$") {
			ask = "/" + ask
		}
		data, at, err := f.ReadFile(ask, 0)
		got := string(fault.CodeOf(err))
		if err == nil {
			got = string(data)
		}
		if got != c.want {
			t.Errorf("ReadFile(%.60q) = %q (%v), want %q", c.ask, got, err, c.want)
		}
		if strings.Contains(c.want, "fs.") {
			if strings.Contains(string(data)+errorText(err), "outside") && c.want != string(outside) {
				t.Errorf("ReadFile(%.60q): content in the error: %v", c.ask, err)
			}
			continue
		}
		if at.Asked != ask || at.Canonical != canonicalOf(t, w, ask) {
			t.Errorf("ReadFile(%.60q) went to %+v, the system to %q", c.ask, at, canonicalOf(t, w, ask))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// canonicalOf asks the system where a path leads.
func canonicalOf(t *testing.T, w *world, ask string) string {
	t.Helper()
	if !filepath.IsAbs(ask) {
		ask = w.path("w") + "/" + ask
	}
	file, err := os.Open(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return onHandle(file).realPath()
}

// A refusal says which rule, from which line, on which path, and through which
// link; and the same act succeeds for whom no rule holds.
func TestRefusalNamesItsRule(t *testing.T) {
	w := build(t, "etc/passwd = root", "w/notes -> $/etc/passwd", "w/sec/t.txt = T", "w/ro/f = F", "m/f = M")
	f := w.open(w.deny(scope.Read, "w/sec"), w.deny(scope.Write, "w/ro"), w.mount("m", scope.R))
	write := func(path string) error {
		_, err := f.WriteFile(path, []byte("x"), WriteOptions{})
		return err
	}
	read := func(path string) error {
		_, _, err := f.ReadFile(path, 0)
		return err
	}
	for _, c := range []struct {
		err                        error
		code                       fault.Code
		resolved, rule, file, link string
	}{
		{read("notes"), outside, "etc/passwd", "sandbox.workspace", "agent.yaml:3", "w/notes"},
		{write("notes"), outside, "etc/passwd", "sandbox.workspace", "agent.yaml:3", "w/notes"},
		{read("sec/./t.txt"), unruled, "w/sec/t.txt", "sandbox.scope.deny[0]", "agent.yaml:20", ""},
		{write("ro/f"), fault.FSReadOnly, "w/ro/f", "sandbox.scope.deny[1]", "agent.yaml:20", ""},
		{write(w.path("m/f")), fault.FSReadOnly, "m/f", "sandbox.mounts[0] (read_only)", "agent.yaml:9", ""},
	} {
		wants(t, c.resolved, c.err, c.code)
		a := args(c.err)
		if a["resolved"] != w.path(c.resolved) || a["rule"] != c.rule || a["source"] != c.file || a["path"] == "" {
			t.Errorf("%v: want resolved %s, rule %s, source %s", c.err, c.resolved, c.rule, c.file)
		}
		if c.link != "" && a["link"] != w.path(c.link) {
			t.Errorf("%v: want the link %s named", c.err, c.link)
		}
	}
	if got := w.content("etc/passwd"); got != "root" {
		t.Errorf("the outside file holds %q", got)
	}
	if got := w.content("w/notes"); got != "root" {
		t.Errorf("the system itself does not go through the link: %q", got)
	}
}

// Whether something outside, or something no rule allows, exists must not show
// in anything a caller sees.
//
// Covers: C-80
func TestExistenceOutsideDoesNotShow(t *testing.T) {
	w := build(t, "out/real/file = X", "out/real/link -> /", "w/hidden/real/file = X", "w/hidden/real/link -> /",
		"w/go -> ../out", "w/in -> hidden")
	f := w.open(w.deny(scope.Read, "w/hidden"))
	for _, base := range []string{w.path("out"), "go", "../out", "hidden", "in", w.path("w/hidden")} {
		for _, tail := range []string{"/X", "/X/", "/X/file", "/X/file/y", "/X/link/z", "/X/../X", "/X/../../w/f", "/X/link/../../x"} {
			for name, act := range acts(f) {
				seen := map[string]bool{}
				for _, which := range []string{"real", "fake"} {
					err := act(base + strings.ReplaceAll(tail, "X", which))
					if err == nil {
						t.Errorf("%s %s%s succeeded", name, base, tail)
					}
					seen[strings.ReplaceAll(errorText(err), which, "X")] = true
				}
				if len(seen) != 1 {
					t.Errorf("%s %s%s tells whether it exists: %v", name, base, tail, seen)
				}
			}
		}
	}
}

// acts is one call of every method that takes a path.
func acts(f *FS) map[string]func(string) error {
	return map[string]func(string) error{
		"OpenFile": func(p string) error { file, _, err := f.OpenFile(p); file.Close(); return err },
		"OpenDir":  func(p string) error { file, _, err := f.OpenDir(p); file.Close(); return err },
		"OpenExec": func(p string) error { file, _, err := f.OpenExec(p); file.Close(); return err },
		"Stat":     func(p string) error { _, _, err := f.Stat(p); return err },
		"Lstat":    func(p string) error { _, _, err := f.Lstat(p); return err },
		"Readlink": func(p string) error { _, _, err := f.Readlink(p); return err },
		"ReadDir":  func(p string) error { _, _, _, err := f.ReadDir(p, 0); return err },
		"ReadFile": func(p string) error { _, _, err := f.ReadFile(p, 0); return err },
		"Write":    func(p string) error { _, err := f.WriteFile(p, nil, WriteOptions{}); return err },
		"Create":   func(p string) error { _, err := f.Create(p, nil); return err },
		"Update": func(p string) error {
			_, err := f.Update(p, 0, func([]byte) ([]byte, error) { return nil, nil })
			return err
		},
		"MkdirAll": func(p string) error { _, err := f.MkdirAll(p); return err },
		"Remove":   func(p string) error { _, err := f.Remove(p); return err },
		"From":     func(p string) error { _, err := f.Rename(p, "new"); return err },
		"To":       func(p string) error { _, err := f.Rename("go", p); return err },
		"Walk": func(p string) error {
			return f.Walk(context.Background(), p, func(WalkEntry) error { return nil })
		},
	}
}

// A path spelled through the configured name of a root means the root, also in
// links, although that name may not exist in the sandbox.
func TestLogicalSpelling(t *testing.T) {
	w := build(t, "w/a.txt = A", "w/s/l -> $/alias/a.txt", "w/s/x -> $/alias/../etc")
	logical := func(e *policy.Effective) { e.Roots[0].Logical = w.path("alias") }
	f := w.open(logical)
	for path, code := range map[string]fault.Code{
		w.path("alias/a.txt"): "", w.path("alias/s/../a.txt") + "": "", "s/l": "",
		w.path("alias") + "/s/../a.txt": "", w.path("alias") + "/../x": outside, "s/x": outside, w.path("alias2/a.txt"): outside,
	} {
		_, _, err := f.ReadFile(path, 0)
		wants(t, path, err, code)
	}
}

// As many links as the system follows, and not one more.
func TestLinkLimit(t *testing.T) {
	w := build(t, "w/0 = end")
	for i := range maxLinks + 1 {
		w.add(fmt.Sprintf("w/%d -> %d", i+1, i))
	}
	f := w.open()
	last := fmt.Sprint(maxLinks)
	if data, _, err := f.ReadFile(last, 0); err != nil || string(data) != "end" || w.content("w/"+last) != "end" {
		t.Errorf("%d links: %q, %v; the system: %q", maxLinks, data, err, w.content("w/"+last))
	}
	_, _, err := f.ReadFile(fmt.Sprint(maxLinks+1), 0)
	wants(t, "one link more", err, fault.FSLinkLoop)
}

// A directory above a root that became a link after the policy was made leads
// nowhere (FS-03).
func TestLinkAboveRoot(t *testing.T) {
	w := build(t, "x/m/f = F", "y/m/f = other")
	f := w.open(w.mount("x/m", scope.All))
	path := w.path("x/m/f")
	_, _, err := f.ReadFile(path, 0)
	wants(t, "before", err, "")
	if err := os.Rename(w.path("x"), w.path("z")); err != nil {
		t.Fatal(err)
	}
	w.add("x -> y")
	_, _, err = f.ReadFile(path, 0)
	wants(t, "through a new link", err, outside)
	if got := w.content("x/m/f"); got != "other" {
		t.Errorf("the system itself reads %q", got)
	}
}

// Covers: S0-51, S0-52, S0-53, S0-74, S0-75, S0-76, S0-77, S0-78
func TestPlainScope(t *testing.T) {
	w := build(t, "w/src/a.go = A", "w/doc/d.md = D", "w/x/f = F", "w/src/gen/g.go = G", "w/l -> x/f", "w/top.txt = T", "w/src/out -> ../x/f")
	s, err := scope.New(
		[]scope.Rule{
			{Target: w.path("w/src"), Permission: scope.Write, Recursive: true, Source: "pod.toml:4"},
			{Target: w.path("w/doc"), Permission: scope.Read, Recursive: true, Source: "pod.toml:8"},
			{Target: w.path("w"), Permission: scope.Read, Source: "pod.toml:12"},
		},
		[]scope.Rule{{Target: w.path("w/src/gen"), Permission: scope.Write, Recursive: true, Source: "pod.toml:16"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		path        string
		read, write fault.Code
	}{
		{"src/a.go", "", ""},
		{"src/new.go", fault.FSNotFound, ""},
		{"doc/d.md", "", fault.FSReadOnly},
		{"doc/new.md", fault.FSNotFound, fault.FSReadOnly},
		{"src/gen/g.go", "", fault.FSReadOnly},
		{"top.txt", "", fault.FSReadOnly},
		{"x/f", unruled, unruled},
		{"x/new", unruled, unruled},
		{"l", unruled, unruled},
		{"src/out", unruled, unruled},
		{"../w/src/a.go", "", ""},
		{"/etc/hostname", unruled, unruled},
		{"/nowhere/at/all", unruled, unruled},
	} {
		_, _, err := f.ReadFile(c.path, 0)
		wants(t, "read "+c.path, err, c.read)
		_, err = f.WriteFile(c.path, []byte("new"), WriteOptions{})
		wants(t, "write "+c.path, err, c.write)
		if code := fault.CodeOf(err); code == fault.FSReadOnly && args(err)["source"] == "" {
			t.Errorf("write %s: no source in %v", c.path, err)
		}
	}
	if got := w.content("w/x/f") + w.content("w/src/gen/g.go") + w.content("w/doc/d.md"); got != "FGD" {
		t.Errorf("something was written: %q", got)
	}
	if _, err := f.Remove("src/a.go"); fault.CodeOf(err) != fault.FSNoDelete {
		t.Errorf("write alone removed a file: %v", err)
	}
	denied, err := Open(FromScope(nil), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer denied.Close()
	_, _, err = denied.ReadFile("top.txt", 0)
	wants(t, "without a scope", err, unruled)
	if _, err := Open(nil, Options{}); err == nil {
		t.Error("an FS without rules was opened")
	}
}

// A denied file is denied by every spelling, to every method.
//
// Covers: S3-06
func TestEverySpellingEveryMethod(t *testing.T) {
	w := build(t, "w/sec/t.txt = T", "w/go = G", "w/l -> sec/t.txt", "w/sub/f = F", "w/ld -> sec")
	f := w.open(w.deny(scope.Read, "w/sec"))
	free := w.open()
	for name, act := range acts(f) {
		for _, path := range []string{"sec/t.txt", w.path("w/sec/t.txt"), "./sec/./t.txt", "sub/../sec/t.txt", "//" + w.path("w") + "//sec//t.txt", "ld/t.txt", "l", "ld/", "sec"} {
			follows := name != "Lstat" && name != "Readlink" && name != "Remove" && name != "From" && name != "To"
			if !follows && (path == "l" || path == "ld/") {
				continue // about the link itself, which no rule names
			}
			wants(t, name+" "+path, act(path), unruled)
		}
	}
	if got := w.content("w/sec/t.txt"); got != "T" {
		t.Errorf("the denied file holds %q", got)
	}
	if data, _, err := free.ReadFile("sub/../sec/t.txt", 0); err != nil || string(data) != "T" {
		t.Errorf("the twin without the rule: %q, %v", data, err)
	}
}

// A working directory is judged like any path.
func TestOpenDir(t *testing.T) {
	w := build(t, "w/d/e/", "w/out -> $", "w/sib -> ../w_bak", "w_bak/", "w/in -> d", "w/f = F")
	f := w.open()
	for path, want := range map[string]string{".": "w", "d/e": "w/d/e", "in/e/..": "w/d", w.path("w/d"): "w/d",
		w.path("w_bak"): "fs.outside_workspace", "out": "fs.outside_workspace", "sib": "fs.outside_workspace", "..": "fs.outside_workspace",
		"f": "fs.not_directory", "none": "fs.not_found"} {
		dir, at, err := f.OpenDir(path)
		if code, isCode := strings.CutPrefix(want, "fs."); isCode {
			wants(t, path, err, fault.Code("fs."+code))
			continue
		}
		if err != nil || at.Canonical != w.path(want) || onHandle(dir).realPath() != w.path(want) {
			t.Errorf("OpenDir(%q) = %+v, %v", path, at, err)
		}
		dir.Close()
	}
}

// For any tree and any spelling: what is read is what the system would read,
// and it lies inside; and what the kernel itself finds without ever leaving
// the workspace is found.
//
// Covers: S3-01, C-80, S1-247
func TestResolveAgreesWithTheKernel(t *testing.T) {
	w := build(t, "w/f = f", "w/a/f = af", "w/a/b/f = abf", "w/a/b/c/f = abcf", "out/f = of", "out/a/f = oaf")
	names := []string{"f", "a", "b", "c", "l1", "l2", "l3", "..", ".", "", "w", "out"}
	spelling := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 7).Draw(t, "names"), "/")
	})
	f := w.open()
	root := int(w.handle("w"))
	rapid.Check(t, func(t *rapid.T) {
		for _, link := range []string{"l1", "a/l2", "a/b/l3", "l3", "../out/l1"} {
			os.Remove(w.path("w/" + link))
			target := spelling.Draw(t, link)
			if rapid.Bool().Draw(t, "absolute") {
				target = w.top + "/" + target
			}
			if target != "" {
				os.Symlink(target, w.path("w/"+link))
			}
		}
		asked := strings.TrimLeft(spelling.Draw(t, "path"), "/") + "/f"
		data, at, err := f.ReadFile(asked, 0)
		system, systemErr := os.ReadFile(w.path("w") + "/" + asked)
		real, _ := filepath.EvalSymlinks(w.path("w") + "/" + asked)
		if err == nil {
			if systemErr != nil || string(data) != string(system) || at.Canonical != real || !strings.HasPrefix(real, w.path("w")+"/") {
				t.Fatalf("%q: read %q at %s; the system %q at %s, %v", asked, data, at.Canonical, system, real, systemErr)
			}
			return
		}
		how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
		if fd, beneath := unix.Openat2(root, asked, &how); beneath == nil {
			unix.Close(fd)
			if systemErr == nil {
				t.Fatalf("%q: %v, but the kernel stays beneath the workspace and reads %q", asked, err, system)
			}
		}
		if fault.CodeOf(err) == "" {
			t.Fatalf("%q: an error without a code: %v", asked, err)
		}
	})
}

// No input makes the resolver panic, block or answer without a code.
func FuzzResolve(f *testing.F) {
	w := build(f, "w/a/b = B", "w/l -> a", "w/up -> ../..", "w/p |")
	fs := w.open()
	for _, seed := range []string{"a/b", "l/b", "up/x", "../w/a/b", "/", "", "a\x00", "a/../../w", strings.Repeat("a/", 300), "p", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		_, at, err := fs.Stat(path)
		switch {
		case err != nil && fault.CodeOf(err) == "":
			t.Errorf("%q: %v", path, err)
		case err == nil && at.Canonical != w.path("w") && !strings.HasPrefix(at.Canonical, w.path("w")+"/"):
			t.Errorf("%q led to %q", path, at.Canonical)
		}
	})
}
