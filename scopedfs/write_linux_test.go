package scopedfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

func (w *world) write(f *FS, path, data string) (Outcome, error) {
	return f.WriteFile(path, []byte(data), WriteOptions{})
}

// Covers: S0-54
func TestWriteOutcome(t *testing.T) {
	w := build(t)
	f := w.open()
	for i, c := range []struct {
		data             string
		created, changed bool
		before           Digest
	}{
		{"one", true, true, ""},
		{"two", false, true, DigestOf([]byte("one"))},
		{"two", false, false, DigestOf([]byte("two"))},
		{"", false, true, DigestOf([]byte("two"))},
		{"#!/bin/sh\necho ok\n", false, true, DigestOf(nil)},
	} {
		out, err := w.write(f, "x/../n/e/w.sh", c.data)
		if i == 0 {
			wants(t, "a way out of nothing", err, fault.FSNotFound)
			out, err = w.write(f, "n/e/w.sh", c.data)
		} else if err != nil {
			out, err = w.write(f, "n/e/../e/w.sh", c.data)
		}
		want := Outcome{Path: out.Path, Created: c.created, Changed: c.changed, Bytes: int64(len(c.data)), Before: c.before, After: DigestOf([]byte(c.data))}
		if err != nil || out != want || out.Path.Canonical != w.path("w/n/e/w.sh") || w.content("w/n/e/w.sh") != c.data {
			t.Errorf("%q: %+v, %v; on disk %q", c.data, out, err, w.content("w/n/e/w.sh"))
		}
	}
	if found := w.leftovers(); found != nil {
		t.Errorf("left over: %q", found)
	}
}

// Covers: SD-17
func TestWriteThroughLinks(t *testing.T) {
	w := build(t, "w/real/conf = v1", "w/conf -> real/conf", "w/L -> real", "w/chain -> conf",
		"w/out/next -> ../private/next.txt", "w/gone -> $/elsewhere", "w/goneIn -> nowhere", "w/goneOut -> $/else.txt",
		"w/goneDeep -> real/sub/file", "elsewhere2/")
	f := w.open()
	for _, c := range []struct {
		path, resolved string
		code           fault.Code
	}{
		{"conf", "w/real/conf", ""},
		{"chain", "w/real/conf", ""},
		{"L/conf", "w/real/conf", ""},
		{"L/new", "w/real/new", ""},
		{"L/d/e/new", "w/real/d/e/new", ""},
		{"out/next", "w/private/next.txt", fault.FSDanglingLink},
		{"goneIn", "w/nowhere", fault.FSDanglingLink},
		{"goneIn/deep/f", "w/nowhere/deep/f", fault.FSDanglingLink},
		{"goneDeep", "w/real/sub/file", fault.FSDanglingLink},
		{"gone/deep/f.txt", "elsewhere", outside},
		{"goneOut", "else.txt", outside},
	} {
		data := "to " + c.path
		out, err := w.write(f, c.path, data)
		wants(t, c.path, err, c.code)
		if c.code != "" {
			if got := args(err)["resolved"]; !strings.HasPrefix(got, w.path(c.resolved)) {
				t.Errorf("%s: the error names %q, want %q", c.path, got, c.resolved)
			}
			continue
		}
		if out.Path.Canonical != w.path(c.resolved) || w.content(c.resolved) != data {
			t.Errorf("%s went to %s, which holds %q", c.path, out.Path.Canonical, w.content(c.resolved))
		}
	}
	_, err := f.MkdirAll("gone/deep")
	wants(t, "a directory through a dead link", err, outside)
	_, err = f.MkdirAll("goneIn/deep")
	wants(t, "a directory through a dead link inside", err, fault.FSDanglingLink)
	for _, name := range []string{"elsewhere", "else.txt", "w/private", "w/nowhere", "w/real/sub"} {
		if !w.missing(name) {
			t.Errorf("%s was made", name)
		}
	}
	if target, err := os.Readlink(w.path("w/conf")); err != nil || target != "real/conf" {
		t.Errorf("the link became %q, %v", target, err)
	}
	// The twin: the system itself creates through a dead link.
	if err := os.WriteFile(w.path("w/goneOut"), nil, 0o644); err != nil || w.missing("else.txt") {
		t.Errorf("the system did not write through the link: %v", err)
	}
}

