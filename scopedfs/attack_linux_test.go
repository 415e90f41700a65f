package scopedfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/scope"
)

// The attack of this file: while thousands of operations run, other goroutines
// exchange, without a pause, files, links and parent directories of the paths
// in use for links that lead out of the workspace, and back. Every file outside
// and every denied file holds the word "secret"; a watch is kept that none of
// them is ever read, changed, made or removed.
const secret = "secret"

// attacked builds the tree and starts the attackers; stop ends them.
func attacked(t *testing.T) (w *world, stop func()) {
	w = build(t,
		"w/d/f = inside", "w/x/d2 -> $/out", "w/file = inside", "w/x/link -> $/out/f", "w/dirs/a/b/f = inside",
		"w/x/dirs2 -> $/out/dirs", "w/deny/f = secret", "w/x/todeny -> $/w/deny", "w/moving/f = inside",
		"out/f = secret", "out/dirs/a/b/f = secret", "out/sub/f = secret", "out/keep = secret")
	done := make(chan struct{})
	var attackers sync.WaitGroup
	exchange := func(a, b string) {
		attackers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, w.path(a), unix.AT_FDCWD, w.path(b), unix.RENAME_EXCHANGE)
				}
			}
		})
	}
	exchange("w/d", "w/x/d2")       // a directory for a link that leads out
	exchange("w/file", "w/x/link")  // a file for a link that leads out
	exchange("w/dirs", "w/x/dirs2") // a grandparent for a link that leads out
	exchange("w/moving", "w/x/todeny")
	var once sync.Once
	stop = func() { once.Do(func() { close(done); attackers.Wait() }) }
	t.Cleanup(stop)
	return w, stop
}

// targets are the paths under attack.
var targets = []string{"d/f", "file", "dirs/a/b/f", "moving/f", "d/new", "dirs/a/new", "moving/new", "d/sub/f"}

// outsideState is everything outside the workspace and beneath the denied
// directory, with content.
func outsideState(w *world) string {
	var b strings.Builder
	for _, top := range []string{"out", "w/deny"} {
		filepath.WalkDir(w.path(top), func(path string, d fs.DirEntry, err error) error {
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %s %v\n", path, data, err)
			return nil
		})
	}
	return b.String()
}

// Covers: SD-17, FS-03, S3-09
func TestNoEscapeUnderAttack(t *testing.T) {
	w, stop := attacked(t)
	f := w.open(w.deny(scope.Read, "w/deny"))
	before := outsideState(w)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	done, read := 0, 0
	check := func(what string, data []byte, err error) {
		if err == nil {
			done++
		}
		if strings.Contains(string(data), secret) {
			t.Errorf("%s returned %q", what, data)
		}
	}
	for i := range rounds {
		for _, path := range targets {
			data, _, err := f.ReadFile(path, 0)
			check("ReadFile "+path, data, err)
			if err == nil {
				read++
			}
			_, err = f.WriteFile(path, fmt.Appendf(nil, "inside %d", i), WriteOptions{})
			check("WriteFile "+path, nil, err)
			_, err = f.Update(path, 0, func(old []byte) ([]byte, error) {
				check("Update "+path, old, nil)
				return fmt.Appendf(nil, "inside %d!", i), nil
			})
			check("Update "+path, nil, err)
			_, err = f.MkdirAll(filepath.Dir(path) + "/made")
			check("MkdirAll", nil, err)
			_, err = f.Rename(path, filepath.Dir(path)+"/moved")
			check("Rename", nil, err)
			_, err = f.Rename(filepath.Dir(path)+"/moved", path)
			check("Rename", nil, err)
			entries, _, _, err := f.ReadDir(filepath.Dir(path), 0)
			for _, e := range entries {
				check("ReadDir", []byte(strings.ReplaceAll(e.Name, "keep", secret)), err)
			}
			_, err = f.Remove(filepath.Dir(path) + "/made")
			check("Remove", nil, err)
			if strings.HasSuffix(path, "new") {
				_, err = f.Remove(path)
				check("Remove "+path, nil, err)
			}
		}
		f.Walk(t.Context(), ".", func(e WalkEntry) error {
			if e.Err != nil || !e.Type.IsRegular() {
				return nil
			}
			if file, err := e.Open(); err == nil {
				data := make([]byte, 64)
				n, _ := file.Read(data)
				file.Close()
				check("Walk "+e.Rel, data[:n], nil)
			}
			return nil
		})
	}
	stop()
	if after := outsideState(w); after != before {
		t.Errorf("outside changed:\n%s\nwas:\n%s", after, before)
	}
	if done < rounds || read == 0 {
		t.Errorf("of %d rounds only %d operations succeeded, %d of them reading: the test shows little", rounds, done, read)
	}
	t.Logf("%d operations succeeded under attack", done)
}

// The control: the same paths under the same attack, first checked and then
// opened by name, as a guard without handles does it. It is led out.
func TestCheckThenOpenIsLedOut(t *testing.T) {
	w, stop := attacked(t)
	defer stop()
	root := w.path("w")
	led := map[string]bool{}
	inside := func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && strings.HasPrefix(real, root+"/") && !strings.HasPrefix(real, w.path("w/deny"))
	}
	for i := 0; i < 1_000_000 && len(led) < 2; i++ {
		path := w.path("w/" + targets[i%len(targets)])
		if inside(path) {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), secret) {
				led["read"] = true
			}
		}
		if dir := filepath.Dir(path); inside(dir) {
			os.WriteFile(dir+"/planted", nil, 0o644)
			if !w.missing("out/planted") || !w.missing("out/dirs/a/b/planted") || !w.missing("w/deny/planted") {
				led["written"] = true
			}
		}
	}
	if len(led) < 2 {
		t.Errorf("the attack does not work against a check by name: led to %v", led)
	}
}
