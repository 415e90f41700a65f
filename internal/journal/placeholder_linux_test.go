package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
)

// tree lists everything beneath dir, files with their content.
func tree(t interface{ Fatal(...any) }, dir string) []string {
	all := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		switch {
		case d.IsDir():
			name += "/"
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(b) > 0 {
				name += "=" + string(b)
			}
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// workspace returns a resolved empty directory: placeholders take no path
// through links.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// Covers: S1-203, SEC-INV-10
func TestPlaceholderLifecycle(t *testing.T) {
	for _, dir := range []bool{false, true} {
		r, _ := openTest(t)
		w := workspace(t)
		path := filepath.Join(w, "x")
		p, err := makeOne(r, path, dir)
		must(t, err)
		info, err := os.Lstat(path)
		must(t, err)
		if info.IsDir() != dir || !dir && info.Size() != 0 {
			t.Errorf("made %v", info.Mode())
		}
		if len(tree(t, w)) != 1 {
			t.Errorf("besides it: %q", tree(t, w))
		}
		open, err := pending(filepath.Join(r.Dir(), journalFile))
		must(t, err)
		st := info.Sys().(*syscall.Stat_t)
		if len(open) != 1 || open[0].Inode != st.Ino || open[0].Device != uint64(st.Dev) || open[0].Path != path {
			t.Errorf("journal: %v", open)
		}
		must(t, p.Remove())
		must(t, p.Remove())
		if got := tree(t, w); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
		must(t, r.Close())
	}
}

// TestFilledPlaceholder: one with content goes when it still has it, whole or
// cut short, and stays when it has other.
func TestFilledPlaceholder(t *testing.T) {
	for name, row := range map[string]struct {
		now  string
		left []string
	}{
		"untouched": {".\n", []string{}},
		"cut short": {".", []string{}},
		"emptied":   {"", []string{}},
		"changed":   {"..", []string{"x=.."}},
		"longer":    {".\n\n", []string{"x=.\n\n"}},
	} {
		for _, how := range []string{"remove", "recover"} {
			t.Run(name+" "+how, func(t *testing.T) {
				r, state := openTest(t)
				w := workspace(t)
				path := filepath.Join(w, "x")
				made, err := MakePlaceholders(r, Want{Path: path, Content: ".\n"})
				must(t, err)
				if diff := cmp.Diff([]string{"x=.\n"}, tree(t, w)); diff != "" {
					t.Error(diff)
				}
				must(t, os.WriteFile(path, []byte(row.now), 0o600))
				if how == "remove" {
					must(t, made[0].Remove())
					must(t, r.Close())
				} else {
					crash(t, r)
					_, err := Recover(state, nil)
					must(t, err)
				}
				if diff := cmp.Diff(row.left, tree(t, w)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestPlaceholderNeverReplaces(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"file":          func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		"empty file":    func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"directory":     func(p string) error { return os.Mkdir(p, 0o700) },
		"dangling link": func(p string) error { return os.Symlink("/nowhere/at/all", p) },
	} {
		for _, dir := range []bool{false, true} {
			r, _ := openTest(t)
			w := workspace(t)
			path := filepath.Join(w, "x")
			must(t, make(path))
			before, err := os.Lstat(path)
			must(t, err)
			if _, err := makeOne(r, path, dir); fault.CodeOf(err) != fault.FSExists {
				t.Errorf("%s: %v", name, err)
			}
			after, err := os.Lstat(path)
			must(t, err)
			if !os.SameFile(before, after) || len(tree(t, w)) != 1 {
				t.Errorf("%s: changed: %q", name, tree(t, w))
			}
			must(t, r.Close())
		}
	}
}

// A name that appears between the look and the rename wins.
func TestPlaceholderLosesTheRace(t *testing.T) {
	r, _ := openTest(t)
	w := workspace(t)
	path := filepath.Join(w, "x")
	parent, err := openDir(w)
	must(t, err)
	defer parent.Close()
	p := &Placeholder{run: r, parent: parent, entry: Entry{Kind: KindPlaceholder, Path: path, Temp: tempPrefix + "T"}}
	p.entry.ID = add(t, r, p.entry)
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, p.create())
	if err := p.place(); !errors.Is(err, syscall.EEXIST) {
		t.Fatalf("got %v", err)
	}
	must(t, p.clear())
	if got := tree(t, w); !slices.Equal(got, []string{"x"}) {
		t.Errorf("left: %q", got)
	}
	must(t, r.Close())
}

func TestPlaceholderParents(t *testing.T) {
	r, _ := openTest(t)
	w := workspace(t)
	must(t, os.Mkdir(filepath.Join(w, "real"), 0o700))
	must(t, os.Symlink("real", filepath.Join(w, "link")))
	if _, err := makeOne(r, filepath.Join(w, "link", "x"), false); fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("through a link: %v", err)
	}
	if _, err := makeOne(r, "relative/x", false); fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("relative: %v", err)
	}
	p, err := makeOne(r, filepath.Join(w, "real", "x"), false)
	must(t, err)
	must(t, os.Rename(filepath.Join(w, "real"), filepath.Join(w, "moved")))
	must(t, p.Remove())
	if diff := cmp.Diff([]string{"link", "moved/"}, tree(t, w)); diff != "" {
		t.Error(diff)
	}
	must(t, r.Close())
}

// What the placeholder has become in the meantime is not ours any more.
func TestOnlyOurEmptyInodeIsRemoved(t *testing.T) {
	for name, row := range map[string]struct {
		dir    bool
		change func(path string) error
		want   []string
	}{
		"untouched":           {false, func(string) error { return nil }, []string{}},
		"untouched directory": {true, func(string) error { return nil }, []string{}},
		"gone":                {false, os.Remove, []string{}},
		"written":             {false, func(p string) error { return os.WriteFile(p, []byte("host"), 0o600) }, []string{"x=host"}},
		"filled":              {true, func(p string) error { return os.Mkdir(p+"/y", 0o700) }, []string{"x/", "x/y/"}},
		"replaced": {false, func(p string) error {
			return errors.Join(os.WriteFile(p+".new", nil, 0o600), os.Rename(p+".new", p))
		}, []string{"x"}},
		"replaced by a directory": {false, func(p string) error {
			return errors.Join(os.Mkdir(p+".new", 0o700), os.Remove(p), os.Rename(p+".new", p))
		}, []string{"x/"}},
		"replaced by a link": {false, func(p string) error {
			return errors.Join(os.Symlink("/nowhere", p+".new"), os.Rename(p+".new", p))
		}, []string{"x"}},
	} {
		for _, how := range []string{"remove", "recover"} {
			t.Run(name+" "+how, func(t *testing.T) {
				r, state := openTest(t)
				w := workspace(t)
				path := filepath.Join(w, "x")
				p, err := makeOne(r, path, row.dir)
				must(t, err)
				must(t, row.change(path))
				if how == "remove" {
					must(t, p.Remove())
					must(t, r.Close())
				} else {
					crash(t, r)
					_, err := Recover(state, nil)
					must(t, err)
				}
				if diff := cmp.Diff(row.want, tree(t, w)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Removing the outer one first must not leave it behind unseen.
func TestNestedPlaceholdersGoInReverse(t *testing.T) {
	r, _ := openTest(t)
	w := workspace(t)
	outer, err := makeOne(r, filepath.Join(w, "x"), true)
	must(t, err)
	inner, err := makeOne(r, filepath.Join(w, "x", "y"), false)
	must(t, err)
	if err := outer.Remove(); fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("the outer one first: %v", err)
	}
	must(t, inner.Remove())
	must(t, outer.Remove())
	if got := tree(t, w); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	must(t, r.Close())
}

func TestUndoWhenTheDirectoryIsGone(t *testing.T) {
	w := workspace(t)
	other := t.TempDir()
	must(t, os.Symlink(other, filepath.Join(w, "link")))
	must(t, os.WriteFile(filepath.Join(w, "file"), nil, 0o600))
	for _, dir := range []string{"none", "link", "file"} {
		must(t, Undo(Entry{Kind: KindPlaceholder, Path: filepath.Join(w, dir, "x"), Temp: tempPrefix + "T", Device: 1, Inode: 1}))
	}
	if err := Undo(Entry{Kind: KindPlaceholder, Path: "relative/x"}); err == nil {
		t.Error("a relative path")
	}
}

// TestReplayAtEveryCrashPoint makes nested and plain placeholders and removes
// some of them, step by step as the code does; then, for each step and for
// every byte of the journal line that was being written when the process died,
// recovery must leave no placeholder and nothing else changed.
// Covers: REC-06, S1-204, SEC-INV-10
func TestReplayAtEveryCrashPoint(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, state := scratch(rt), scratch(rt)
		foreign := plant(rt, w)
		r, err := OpenRun(state, start)
		check(rt, err)
		journal := filepath.Join(r.Dir(), journalFile)
		var open []*Placeholder
		steps := rapid.IntRange(1, 5).Draw(rt, "steps")
		for i := range steps {
			if len(open) > 0 && rapid.Bool().Draw(rt, "remove") {
				check(rt, open[len(open)-1].Remove())
				open = open[:len(open)-1]
				continue
			}
			dir := w
			if n := len(open); n > 0 && open[n-1].entry.Dir && rapid.Bool().Draw(rt, "nested") {
				dir = open[n-1].entry.Path
			}
			p, err := makeOne(r, filepath.Join(dir, "p"+string(rune('0'+i))), rapid.Bool().Draw(rt, "dir"))
			check(rt, err)
			open = append(open, p)
		}
		// The last step may have been cut anywhere: within the next intent,
		// after it, after the private name was made, after that was recorded.
		cut := rapid.SampledFrom([]string{"none", "intent", "torn intent", "temp", "torn made", "made"}).Draw(rt, "cut")
		next := Entry{Kind: KindPlaceholder, Path: filepath.Join(w, "next"), Temp: tempPrefix + "NEXT", Dir: rapid.Bool().Draw(rt, "next dir")}
		if cut != "none" {
			before := size(rt, journal)
			added, err := r.Add(next)
			check(rt, err)
			next = added[0]
			switch cut {
			case "torn intent":
				tear(rt, journal, before)
			case "temp", "torn made", "made":
				parent, err := openDir(w)
				check(rt, err)
				check(rt, create(int(parent.Fd()), next))
				info, err := os.Lstat(filepath.Join(w, next.Temp))
				check(rt, err)
				check(rt, parent.Close())
				if cut != "temp" {
					before := size(rt, journal)
					st := info.Sys().(*syscall.Stat_t)
					next.Device, next.Inode = uint64(st.Dev), st.Ino
					check(rt, r.Made(next))
					if cut == "torn made" {
						tear(rt, journal, before)
					}
				}
			}
		}
		check(rt, r.lock.Unlock())
		check(rt, r.file.Close())
		for range 2 { // recovery itself may be repeated
			_, err = Recover(state, nil)
			check(rt, err)
			if diff := cmp.Diff(foreign, tree(rt, w)); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// TestNoPrefixRemovesTheForeign replays every prefix of a real journal over a
// workspace in which all names of the placeholders are taken by the host.
func TestNoPrefixRemovesTheForeign(t *testing.T) {
	r, _ := openTest(t)
	w := workspace(t)
	var made []*Placeholder
	for _, name := range []string{"a", "b", "c"} {
		p, err := makeOne(r, filepath.Join(w, name), name == "b")
		must(t, err)
		made = append(made, p)
	}
	must(t, made[2].Remove())
	data, err := os.ReadFile(filepath.Join(r.Dir(), journalFile))
	must(t, err)
	must(t, made[1].Remove())
	must(t, made[0].Remove())
	// Keep the old inodes' numbers from being given to the new files.
	foreign := []string{"a", "b/", "c=host"}
	for i := range 8 {
		must(t, os.WriteFile(filepath.Join(w, "fill"+string(rune('0'+i))), nil, 0o600))
		foreign = append(foreign, "fill"+string(rune('0'+i)))
	}
	must(t, os.WriteFile(filepath.Join(w, "a"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(w, "b"), 0o700))
	must(t, os.WriteFile(filepath.Join(w, "c"), []byte("host"), 0o600))
	for n := range len(data) + 1 {
		open, err := replay(data[:n])
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		for _, e := range slices.Backward(open) {
			must(t, Undo(e))
		}
		if diff := cmp.Diff(foreign, tree(t, w)); diff != "" {
			t.Fatalf("%d bytes:\n%s", n, diff)
		}
	}
	if bytes.Count(data, []byte("\n")) != 7 {
		t.Errorf("journal:\n%s", data)
	}
}

func scratch(rt *rapid.T) string {
	dir, err := os.MkdirTemp("", "journal")
	check(rt, err)
	rt.Cleanup(func() { os.RemoveAll(dir) })
	dir, err = filepath.EvalSymlinks(dir)
	check(rt, err)
	return dir
}

// plant puts foreign things into w and returns its tree.
func plant(rt *rapid.T, w string) []string {
	for _, name := range []string{"empty", "full", ".agent-mcp-like"} {
		if rapid.Bool().Draw(rt, name) {
			content := ""
			if name == "full" {
				content = "x"
			}
			check(rt, os.WriteFile(filepath.Join(w, name), []byte(content), 0o600))
		}
	}
	check(rt, os.Mkdir(filepath.Join(w, "dir"), 0o700))
	return tree(rt, w)
}

func size(rt *rapid.T, path string) int64 {
	info, err := os.Stat(path)
	check(rt, err)
	return info.Size()
}

// tear cuts the line that begins at before.
func tear(rt *rapid.T, path string, before int64) {
	at := rapid.Int64Range(before, size(rt, path)-1).Draw(rt, "torn at")
	check(rt, os.Truncate(path, at))
}

func check(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

// makeOne makes one placeholder; where something exists it is fs.exists.
func makeOne(r *Run, path string, dir bool) (*Placeholder, error) {
	made, err := MakePlaceholders(r, Want{Path: path, Dir: dir})
	if err != nil {
		return nil, err
	}
	if len(made) == 0 {
		return nil, fault.New(fault.FSExists, "placeholder", "path", path)
	}
	return made[0], nil
}

// TestPlaceholdersTogether: what is made together stands together, is journalled
// together, and when one cannot be made none remains.
func TestPlaceholdersTogether(t *testing.T) {
	w := t.TempDir()
	r, err := OpenRun(filepath.Join(w, "state"), start)
	must(t, err)
	path := func(name string) string { return filepath.Join(w, name) }
	must(t, os.WriteFile(path("there"), []byte("x"), 0o600))
	made, err := MakePlaceholders(r, Want{Path: path("a")}, Want{Path: path("there")}, Want{Path: path("b"), Dir: true}, Want{Path: path("c"), Content: "{}"})
	must(t, err)
	var names []string
	for _, p := range made {
		names = append(names, filepath.Base(p.Path()))
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if _, err := MakePlaceholders(r, Want{Path: path("d")}, Want{Path: path("missing/e")}); err == nil {
		t.Error("made within a directory that is missing")
	}
	if _, err := os.Lstat(path("d")); err == nil {
		t.Error("the first of a failed set remains")
	}
	for _, p := range made {
		must(t, p.Remove())
	}
	left, err := os.ReadDir(w)
	must(t, err)
	if len(left) != 2 { // state, there
		t.Errorf("left: %v", left)
	}
	must(t, r.Close())
}
