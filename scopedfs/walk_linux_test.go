package scopedfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/scope"
)

// walked returns the relative names a Walk visits, in order.
func walked(t *testing.T, f *FS, start string) (names []string) {
	t.Helper()
	err := f.Walk(t.Context(), start, func(e WalkEntry) error {
		if e.Err != nil {
			t.Errorf("%s: %v", e.Rel, e.Err)
		}
		names = append(names, e.Rel)
		return nil
	})
	if err != nil {
		t.Errorf("walk %s: %v", start, err)
	}
	return names
}

// Covers: S0-57, SD-16
func TestWalkVisitsWhatMayBeRead(t *testing.T) {
	w := build(t, "w/b/2 = 22", "w/b/1 = 1", "w/a = A", "w/c/d/e = E", "w/out -> /etc", "w/l -> b", "w/b/up -> ..",
		"w/.hidden = H", "w/secret/k = K", "w/c/deny.txt = D", "w/-dash = M")
	f := w.open(w.deny(scope.Read, "w/secret"), w.deny(scope.Read, "w/c/deny.txt"))
	want := []string{"-dash", ".hidden", "a", "b", "b/1", "b/2", "b/up", "c", "c/d", "c/d/e", "l", "out"}
	if got := walked(t, f, "."); !slices.Equal(got, want) {
		t.Errorf("walked %q\nwant   %q", got, want)
	}
	if got := walked(t, f, "l"); !slices.Equal(got, []string{"1", "2", "up"}) {
		t.Errorf("from a link: %q", got)
	}
	if got := walked(t, f, "a"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("from a file: %q", got)
	}
	for start, code := range map[string]fault.Code{"/etc": outside, "out": outside, "secret": unruled, "none": fault.FSNotFound, "": fault.FSBadPath} {
		err := f.Walk(t.Context(), start, func(WalkEntry) error { t.Errorf("%s was visited", start); return nil })
		wants(t, "from "+start, err, code)
	}
}

