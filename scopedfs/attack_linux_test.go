package scopedfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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
		from, to := w.path(a), w.path(b)
		attackers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
					runtime.Gosched() // an exchange between any two steps of the guard, not thousands between some
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

// operations is how many the guard has to withstand.
const operations = 20_000

// The guard withstands the attack, and then, while it still goes on, a check by
// name before an open by name, as a guard without handles does it, is led out.
//
// Covers: SD-17, FS-03, S3-09
func TestNoEscapeUnderAttack(t *testing.T) {
	w, stop := attacked(t)
	f := w.open(w.deny(scope.Read, "w/deny"))
	before := outsideState(w)
	least := operations
	if testing.Short() {
		least = operations / 20
	}
	var tried, done, read atomic.Int64
	check := func(what string, data []byte, err error) {
		tried.Add(1)
		if err == nil {
			done.Add(1)
			if strings.HasPrefix(what, "ReadFile") {
				read.Add(1)
			}
		}
		if strings.Contains(string(data), secret) {
			t.Errorf("%s returned %q", what, data)
		}
	}
	// Several at a time, so that the attackers do not have the machine alone.
	var users sync.WaitGroup
	for user := range 4 {
		users.Go(func() {
			for i := 0; tried.Load() < int64(least) && !t.Failed(); i++ {
				for n := range targets {
					actAll(t, f, targets[(n+2*user)%len(targets)], fmt.Sprintf("inside %d", i), check)
				}
				walkAll(t, f, check)
			}
		})
	}
	users.Wait()
	if after := outsideState(w); after != before {
		t.Errorf("outside changed:\n%s\nwas:\n%s", after, before)
	}
	if done.Load() < int64(least)/20 || read.Load() < int64(least)/200 {
		t.Errorf("of %d operations only %d succeeded, %d of them reading: the test shows little", tried.Load(), done.Load(), read.Load())
	}
	t.Logf("%d operations, %d succeeded, none led out", tried.Load(), done.Load())

	// The control: the same paths under the same attack.
	led := ledOut(w)
	stop()
	if !led["read"] || !led["write"] {
		t.Errorf("the attack does not work against a check by name: led to %v", led)
	}
}

// actAll uses path in every way there is.
func actAll(t *testing.T, f *FS, path, content string, check func(what string, data []byte, err error)) {
	dir := filepath.Dir(path)
	data, _, err := f.ReadFile(path, 0)
	check("ReadFile "+path, data, err)
	_, err = f.WriteFile(path, []byte(content), WriteOptions{})
	check("WriteFile "+path, nil, err)
	_, err = f.Update(path, 0, func(old []byte) ([]byte, error) {
		if strings.Contains(string(old), secret) {
			t.Errorf("Update %s saw %q", path, old)
		}
		return []byte(content + "!"), nil
	})
	check("Update "+path, nil, err)
	_, err = f.MkdirAll(dir + "/made")
	check("MkdirAll", nil, err)
	_, err = f.Rename(path, dir+"/moved")
	check("Rename", nil, err)
	_, err = f.Rename(dir+"/moved", path)
	check("Rename", nil, err)
	entries, _, _, err := f.ReadDir(dir, 0)
	var names strings.Builder
	for _, e := range entries {
		names.WriteString(strings.ReplaceAll(e.Name, "keep", secret) + "\n")
	}
	check("ReadDir", []byte(names.String()), err)
	_, err = f.Remove(dir + "/made")
	check("Remove", nil, err)
	if strings.HasSuffix(path, "new") {
		_, err = f.Remove(path)
		check("Remove "+path, nil, err)
	}
}

// walkAll reads everything that a walk comes to.
func walkAll(t *testing.T, f *FS, check func(what string, data []byte, err error)) {
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

// ledOut checks the targets by name and then opens them by name, until it has
// read and written outside.
func ledOut(w *world) map[string]bool {
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
				led["write"] = true
			}
		}
	}
	return led
}
