package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func (h *house) link(target, path string) {
	h.t.Helper()
	h.mkdir(filepath.Dir(h.path(path)))
	if err := os.Symlink(target, h.path(path)); err != nil {
		h.t.Fatal(err)
	}
}

// TestCasesPath: what a path leads to is judged, never how it is spelt.
//
// Covers: FS-03, SEC-INV-04, SD-17
func TestCasesPath(t *testing.T) {
	t.Parallel()
	b := open(t, "", "", func(h *house) {
		h.write("f.txt", "old")
		h.write("lib/a/b.txt", "b")
		h.link("lib", "L")
		h.link("../lib", "sub/up")
		for _, sibling := range []string{"-archive", "2", ".bak", " "} {
			h.write(h.ws+sibling+"/ledger.txt", "outside ledger")
		}
		h.link("/etc/hostname", "notes")
		h.link("../..", "up")
		h.link(h.dir+"/elsewhere", "gone")
		h.link("gone", "gone2")
		h.link(h.dir, "out")
	})

	// A sibling whose name begins like the root's is outside.
	b.run(t, "PATH-013", func(t *testing.T) {
		for _, sibling := range []string{"-archive", "2", ".bak", " "} {
			for _, dir := range []string{b.ws + sibling, "../project" + sibling, b.ws + "/../project" + sibling, b.ws + "/sub/../../project" + sibling + "/."} {
				for i, got := range b.tries(
					do("read_file", args{"path": dir + "/ledger.txt"}),
					do("write_file", args{"path": dir + "/x.txt", "content": "z"}),
					do("edit_file", args{"path": dir + "/ledger.txt", "old_string": "outside", "new_string": "z"}),
					do("list_files", args{"path": dir}),
					do("find_files", args{"path": dir, "pattern": "*"}),
					do("search_file", args{"path": dir, "pattern": "ledger"}),
					do("inspect_file", args{"path": dir + "/ledger.txt"}),
					do("make_directory", args{"path": dir + "/d"}),
					do("remove_path", args{"path": dir + "/ledger.txt"}),
					do("move_file", args{"from": dir + "/ledger.txt", "to": "stolen"}),
					do("move_file", args{"from": "f.txt", "to": dir + "/x.txt"}),
				) {
					b.refused(fmt.Sprint(dir, " call ", i), got, "fs.outside_workspace")
					if strings.Contains(got.raw, "outside ledger") || got.head["scope"] != "outside_workspace" {
						t.Errorf("%s: %s", dir, got.raw)
					}
				}
			}
			b.holds(b.ws+sibling+"/ledger.txt", "outside ledger")
			b.holds(b.ws+sibling+"/x.txt", "<missing>")
		}
		b.holds("f.txt", "old")
	})

	// A working directory is judged as a path is, before anything starts.
	b.run(t, "PATH-015", func(t *testing.T) {
		for _, dir := range []string{b.ws + "-archive", "../project2", "out", "out/project2", "up", "/", "/tmp", "gone"} {
			got := b.refuse("run_command", args{"argv": []string{"sh", "-c", "echo ran > " + b.ws + "/ran"}, "working_dir": dir}, "fs.outside_workspace")
			b.has("the refusal", got.message, dir)
		}
		b.holds("ran", "<missing>")
		if got := b.must("run_command", args{"argv": []string{"sh", "-c", "pwd"}, "working_dir": "L/a"}); !strings.Contains(got.text, "lib/a\n") {
			t.Errorf("inside: %s", got.raw)
		}
	})

	// A dead link in the middle of a path leads where it leads.
	b.run(t, "PATH-005", func(t *testing.T) {
		for _, base := range []string{"gone/deep", "gone", "gone2/deep", "lib/../gone/deep"} {
			got := b.refuse("write_file", args{"path": base + "/f.txt", "content": "1"}, "fs.outside_workspace")
			b.has("the refusal", got.message, "elsewhere")
			b.refuse("make_directory", args{"path": base + "/new"}, "fs.outside_workspace")
			b.refuse("move_file", args{"from": "f.txt", "to": base + "/f.txt"}, "fs.outside_workspace")
		}
		b.holds(b.dir+"/elsewhere", "<missing>")
		if _, code := b.shell("mkdir -p gone/deep && echo 1 > gone/deep/f"); code == 0 {
			t.Error("a command wrote through the dead link")
		}
		b.holds(b.dir+"/elsewhere", "<missing>")
	})

	// Absolute and relative links: one verdict, which names link and target.
	b.run(t, "PATH-023", func(t *testing.T) {
		before := b.read("/etc/hostname")
		for _, step := range []struct {
			tool     string
			a        args
			resolved string
		}{
			{"read_file", args{"path": "notes"}, "/etc/hostname"},
			{"write_file", args{"path": "notes", "content": "x"}, "/etc/hostname"},
			{"edit_file", args{"path": "notes", "old_string": "a", "new_string": "b"}, "/etc/hostname"},
			{"inspect_file", args{"path": "notes"}, "/etc/hostname"},
			{"search_file", args{"path": "notes", "pattern": "."}, "/etc/hostname"},
			{"list_files", args{"path": "up"}, filepath.Dir(b.dir)},
			{"find_files", args{"path": "up", "pattern": "*"}, filepath.Dir(b.dir)},
			{"search_file", args{"path": "up", "pattern": "."}, filepath.Dir(b.dir)},
			{"read_file", args{"path": "up/x"}, filepath.Dir(b.dir)},
		} {
			got := b.refuse(step.tool, step.a, "fs.outside_workspace")
			b.has("the refusal", got.message, step.a["path"].(string), step.resolved)
		}
		b.holds("/etc/hostname", before)
	})

	// Beneath a link that stays inside, everything works, in the caller's words.
	b.run(t, "PATH-025", func(t *testing.T) {
		for _, base := range []string{"L", "sub/up", b.ws + "/L"} {
			b.has("list", b.must("list_files", args{"path": base}).text, "a")
			b.has("list", b.must("list_files", args{"path": base + "/a"}).text, "b.txt")
			b.has("read", b.must("read_file", args{"path": base + "/a/b.txt"}).text, "1\tb")
			name := base + "/a/new" + fmt.Sprint(len(base)) + ".txt"
			if got := b.must("write_file", args{"path": name, "content": "n"}); got.head["path"] != name {
				t.Errorf("path: %s", got.raw)
			}
			b.holds(name, "n")
			b.has("find", b.must("find_files", args{"path": base, "pattern": "**/b.txt"}).text, base+"/a/b.txt\n")
			b.has("search", b.must("search_file", args{"path": base, "pattern": "^b$"}).text, base+"/a/b.txt:1:b\n")
		}
	})

	// A directory that turns into a link between check and use.
	b.run(t, "PATH-017", func(t *testing.T) {
		outside := b.dir + "/swapped"
		b.mkdir(outside)
		b.mkdir(b.path("d"))
		stop, done := make(chan struct{}), sync.WaitGroup{}
		end := sync.OnceFunc(func() { close(stop); done.Wait() })
		defer end()
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Rename(b.ws+"/d", b.ws+"/d.real")
				_ = os.Symlink(outside, b.ws+"/d")
				_ = os.Remove(b.ws + "/d")
				_ = os.Rename(b.ws+"/d.real", b.ws+"/d")
			}
		})
		written := 0
		for i := range 3 {
			var many turn
			for n := range 100 {
				many.calls = append(many.calls, call{"write_file", args{"path": fmt.Sprintf("d/new%d-%d.txt", i, n), "content": "x"}},
					call{"make_directory", args{"path": fmt.Sprintf("d/dir%d-%d", i, n)}})
			}
			for _, got := range b.tries(many) {
				if got.ok {
					written++
				}
			}
		}
		end()
		left, err := os.ReadDir(outside)
		if err != nil || len(left) != 0 {
			t.Errorf("%d names outside (%v), the first: %v", len(left), err, left[:min(1, len(left))])
		}
		if written == 0 {
			t.Error("nothing was written at all: the test shows nothing")
		}
	})

	// Planted links under the names a temporary file may have.
	b.run(t, "PATH-019", func(t *testing.T) {
		target := b.dir + "/outside.txt"
		b.write(target, "precious")
		for _, name := range []string{"f.txt.tmp", ".f.txt.tmp", "f.txt~", ".f.txt.swp", ".f.txt.1", ".f.txt.2", ".tmp", "f.txt.new", "f.txt.bak"} {
			b.link(target, "t/"+name)
		}
		b.write("t/f.txt", "old")
		before, _ := os.ReadDir(b.path("t"))
		got := b.tries(do("read_file", args{"path": "t/f.txt"}), do("write_file", args{"path": "t/f.txt", "content": "new"}),
			do("edit_file", args{"path": "t/f.txt", "old_string": "new", "new_string": "newer"}),
			do("edit_file", args{"path": "t/f.txt", "old_string": "absent", "new_string": "x"}))
		if !got[1].ok || !got[2].ok || got[3].ok {
			t.Errorf("%v", got)
		}
		b.holds("t/f.txt", "newer")
		b.holds(target, "precious")
		if after, _ := os.ReadDir(b.path("t")); len(after) != len(before) {
			t.Errorf("left in the directory: %v", after)
		}
	})

	// Two spellings that look the same are two files, and said to be.
	b.run(t, "PATH-029", func(t *testing.T) {
		for _, pair := range [][2]string{{"u/\u304b\u3099.md", "u/\u304c.md"}, {"u/\u304e.txt", "u/\u304d\u3099.txt"}, {"u/cafe\u0301.md", "u/caf\u00e9.md"}} {
			b.write(pair[0], "A")
			got := b.refuse("read_file", args{"path": pair[1]}, "fs.not_found")
			b.has("the hint", got.message+got.hint, filepath.Base(pair[0]))
			got = b.must("write_file", args{"path": pair[1], "content": "B"})
			if similar, _ := got.head["similar"].(string); filepath.Base(similar) != filepath.Base(pair[0]) {
				t.Errorf("no warning: %s", got.raw)
			}
			b.holds(pair[0], "A")
			b.holds(pair[1], "B")
		}
	})
}