func TestWalkEntry(t *testing.T) {
	w := build(t, "w/d/f = four", "w/d/l -> f", "w/d/p |")
	var seen int
	err := w.open().Walk(t.Context(), ".", func(e WalkEntry) error {
		seen++
		info, err := e.Info()
		if err != nil || info.Mode().Type() != e.Type || e.Path != w.path("w/"+e.Rel) || e.Depth != strings.Count(e.Rel, "/")+1 || info.Name() != e.Name() {
			t.Errorf("%+v: %v, %v", e, info, err)
		}
		file, err := e.Open()
		if e.Name() != "f" {
			if err == nil {
				t.Errorf("%s was opened", e.Rel)
			}
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if data, err := io.ReadAll(file); err != nil || string(data) != "four" || info.Size() != 4 {
			t.Errorf("read %q, %v", data, err)
		}
		return nil
	})
	if err != nil || seen != 4 {
		t.Errorf("%d entries, %v", seen, err)
	}
}

func TestWalkObeysTheVisitor(t *testing.T) {
	w := build(t, "w/a/1 = x", "w/a/2 = x", "w/a/3 = x", "w/b/4 = x", "w/c = x")
	f := w.open()
	stop := errors.New("stop")
	for _, c := range []struct {
		at     string
		answer error
		want   string
		err    error
	}{
		{"a", fs.SkipDir, "a b b/4 c", nil},
		{"a/1", fs.SkipDir, "a a/1 b b/4 c", nil},
		{"a/2", fs.SkipAll, "a a/1 a/2", nil},
		{"b", stop, "a a/1 a/2 a/3 b", stop},
	} {
		var got []string
		err := f.Walk(t.Context(), ".", func(e WalkEntry) error {
			got = append(got, e.Rel)
			if e.Rel == c.at {
				return c.answer
			}
			return nil
		})
		if strings.Join(got, " ") != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v at %s: visited %q, %v", c.answer, c.at, got, err)
		}
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	w := build(t, "w/a/1 = x", "w/b/2 = x", "w/c = x")
	ctx, cancel := context.WithCancel(t.Context())
	visits := 0
	err := w.open().Walk(ctx, ".", func(WalkEntry) error { visits++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || visits != 1 {
		t.Errorf("%d visits, %v", visits, err)
	}
}

// A tree deeper than any path the system takes, walked with few descriptors.
func TestWalkDeepTree(t *testing.T) {
	const depth = 400
	name := strings.Repeat("d", 20) // 400 × 21 bytes: beyond PATH_MAX
	w := build(t)
	at, err := unix.Open(w.path("w"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := unix.Mkdirat(at, name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := unix.Openat(at, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			t.Fatal(err)
		}
		at = below
	}
	last, err := unix.Openat(at, "last", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(last)
	unix.Close(at)
	w.add("w/z = Z", "w/"+name+"/y = Y")

	before := descriptors(t)
	most, deepest, after := 0, 0, []string{}
	f := w.open()
	err = f.Walk(t.Context(), ".", func(e WalkEntry) error {
		if e.Err != nil {
			t.Fatalf("at depth %d: %v", e.Depth, e.Err)
		}
		deepest = max(deepest, e.Depth)
		if e.Depth%50 == 1 {
			most = max(most, descriptors(t)-before)
		}
		if e.Name() == "y" || e.Name() == "z" || e.Name() == "last" {
			after = append(after, e.Name())
		}
		return nil
	})
	if err != nil || deepest != depth+1 || !slices.Equal(after, []string{"last", "y", "z"}) {
		t.Errorf("came to depth %d, saw %q, %v", deepest, after, err)
	}
	if most > maxOpen+8 {
		t.Errorf("%d descriptors at a time", most)
	}
	if left := descriptors(t) - before; left > 2 { // the FS itself holds one
		t.Errorf("%d descriptors are left open", left)
	}
	// And every single place in it can be reached by its path.
	deep := strings.Repeat(name+"/", depth)
	_, _, err = f.ReadFile(deep+"last", 0)
	wants(t, "read at the bottom", err, "")
	_, err = f.WriteFile(deep+"new", []byte("x"), WriteOptions{})
	wants(t, "write at the bottom", err, "")
	_, err = f.Remove(deep + "../" + name + "/new")
	wants(t, "remove at the bottom", err, "")
}

// TestWalkTooDeep: a tree without end costs a search neither memory nor time
// without end; what is left out is said.
func TestWalkTooDeep(t *testing.T) {
	const depth = 120
	name := strings.Repeat("d", 200) // 120 × 201 bytes: beyond maxWalked
	w := build(t, "w/z = Z")
	at, err := unix.Open(w.path("w"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := unix.Mkdirat(at, name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := unix.Openat(at, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			t.Fatal(err)
		}
		at = below
	}
	unix.Close(at)
	longest, after := 0, false
	var lost []error
	err = w.open().Walk(t.Context(), ".", func(e WalkEntry) error {
		longest, after = max(longest, len(e.Path)), after || e.Name() == "z"
		if e.Err != nil {
			lost = append(lost, e.Err)
		}
		return nil
	})
	if err != nil || !after || longest > maxWalked+len(name)+1 || longest < maxWalked-len(name) {
		t.Errorf("paths up to %d bytes, the rest seen: %v, %v", longest, after, err)
	}
	if len(lost) != 1 || fault.CodeOf(lost[0]) != fault.FSBadPath {
		t.Errorf("left out: %v", lost)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc to count descriptors")
	}
	return len(list)
}

// A directory exchanged during the walk is not gone into through a link.
func TestWalkDoesNotFollowExchangedDirectory(t *testing.T) {
	w := build(t, "w/a = A", "w/d/inner = I", "out/secret = S")
	var seen []string
	err := w.open().Walk(t.Context(), ".", func(e WalkEntry) error {
		seen = append(seen, e.Rel)
		if e.Rel == "d" && e.Err == nil {
			if err := os.Rename(w.path("w/d"), w.path("w/d2")); err != nil {
				t.Fatal(err)
			}
			w.add("w/d -> ../out")
		}
		return nil
	})
	if err != nil || slices.Contains(seen, "d/secret") {
		t.Errorf("saw %q, %v", seen, err)
	}
	if got := w.content("w/d/secret"); got != "S" {
		t.Errorf("the twin: the system goes through the link and reads %q", got)
	}
}