// Covers: SD-17
func TestHardLinks(t *testing.T) {
	w := build(t, "w/a = A", "w/b == w/a", "secret = S", "w/alias == secret")
	f := w.open()
	for _, name := range []string{"a", "alias"} {
		_, err := w.write(f, name, "x")
		wants(t, name, err, fault.FSHardLink)
		_, err = f.Update(name, 0, func([]byte) ([]byte, error) { return []byte("x"), nil })
		wants(t, name, err, fault.FSHardLink)
		_, _, err = f.ReadFile(name, 0)
		wants(t, "read "+name, err, "")
	}
	if got := w.content("w/a") + w.content("w/b") + w.content("secret"); got != "AAS" {
		t.Errorf("something was written: %q", got)
	}
	allowed := w.openWith(Options{AllowHardLinks: true})
	out, err := w.write(allowed, "a", "longer than before")
	if err != nil || !out.Changed || w.content("w/b") != "longer than before" {
		t.Errorf("allowed: %+v, %v; the other name holds %q", out, err, w.content("w/b"))
	}
	if _, err = w.write(allowed, "b", "s"); err != nil || w.content("w/a") != "s" {
		t.Errorf("allowed, shorter: %v; the other name holds %q", err, w.content("w/a"))
	}
	// The names of a file may be taken away and moved one by one.
	_, err = f.Rename("a", "c")
	wants(t, "move one name", err, "")
	_, err = f.Remove("c")
	wants(t, "remove one name", err, "")
}

// A file had no other name for one moment, in which it was judged: its own name
// was taken away just then. It is looked at again before anything changes.
func TestHardLinkMadeAfterTheJudgement(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		w := build(t, "out/f = theirs", "w/")
		if err := os.Link(w.path("out/f"), w.path("w/f")); err != nil {
			t.Fatal(err)
		}
		f := w.openWith(Options{AllowHardLinks: allowed})
		for name, act := range map[string]func(p *place) error{
			"rewrite": func(p *place) error { return f.rewrite("write", p, []byte("mine"), WriteOptions{}, new(Outcome)) },
			"replace": func(p *place) error {
				old, err := p.dir.openRead(p.name, p.Canonical)
				if err != nil {
					t.Fatal(err)
				}
				defer old.Close()
				return f.replace("edit", p, old, []byte("mine"), &Outcome{After: DigestOf([]byte("mine"))})
			},
		} {
			p, err := f.resolve("write", "f", true)
			if err != nil {
				t.Fatal(err)
			}
			p.node.links = 1
			err = act(p)
			p.close()
			if allowed {
				wants(t, name, err, "")
				continue
			}
			if got := w.content("out/f"); !errors.Is(err, errMoved) || got != "theirs" || w.content("w/f") != "theirs" || w.leftovers() != nil {
				t.Errorf("%s: %v; the other name holds %q, left over %q", name, err, got, w.leftovers())
			}
		}
	}
}

