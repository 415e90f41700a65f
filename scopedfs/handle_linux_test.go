package scopedfs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func (w *world) handle(name string) handle {
	w.Helper()
	top, err := openTop()
	if err != nil {
		w.Fatal(err)
	}
	defer top.close()
	h, err := top.descend(strings.TrimPrefix(w.path(name), "/"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(h.close)
	return h
}

// Where the kernel has no openat2, the way down goes by single steps, with the
// same outcome.
func TestDescend(t *testing.T) {
	w := build(t, "w/a/b/c/", "w/l -> a", "w/a/l -> b", "w/a/f = F")
	h := w.handle("w")
	for name, descend := range map[string]func(string) (handle, error){"in one call": h.descend, "by name": h.descendByName} {
		for rel, want := range map[string]error{
			"a": nil, "a/b/c": nil, ".": nil, "l": unix.ENOTDIR, "l/b": unix.ENOTDIR, "a/l/c": unix.ENOTDIR, "a/f": unix.ENOTDIR, "a/none": unix.ENOENT,
		} {
			got, err := descend(rel)
			if errors.Is(err, unix.ELOOP) { // openat2's word for a link
				err = unix.ENOTDIR
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", name, rel, err, want)
			}
			if err == nil && got.realPath() != strings.TrimSuffix(w.path("w/"+rel), "/.") {
				t.Errorf("%s: %s is %s", name, rel, got.realPath())
			}
			got.close()
		}
	}
	if _, err := os.Stat(w.path("w/a/l/c")); err != nil {
		t.Errorf("the twin: the system goes through links: %v", err)
	}
}

// Neither way to move replaces anything.
func TestMoveReplacesNothing(t *testing.T) {
	type mover func(h handle, name string, to handle, toName string) error
	for way, move := range map[string]mover{"in one call": handle.move, "in steps": handle.moveInSteps} {
		w := build(t, "w/f = F", "w/g = G", "w/d/x = X", "w/e/", "w/l -> f", "w/to/")
		h, to := w.handle("w"), w.handle("w/to")
		for _, c := range [][2]string{{"f", "g"}, {"f", "e"}, {"f", "l"}, {"d", "e"}, {"d", "g"}} {
			if err := move(h, c[0], h, c[1]); !errors.Is(err, unix.EEXIST) {
				t.Errorf("%s: %s over %s: %v", way, c[0], c[1], err)
			}
		}
		for _, name := range []string{"f", "d", "l"} {
			if err := move(h, name, to, name+"2"); err != nil {
				t.Errorf("%s: %s: %v", way, name, err)
			}
		}
		if got := w.content("w/g") + w.content("w/to/f2") + w.content("w/to/d2/x"); got != "GFX" || !w.missing("w/f") || !w.missing("w/d") || !w.missing("w/l") {
			t.Errorf("%s: the tree holds %q", way, got)
		}
		if target, err := os.Readlink(w.path("w/to/l2")); err != nil || target != "f" {
			t.Errorf("%s: the moved link says %q, %v", way, target, err)
		}
		if err := move(to, "d2", w.handle("w/to/d2"), "in"); err == nil || !w.missing("w/to/d2/in") {
			t.Errorf("%s: a directory went into itself: %v", way, err)
		}
	}
}
