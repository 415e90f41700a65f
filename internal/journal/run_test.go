package journal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
)

var start = time.Date(2026, 12, 1, 2, 3, 4, 5_000_000, time.UTC)

func openTest(t *testing.T) (*Run, string) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	r, err := OpenRun(state, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, state
}

func add(t *testing.T, r *Run, e Entry) int {
	t.Helper()
	added, err := r.Add(e)
	if err != nil {
		t.Fatal(err)
	}
	return added[0].ID
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crash gives the lock up as the end of a process does, and nothing else.
func crash(t *testing.T, r *Run) {
	t.Helper()
	must(t, r.lock.Unlock())
	must(t, r.file.Close())
	r.file = nil
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !missing(err) {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestRunDirectoryIsPrivate(t *testing.T) {
	r, state := openTest(t)
	for path, want := range map[string]os.FileMode{
		filepath.Join(state, "run"):             os.ModeDir | 0o700,
		r.Dir():                                 os.ModeDir | 0o700,
		filepath.Join(r.Dir(), "lock"):          0o600,
		filepath.Join(r.Dir(), "journal.jsonl"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info, err, want)
		}
	}
	if name := filepath.Base(r.Dir()); !runName().MatchString(name) || !strings.HasPrefix(name, "20261201T020304.005Z-") {
		t.Errorf("name %s", name)
	}
}

// The record is on the disk when Add returns, with what Made and Retire say
// after it.
// Covers: S1-202
func TestStepsAreOnDisk(t *testing.T) {
	r, _ := openTest(t)
	first := add(t, r, Entry{Kind: KindPlaceholder, Path: "/w/a"})
	second := add(t, r, Entry{Kind: KindCgroup, Path: "/c/b"})
	must(t, r.Made(Entry{ID: second, Device: 3, Inode: 4}))
	must(t, r.Retire(first))
	got, err := pending(filepath.Join(r.Dir(), journalFile))
	must(t, err)
	want := []Entry{{ID: second, Kind: KindCgroup, Path: "/c/b", Device: 3, Inode: 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := r.Retire(first); fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("retired twice: %v", err)
	}
	if err := r.Made(Entry{ID: 99, Device: 1, Inode: 1}); fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("an unknown entry: %v", err)
	}
	must(t, r.Retire(second))
}

func TestNothingIsMadeAfterAFailedWrite(t *testing.T) {
	r, _ := openTest(t)
	must(t, r.file.Close())
	for range 2 {
		if _, err := r.Add(Entry{Kind: KindCgroup, Path: "/c"}); fault.CodeOf(err) != fault.PlatformState {
			t.Errorf("got %v", err)
		}
	}
}

// Covers: S1-203
func TestCloseLeavesNothing(t *testing.T) {
	r, state := openTest(t)
	must(t, r.Retire(add(t, r, Entry{Kind: KindCgroup, Path: "/c"})))
	must(t, os.WriteFile(filepath.Join(r.Dir(), "socket"), nil, 0o600))
	must(t, r.Close())
	must(t, r.Close())
	if got := names(t, filepath.Join(state, "run")); !slices.Equal(got, []string{".lock"}) {
		t.Errorf("left: %q", got)
	}
	if _, err := r.Add(Entry{Kind: KindCgroup, Path: "/c"}); err == nil {
		t.Error("Add after Close")
	}
}

func TestCloseWithOpenEntriesKeepsTheJournal(t *testing.T) {
	r, state := openTest(t)
	add(t, r, Entry{Kind: KindCgroup, Path: "/c"})
	err := r.Close()
	if fault.CodeOf(err) != fault.PlatformRecovery || err.(*fault.Error).Args["path"] != "/c" {
		t.Errorf("got %v", err)
	}
	var undone []Entry
	report, err := Recover(state, func(e Entry) error { undone = append(undone, e); return nil })
	must(t, err)
	if len(undone) != 1 || len(report.Undone) != 1 {
		t.Errorf("%v %v", undone, report)
	}
}

// Case CRSH-003 in kind; C-75.
func TestLedgerOutlivesTheProcessForItsTTL(t *testing.T) {
	for name, row := range map[string]struct {
		content string
		age     time.Duration
		want    []string // besides .lock
	}{
		"young":   {"{}\n", time.Hour, []string{"ledger.jsonl", "lock"}},
		"old":     {"{}\n", ledgerTTL + time.Hour, []string{}},
		"empty":   {"", time.Hour, []string{}},
		"no file": {"-", 0, []string{}},
	} {
		for _, how := range []string{"close", "crash"} {
			t.Run(name+" "+how, func(t *testing.T) {
				r, state := openTest(t)
				ledger := filepath.Join(r.Dir(), ledgerFile)
				if row.content != "-" {
					must(t, os.WriteFile(ledger, []byte(row.content), 0o600))
					at := time.Now().Add(-row.age)
					must(t, os.Chtimes(ledger, at, at))
				}
				must(t, os.Mkdir(filepath.Join(r.Dir(), "output"), 0o700))
				if how == "close" {
					must(t, r.Close())
				} else {
					crash(t, r)
					_, err := Recover(state, nil)
					must(t, err)
				}
				if diff := cmp.Diff(row.want, names(t, r.Dir())); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Covers: REC-06, S1-204
func TestRecoverUndoesInReverse(t *testing.T) {
	r, state := openTest(t)
	for _, p := range []string{"/a", "/b", "/c"} {
		add(t, r, Entry{Kind: KindCgroup, Path: p})
	}
	must(t, r.Retire(2))
	crash(t, r)
	var order []string
	report, err := Recover(state, func(e Entry) error { order = append(order, e.Path); return nil })
	must(t, err)
	if diff := cmp.Diff([]string{"/c", "/a"}, order); diff != "" {
		t.Error(diff)
	}
	if len(report.Undone) != 2 || report.Busy != 0 {
		t.Errorf("report %v", report)
	}
	if got := names(t, filepath.Join(state, "run")); !slices.Equal(got, []string{".lock"}) {
		t.Errorf("left: %q", got)
	}
	report, err = Recover(state, nil)
	if err != nil || len(report.Undone) != 0 {
		t.Errorf("a second time: %v %v", report, err)
	}
}

// Covers: REC-07
func TestAFailedUndoIsAnErrorAndStays(t *testing.T) {
	r, state := openTest(t)
	add(t, r, Entry{Kind: KindCgroup, Path: "/good"})
	add(t, r, Entry{Kind: KindCgroup, Path: "/bad"})
	crash(t, r)
	var order []string
	undo := func(e Entry) error {
		order = append(order, e.Path)
		if e.Path == "/bad" {
			return errors.New("busy")
		}
		return nil
	}
	for range 2 {
		order = nil
		_, err := Recover(state, undo)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.PlatformRecovery || f.Args["directory"] != r.Dir() || f.Args["path"] != "/bad" || f.Args["kind"] != "cgroup" {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff([]string{"/bad", "/good"}, order); diff != "" {
			t.Error(diff)
		}
	}
	_, err := Recover(state, func(Entry) error { return nil })
	must(t, err)
}

func TestUnknownKindsAreNotForgotten(t *testing.T) {
	r, state := openTest(t)
	add(t, r, Entry{Kind: "wfp", Path: "filter"})
	crash(t, r)
	if _, err := Recover(state, nil); fault.CodeOf(err) != fault.PlatformRecovery {
		t.Errorf("got %v", err)
	}
}

// C-75: the directory of a living process is left alone, in this process and
// from another one.
func TestLivingProcessesAreLeftAlone(t *testing.T) {
	r, state := openTest(t)
	id := add(t, r, Entry{Kind: KindCgroup, Path: "/c"})
	report, err := Recover(state, func(Entry) error { t.Error("undone"); return nil })
	if err != nil || report.Busy != 1 {
		t.Errorf("%v %v", report, err)
	}
	if _, err := os.Stat(r.Dir()); err != nil {
		t.Error(err)
	}
	must(t, r.Retire(id))
}

// A process that is killed leaves its lock free and its journal whole.
// Covers: REC-06
func TestRecoverAfterAKilledProcess(t *testing.T) {
	state := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestChildHoldsARun$")
	child.Env = append(os.Environ(), "JOURNAL_STATE="+state)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	buf := make([]byte, 6)
	if _, err := out.Read(buf); err != nil || string(buf) != "ready\n" {
		t.Fatalf("child: %q %v", buf, err)
	}
	report, err := Recover(state, func(Entry) error { t.Error("undone"); return nil })
	if err != nil || report.Busy != 1 {
		t.Errorf("while it lives: %v %v", report, err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	report, err = Recover(state, func(Entry) error { return nil })
	if err != nil || report.Busy != 0 || len(report.Undone) != 1 || report.Undone[0].Path != "/of/the/child" {
		t.Errorf("after its death: %v %v", report, err)
	}
}

// TestChildHoldsARun is the process TestRecoverAfterAKilledProcess kills.
func TestChildHoldsARun(t *testing.T) {
	state := os.Getenv("JOURNAL_STATE")
	if state == "" {
		return
	}
	r, err := OpenRun(state, time.Now())
	must(t, err)
	add(t, r, Entry{Kind: KindCgroup, Path: "/of/the/child"})
	_, _ = os.Stdout.WriteString("ready\n")
	select {}
}

func TestForeignDirectoriesStay(t *testing.T) {
	state := t.TempDir()
	foreign := filepath.Join(state, "run", "mine")
	must(t, os.MkdirAll(foreign, 0o700))
	must(t, os.WriteFile(filepath.Join(foreign, "journal.jsonl"), []byte("garbage\n"), 0o600))
	elsewhere := t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, "keep"), nil, 0o600))
	if err := os.Symlink(elsewhere, filepath.Join(state, "run", "20261201T020304.005Z-1")); err != nil {
		t.Skip("symbolic links: ", err)
	}
	_, err := Recover(state, nil)
	must(t, err)
	if len(names(t, foreign)) != 1 || len(names(t, elsewhere)) != 1 {
		t.Error("something foreign was removed")
	}
}

func TestReplay(t *testing.T) {
	a := `{"step":"intent","id":1,"kind":"cgroup","path":"/a"}` + "\n"
	b := `{"step":"intent","id":2,"kind":"cgroup","path":"/b"}` + "\n"
	made := `{"step":"made","id":1,"device":5,"inode":6}` + "\n"
	retired := `{"step":"retired","id":1}` + "\n"
	entryA := Entry{ID: 1, Kind: KindCgroup, Path: "/a"}
	entryB := Entry{ID: 2, Kind: KindCgroup, Path: "/b"}
	madeA := entryA
	madeA.Device, madeA.Inode = 5, 6
	for name, row := range map[string]struct {
		text string
		want []Entry
		bad  bool
	}{
		"empty":               {"", nil, false},
		"intent":              {a, []Entry{entryA}, false},
		"made":                {a + made, []Entry{madeA}, false},
		"retired":             {a + b + made + retired, []Entry{entryB}, false},
		"torn":                {a + b[:20], []Entry{entryA}, false},
		"torn at the newline": {a + b[:len(b)-1], []Entry{entryA}, false},
		"garbage":             {a + "garbage\n" + b, nil, true},
		"twice":               {a + a, nil, true},
		"made of nothing":     {made, nil, true},
		"retired of nothing":  {retired, nil, true},
		"unknown step":        {`{"step":"x","id":1}` + "\n", nil, true},
	} {
		got, err := replay([]byte(row.text))
		if (err != nil) != row.bad {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" && !row.bad && len(got)+len(row.want) > 0 {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A journal that cannot be read must not be taken for an empty one.
// Covers: REC-07
func TestUnreadableJournalStopsTheStart(t *testing.T) {
	for name, content := range map[string]string{
		"garbage":   "garbage\n",
		"too large": strings.Repeat("x", maxJournal+1),
	} {
		r, state := openTest(t)
		must(t, os.WriteFile(filepath.Join(r.Dir(), journalFile), []byte(content), 0o600))
		crash(t, r)
		_, err := Recover(state, func(Entry) error { return nil })
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.PlatformRecovery || f.Args["directory"] != r.Dir() {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(r.Dir()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCgroup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "group")
	e := Entry{Kind: KindCgroup, Path: dir}
	must(t, Undo(e)) // never made
	must(t, os.Mkdir(dir, 0o700))
	must(t, Undo(e))
	if _, err := os.Stat(dir); err == nil {
		t.Error("not removed")
	}
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "child"), 0o700))
	if err := Undo(e); err == nil {
		t.Error("a group with children was reported as removed")
	}
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"step":"intent","id":1,"kind":"cgroup","path":"/a"}` + "\n"))
	f.Add([]byte("x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		open, err := replay(data)
		if err != nil && open != nil {
			t.Error("entries together with an error")
		}
	})
}

// One process may open two runs in the same millisecond.
//
// Covers: C-75
func TestTwoRunsAtOnce(t *testing.T) {
	state, start := t.TempDir(), time.Now()
	var runs []*Run
	for range 3 {
		r, err := OpenRun(state, start)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	if runs[0].Dir() == runs[1].Dir() || runs[1].Dir() == runs[2].Dir() {
		t.Errorf("%s, %s, %s", runs[0].Dir(), runs[1].Dir(), runs[2].Dir())
	}
	for _, r := range runs {
		must(t, r.Close())
	}
}