func TestWriteKeepsMetadata(t *testing.T) {
	w := build(t, "w/hook.sh = #!/bin/sh", "w/key = K", "w/setgid = S", "w/tagged = T", "w/owned = O")
	f := w.open()
	chmod := map[string]os.FileMode{"hook.sh": 0o750, "key": 0o600, "setgid": 0o755 | os.ModeSetgid}
	for name, mode := range chmod {
		if err := os.Chmod(w.path("w/"+name), mode); err != nil {
			t.Fatal(err)
		}
	}
	tagged := unix.Setxattr(w.path("w/tagged"), "user.note", []byte("kept"), 0) == nil
	owned := os.Geteuid() == 0 && os.Chown(w.path("w/owned"), 1234, 1235) == nil
	for name, mode := range chmod {
		_, err := w.write(f, name, "new "+name)
		wants(t, name, err, "")
		_, err = f.Update(name, 0, func(old []byte) ([]byte, error) { return append(old, '!'), nil })
		wants(t, name, err, "")
		info, err := os.Stat(w.path("w/" + name))
		if err != nil || info.Mode() != mode || w.content("w/"+name) != "new "+name+"!" {
			t.Errorf("%s is now %v with %q", name, info.Mode(), w.content("w/"+name))
		}
	}
	for _, name := range []string{"tagged", "owned"} {
		_, err := w.write(f, name, "new")
		wants(t, name, err, "")
	}
	if tagged {
		value := make([]byte, 16)
		n, err := unix.Getxattr(w.path("w/tagged"), "user.note", value)
		if err != nil || string(value[:n]) != "kept" {
			t.Errorf("the attribute is %q, %v", value[:max(n, 0)], err)
		}
	}
	if owned {
		var st unix.Stat_t
		if err := unix.Stat(w.path("w/owned"), &st); err != nil || st.Uid != 1234 || st.Gid != 1235 {
			t.Errorf("owner is now %d:%d, %v", st.Uid, st.Gid, err)
		}
	}
	out, err := w.write(f, "fresh", "F")
	wants(t, "a new file", err, "")
	old := unix.Umask(0)
	unix.Umask(old)
	if info, err := os.Stat(out.Path.Canonical); err != nil || info.Mode() != os.FileMode(0o666&^old) {
		t.Errorf("a new file has mode %v, %v", info.Mode(), err)
	}
}

// What replaces a file that is closed to others is closed to them from its first
// moment on. The twin: what becomes a new file is as open as the mask lets it.
func TestReplacementIsAsClosedAsItsFile(t *testing.T) {
	w := build(t, "w/key = K")
	f := w.open()
	if err := os.Chmod(w.path("w/key"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer unix.Umask(unix.Umask(0))
	// watched writes until the file that will take the name was seen.
	watched := func(act func(data []byte)) os.FileMode {
		seen, stop := make(chan os.FileMode, 1), make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				found, _ := filepath.Glob(w.path("w/.sunaba-*"))
				for _, name := range found {
					if info, err := os.Lstat(name); err == nil {
						seen <- info.Mode()
						return
					}
				}
			}
		}()
		for i := 0; ; i++ {
			act(bytes.Repeat([]byte{byte(i)}, 1<<20))
			select {
			case mode := <-seen:
				return mode
			default:
			}
		}
	}
	if mode := watched(func(data []byte) {
		if _, err := w.write(f, "key", string(data)); err != nil {
			t.Error(err)
		}
	}); mode != 0o600 {
		t.Errorf("the replacement had mode %v", mode)
	}
	n := 0
	if mode := watched(func(data []byte) {
		n++
		if _, err := w.write(f, fmt.Sprint("new", n), string(data)); err != nil {
			t.Error(err)
		}
	}); mode != 0o666 {
		t.Errorf("the new file had mode %v", mode)
	}
}

// Where the owner cannot be kept, the file is written in place.
func TestWriteInPlaceKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a file of another user")
	}
	w := build(t, "w/shared = S")
	for dir := w.top; len(dir) > 4; dir = dir[:strings.LastIndexByte(dir, '/')] {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"w", "w/shared"} {
		if err := os.Chmod(w.path(name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	f := w.open()
	asOrdinaryUser(t, func() {
		_, err := w.write(f, "shared", "new content")
		wants(t, "a file of another user", err, "")
	})
	var st unix.Stat_t
	if err := unix.Stat(w.path("w/shared"), &st); err != nil || st.Uid != 0 || w.content("w/shared") != "new content" {
		t.Errorf("owner %d, content %q, %v", st.Uid, w.content("w/shared"), err)
	}
	if found := w.leftovers(); found != nil {
		t.Errorf("left over: %q", found)
	}
}

func TestWriteOptions(t *testing.T) {
	w := build(t, "w/f = old", "w/d/", "w/l -> f")
	f := w.open()
	digest := func(s string) *Digest { d := DigestOf([]byte(s)); return &d }
	nothing := new(Digest)
	for _, c := range []struct {
		path string
		o    WriteOptions
		code fault.Code
	}{
		{"f", WriteOptions{MustNotExist: true}, fault.FSExists},
		{"l", WriteOptions{MustNotExist: true}, fault.FSExists},
		{"f", WriteOptions{Expect: digest("else")}, fault.FSChanged},
		{"f", WriteOptions{Expect: nothing}, fault.FSChanged},
		{"gone", WriteOptions{Expect: digest("old")}, fault.FSChanged},
		{"d", WriteOptions{}, fault.FSIsDirectory},
		{"d/", WriteOptions{}, fault.FSIsDirectory},
		{"new/", WriteOptions{}, fault.FSIsDirectory},
		{"f/", WriteOptions{}, fault.FSNotDirectory},
		{"f/g", WriteOptions{}, fault.FSNotDirectory},
		{".", WriteOptions{}, fault.FSIsDirectory},
	} {
		_, err := f.WriteFile(c.path, []byte("new"), c.o)
		wants(t, fmt.Sprintf("%s %+v", c.path, c.o), err, c.code)
	}
	if w.content("w/f") != "old" || !w.missing("w/gone") || !w.missing("w/new") {
		t.Error("a refused write changed something")
	}
	_, err := f.WriteFile("f", []byte("new"), WriteOptions{Expect: digest("old")})
	wants(t, "the expected content", err, "")
	_, err = f.WriteFile("fresh", []byte("new"), WriteOptions{Expect: nothing, MustNotExist: true})
	wants(t, "expecting nothing", err, "")
	_, err = f.Create("fresh", nil)
	wants(t, "create again", err, fault.FSExists)
}

// Someone else saves between the reading and the writing, with the same size
// and the same time.
func TestUpdateDoesNotLoseAnothersChange(t *testing.T) {
	w := build(t, "w/n = A1")
	f := w.open()
	info, err := os.Stat(w.path("w/n"))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	out, err := f.Update("n", 0, func(old []byte) ([]byte, error) {
		if calls++; calls == 1 {
			w.add("w/n = B2")
			if err := os.Chtimes(w.path("w/n"), time.Time{}, info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		return append(old, " edited"...), nil
	})
	if err != nil || calls != 2 || w.content("w/n") != "B2 edited" || out.Before != DigestOf([]byte("B2")) {
		t.Errorf("%d calls, %v, content %q", calls, err, w.content("w/n"))
	}
	if found := w.leftovers(); found != nil {
		t.Errorf("left over: %q", found)
	}
	_, err = f.Update("n", 0, func([]byte) ([]byte, error) {
		w.add(fmt.Sprintf("w/n = %d", time.Now().UnixNano()))
		return []byte("mine"), nil
	})
	wants(t, "a file that never stands still", err, fault.FSChanged)
	if got := w.content("w/n"); got == "mine" {
		t.Error("the changes of someone else were lost")
	}
}

// Someone else saves as editors do, by a rename over the name.
func TestUpdateDoesNotLoseAReplacement(t *testing.T) {
	w := build(t, "w/n = mine")
	calls := 0
	out, err := w.open().Update("n", 0, func(old []byte) ([]byte, error) {
		if calls++; calls == 1 {
			w.add("w/n.new = theirs")
			if err := os.Rename(w.path("w/n.new"), w.path("w/n")); err != nil {
				t.Fatal(err)
			}
		}
		return append(old, " edited"...), nil
	})
	if err != nil || calls != 2 || w.content("w/n") != "theirs edited" || out.Before != DigestOf([]byte("theirs")) {
		t.Errorf("%d calls, %v, content %q", calls, err, w.content("w/n"))
	}
}

// What was caught by an exchange gets its name back, also when that name was
// taken away meanwhile; nothing is left under a name of ours.
func TestGiveBack(t *testing.T) {
	for name, between := range map[string]func(w *world) error{
		"nothing happens":   func(*world) error { return nil },
		"the name is gone":  func(w *world) error { return os.Remove(w.path("w/n")) },
		"the name is moved": func(w *world) error { return os.Rename(w.path("w/n"), w.path("w/other")) },
	} {
		w := build(t, "w/n = theirs")
		f := w.open()
		p, err := f.resolve("write", "n", true)
		if err != nil {
			t.Fatal(err)
		}
		temp := f.temporary(p, replacement)
		if err := errors.Join(temp.fill([]byte("mine")), p.dir.exchange(temp.name, p.name), between(w)); err != nil {
			t.Fatal(err)
		}
		temp.giveBack(p)
		temp.discard()
		p.close()
		if got := w.content("w/n"); got != "theirs" || w.leftovers() != nil {
			t.Errorf("%s: %q, left over %q", name, got, w.leftovers())
		}
	}
}

// The directory is carried out of the workspace between the decision and the
// act, and a link that leads out takes its place.
func TestDirectoryMovedOutDuringAct(t *testing.T) {
	w := build(t, "w/d/f = inside", "out/d2/f = outside")
	moved := false
	move := func() {
		if moved {
			return
		}
		moved = true
		if err := os.Rename(w.path("w/d"), w.path("out/d")); err != nil {
			t.Fatal(err)
		}
		w.add("w/d -> $/out/d2")
	}
	_, err := w.open().Update("d/f", 0, func(old []byte) ([]byte, error) {
		move()
		return append(old, " changed"...), nil
	})
	wants(t, "an edit", err, outside)
	if got := w.content("out/d/f") + " " + w.content("out/d2/f"); got != "inside outside" || w.leftovers() != nil {
		t.Errorf("outside holds %q, left over %q", got, w.leftovers())
	}
	// The twin: written by name, the change goes out.
	if err := os.WriteFile(w.path("w/d/f"), []byte("changed"), 0o644); err != nil || w.content("out/d2/f") != "changed" {
		t.Errorf("by name: %v, %q", err, w.content("out/d2/f"))
	}
}

func TestUpdate(t *testing.T) {
	w := build(t, "w/f = 12345", "w/d/", "w/ro = R")
	f := w.open(w.deny(scope.Write, "w/ro"))
	broken := errors.New("no match")
	same := func(b []byte) ([]byte, error) { return b, nil }
	for _, c := range []struct {
		path string
		max  int64
		edit func([]byte) ([]byte, error)
		want error
	}{
		{"f", 4, same, &fault.Error{Code: fault.FSTooLarge}},
		{"f", 0, func([]byte) ([]byte, error) { return nil, broken }, broken},
		{"f", 0, func([]byte) ([]byte, error) { return []byte("x"), fault.New(fault.FSNoMatch, "edit") }, &fault.Error{Code: fault.FSNoMatch}},
		{"d", 0, same, &fault.Error{Code: fault.FSIsDirectory}},
		{"none", 0, same, &fault.Error{Code: fault.FSNotFound}},
		{"ro", 0, same, &fault.Error{Code: fault.FSReadOnly}},
	} {
		if _, err := f.Update(c.path, c.max, c.edit); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
	before, err := os.Stat(w.path("w/f"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Update("f", 5, same)
	after, _ := os.Stat(w.path("w/f"))
	if err != nil || out.Changed || !os.SameFile(before, after) || w.content("w/f") != "12345" {
		t.Errorf("an edit that changes nothing: %+v, %v", out, err)
	}
	out, err = f.Update("f", 5, func(b []byte) ([]byte, error) { return bytes.ToUpper(append(b, "é"...)), nil })
	if err != nil || !out.Changed || out.Created || out.Bytes != 7 || w.content("w/f") != "12345\xc3\x89" {
		t.Errorf("%+v, %v, %q", out, err, w.content("w/f"))
	}
}

// Covers: SD-22
func TestLimits(t *testing.T) {
	w := build(t, "w/a = A", "w/d/b = B", "w/d/l -> b", "w/big = 123456", "m/other = O")
	f := w.openWith(Options{MaxFileBytes: 5, MaxFiles: 5}, w.mount("m", scope.R|scope.W))
	_, err := w.write(f, "a", "123456")
	wants(t, "too much over a file", err, fault.FSTooLarge)
	_, err = w.write(f, "new", "123456")
	wants(t, "too much for a new file", err, fault.FSTooLarge)
	_, err = f.Update("a", 0, func([]byte) ([]byte, error) { return []byte("123456"), nil })
	wants(t, "an edit that grows too much", err, fault.FSTooLarge)
	_, err = f.Update("big", 0, func([]byte) ([]byte, error) { return nil, nil })
	wants(t, "an edit of a big file", err, fault.FSTooLarge)
	_, err = w.write(f, "big", "small")
	wants(t, "a small file in place of a big one", err, "")
	_, err = w.write(f, "e/fifth", "5")
	wants(t, "the last file there is room for", err, "")
	_, err = w.write(f, "e/sixth", "6")
	wants(t, "one file too many", err, fault.FSTooManyFiles)
	_, err = w.write(f, "x/y/sixth", "6")
	wants(t, "one file too many in a new directory", err, fault.FSTooManyFiles)
	_, err = f.Rename(w.path("m/other"), "sixth")
	wants(t, "one file too many from elsewhere", err, fault.FSTooManyFiles)
	_, err = f.Rename("e/fifth", "fifth")
	wants(t, "a move that adds nothing", err, "")
	_, err = w.write(f, w.path("m/new"), "7")
	wants(t, "a file where none are counted", err, "")
	_, err = w.write(f, "a", "again")
	wants(t, "a file that is counted already", err, "")
	if w.content("w/a") != "again" || !w.missing("w/new") || !w.missing("w/x") {
		t.Error("a refused write changed something")
	}
}

// Names a writer might use for its temporary file lead elsewhere; none of them
// is opened.
func TestPlantedTemporaryNames(t *testing.T) {
	lines := []string{"outside.txt = precious"}
	for _, name := range []string{"f.txt.tmp", ".f.txt.tmp", "f.txt~", "f.txt.new", ".f.txt.swp", fmt.Sprintf(".f.txt.%d", os.Getpid()), ".sunaba-.tmp", ".sunaba-f.txt.tmp"} {
		lines = append(lines, "w/"+name+" -> ../outside.txt")
	}
	w := build(t, lines...)
	f := w.open()
	for _, data := range []string{"new", "newer"} {
		if _, err := w.write(f, "f.txt", data); err != nil || w.content("w/f.txt") != data {
			t.Errorf("%v, content %q", err, w.content("w/f.txt"))
		}
	}
	if got := w.content("outside.txt"); got != "precious" {
		t.Errorf("the outside file holds %q", got)
	}
	if list, err := os.ReadDir(w.path("w")); err != nil || len(list) != len(lines) {
		t.Errorf("%d entries, %v, want %d", len(list), err, len(lines))
	}
}

// Rules that allow one file only leave no room for a second one beside it.
func TestSingleFileRule(t *testing.T) {
	w := build(t, "w/only.txt = old", "w/other.txt = other")
	s, err := scope.New([]scope.Rule{
		{Target: w.path("w/only.txt"), Permission: scope.Write, Recursive: true},
		{Target: w.path("w/made.txt"), Permission: scope.Write, Recursive: true, Delete: true},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, _ := os.Stat(w.path("w/only.txt"))
	for _, data := range []string{"longer than it was", "s", ""} {
		out, err := w.write(f, "only.txt", data)
		after, _ := os.Stat(w.path("w/only.txt"))
		if err != nil || !out.Changed || w.content("w/only.txt") != data || !os.SameFile(before, after) {
			t.Errorf("%q: %+v, %v, content %q", data, out, err, w.content("w/only.txt"))
		}
	}
	if _, err := w.write(f, "made.txt", "made"); err != nil || w.content("w/made.txt") != "made" {
		t.Errorf("a new file of its own rule: %v, %q", err, w.content("w/made.txt"))
	}
	_, err = w.write(f, "other.txt", "x")
	wants(t, "the neighbour", err, unruled)
	_, err = f.Remove("made.txt")
	wants(t, "with delete", err, "")
	_, err = f.Remove("only.txt")
	wants(t, "without delete", err, fault.FSNoDelete)
}

// A write that fails half way leaves the old content and nothing else.
func TestFailedWriteRollsBack(t *testing.T) {
	w := build(t, "w/f = old content", "w/h = hard", "w/h2 == w/h")
	f := w.openWith(Options{AllowHardLinks: true})
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 4096
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("x"), 8192)
	alone, err := scope.New([]scope.Rule{{Target: w.path("w/alone"), Permission: scope.Write}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	single, err := Open(FromScope(alone), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close()
	if _, err := single.WriteFile("alone", big, WriteOptions{}); fault.CodeOf(err) != fault.FSFailed {
		t.Errorf("a file of its own rule: %v", err)
	}
	for _, path := range []string{"f", "h", "new", "d/e/new"} {
		if _, err := f.WriteFile(path, big, WriteOptions{}); fault.CodeOf(err) != fault.FSFailed {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if w.content("w/f") != "old content" || w.content("w/h") != "hard" {
		t.Errorf("f = %.20q, h = %.20q", w.content("w/f"), w.content("w/h"))
	}
	if !w.missing("w/new") || !w.missing("w/d") || !w.missing("w/alone") || w.leftovers() != nil {
		t.Errorf("something is left: %v", w.leftovers())
	}
	_, err = f.WriteFile("d/e/new", big, WriteOptions{})
	wants(t, "the twin without the limit", err, "")
}

func TestRunningProgramIsReplaced(t *testing.T) {
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skip("needs /bin/sleep")
	}
	w := build(t)
	f := w.open()
	if _, err := f.WriteFile("prog", sleep, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("w/prog"), 0o755); err != nil {
		t.Fatal(err)
	}
	process, err := os.StartProcess(w.path("w/prog"), []string{"prog", "60"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer process.Kill()
	if _, err := w.write(f, "prog", "new"); err != nil || w.content("w/prog") != "new" {
		t.Errorf("%v, %.10q", err, w.content("w/prog"))
	}
}

// Composed and decomposed spellings are two files that look the same.
func TestLookalikes(t *testing.T) {
	const composed, decomposed = "が.md", "か\u3099.md"
	w := build(t, "w/"+decomposed+" = A", "w/私有か\u3099/k = K", "w/Ä = U")
	f := w.open(w.deny(scope.Read, "w/私有が"))
	_, _, err := f.ReadFile(composed, 0)
	wants(t, "the other spelling", err, fault.FSNotFound)
	if got := args(err)["similar"]; got != decomposed {
		t.Errorf("the error names %q", got)
	}
	out, err := w.write(f, composed, "B")
	if err != nil || !out.Created || out.Similar != decomposed || w.content("w/"+decomposed) != "A" {
		t.Errorf("%+v, %v; the other one holds %q", out, err, w.content("w/"+decomposed))
	}
	for _, name := range []string{"私有が/k", "私有か\u3099/k"} {
		_, _, err = f.ReadFile(name, 0)
		wants(t, name, err, unruled)
	}
	_, _, err = w.open().ReadFile("私有か\u3099/k", 0)
	wants(t, "the twin without the rule", err, "")

	all := []scope.Rule{{Target: w.top, Permission: scope.Write, Recursive: true}}
	for _, deny := range [][]scope.Rule{nil, {{Target: w.path("w/私有が"), Permission: scope.Read, Recursive: true}}} {
		s, err := scope.New(all, deny)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Open(FromScope(s), Options{Pwd: w.path("w")})
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		want := unruled
		if deny == nil {
			want = ""
		}
		_, _, err = plain.ReadFile("私有か\u3099/k", 0)
		wants(t, "by a plain scope", err, want)
	}
}

// Covers: FS-08a
func TestReadonlyProfile(t *testing.T) {
	w := build(t, "w/f = F", "m/f = M")
	readonly := func(e *policy.Effective) { e.Profile = "readonly" }
	f := w.open(w.mount("m", scope.All), readonly)
	for _, path := range []string{"f", "new", w.path("m/f")} {
		_, err := w.write(f, path, "x")
		wants(t, path, err, fault.FSReadOnly)
		_, err = f.Remove(path)
		wants(t, path, err, fault.FSReadOnly)
		_, err = f.MkdirAll(path)
		wants(t, path, err, fault.FSReadOnly)
		_, err = f.Rename(path, "to")
		wants(t, path, err, fault.FSReadOnly)
	}
	_, _, err := f.ReadFile("f", 0)
	wants(t, "reading", err, "")
	if w.content("w/f")+w.content("m/f") != "FM" {
		t.Error("something was written")
	}
}
