package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func record(id string, s State) Record {
	return Record{ID: id, SessionID: "s" + id, State: s, Created: noon, Updated: noon.Add(time.Second), TTL: time.Hour}
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func all(t *testing.T, l Ledger) []Record {
	t.Helper()
	r, err := l.All()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Covers: SD-25
func TestFileRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	f := open(t, path)
	want := []Record{record("1", Completed), record("2", Queued)}
	for _, r := range []Record{record("1", Queued), record("2", Queued), record("1", Completed)} {
		if err := f.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, all(t, f)); diff != "" {
		t.Error(diff)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f.Put(record("3", Queued)) == nil {
		t.Error("a closed ledger took a record")
	}
	again := open(t, path)
	if again.Aside != "" {
		t.Errorf("a whole file was set aside to %s", again.Aside)
	}
	if diff := cmp.Diff(want, all(t, again)); diff != "" {
		t.Error(diff)
	}
}

// Covers: SES-03, SD-25
func TestNoContentReachesTheLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f := open(t, path)
		s := newScript()
		d := desk(t, s.run, func(c *Config) { c.Ledger = f })
		submit(t, d, Request{Text: "SECRET", ClientRequestID: "SECRET", Owner: "SECRET", Images: []Image{{"SECRET", []byte("SECRET")}}})
		w := <-s.started
		w.Update(Update{Progress: Progress{Current: "SECRET"}, Error: fault.New(fault.LLMFailed, "", "x", "SECRET")})
		s.end <- Outcome{Result: "SECRET", Plan: "SECRET"}
		synctest.Wait()
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("SECRET")) || !bytes.Contains(b, []byte(`"completed"`)) {
		t.Errorf("the ledger holds:\n%s", b)
	}
}

// Covers: MCP-2026-07
func TestRestartFailsUnfinishedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		l := &kept{}
		for i, s := range []State{Queued, Planning, Running, Completed} {
			l.records = append(l.records, Record{ID: string(rune('1' + i)), SessionID: "s", State: s, Created: now, Updated: now, TTL: time.Hour})
		}
		old := Record{ID: "old", SessionID: "o", State: Running, Created: now.Add(-time.Hour), Updated: now, TTL: time.Hour}
		done := Record{ID: "done", State: Completed, Created: now, Updated: now, TTL: time.Hour}
		gone := Record{ID: "gone", State: Completed, Created: now, Updated: now.Add(-2 * time.Hour), TTL: time.Hour}
		d := desk(t, nil, func(c *Config) {
			c.Ledger, c.Earlier = l, []Record{old, done, gone}
		})
		for _, id := range []string{"1", "2", "3", "old"} {
			s, err := d.Status(t.Context(), id, "", time.Minute)
			if err != nil || s.State != Failed {
				t.Fatalf("%s: %+v, %v", id, s, err)
			}
			wantCode(t, s.Error, fault.AgentServerRestarted)
		}
		for _, id := range []string{"4", "done"} {
			if got := state(t, d, id); got != Completed {
				t.Errorf("an ended Task is %s", got)
			}
		}
		_, err := d.Status(t.Context(), "gone", "", 0)
		wantCode(t, err, fault.MCPUnknownTask)
		_, err = d.Submit(Request{Text: "x", SessionID: "s"})
		wantCode(t, err, fault.MCPUnknownSession) // Sessions do not outlive the process
		var put []string
		for _, r := range l.put {
			put = append(put, r.ID+" "+string(r.State))
		}
		if diff := cmp.Diff([]string{"old failed", "done completed", "1 failed", "2 failed", "3 failed"}, put); diff != "" {
			t.Error(diff)
		}
	})
}

type kept struct{ records, put []Record }

func (k *kept) Put(r Record) error     { k.put = append(k.put, r); return nil }
func (k *kept) All() ([]Record, error) { return k.records, nil }

// CRSH-003: a damaged file is kept aside and the server starts.
func TestDamagedFiles(t *testing.T) {
	good := `{"v":1,"id":"1","session_id":"s1","state":"completed","created":"2030-01-02T12:00:00Z","updated":"2030-01-02T12:00:01Z","ttl":3600000000000}` + "\n"
	tests := []struct {
		name  string
		make  func(t *testing.T, path string)
		aside bool
		kept  int
	}{
		{"missing", func(*testing.T, string) {}, false, 0},
		{"empty", text(""), false, 0},
		{"whole", text(good), false, 1},
		{"torn last line", text(good + good[:40]), false, 1},
		{"only a torn line", text(good[:40]), false, 0},
		{"broken line in the middle", text(good[:40] + "\n" + good), true, 1},
		{"another version", text(strings.Replace(good, `"v":1`, `"v":2`, 1)), true, 0},
		{"an unknown state", text(strings.Replace(good, "completed", "dreaming", 1)), true, 0},
		{"another format", text("SQLite format 3\x00\n\n"), true, 0},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, true, 0},
		{"unreadable", func(t *testing.T, path string) {
			if os.Geteuid() == 0 {
				t.Skip("root reads every file")
			}
			text(good)(t, path)
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
		}, true, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tasks.jsonl")
			test.make(t, path)
			f := open(t, path)
			if got := f.Aside != ""; got != test.aside {
				t.Errorf("set aside to %q", f.Aside)
			}
			if test.aside {
				if _, err := os.Lstat(f.Aside); err != nil {
					t.Error(err)
				}
			}
			if n := len(all(t, f)); n != test.kept {
				t.Errorf("%d records, want %d", n, test.kept)
			}
			if err := f.Put(record("9", Queued)); err != nil {
				t.Fatal(err)
			}
			again, err := ReadLedger(path)
			if err != nil || len(again) != test.kept+1 {
				t.Errorf("read again: %v, %v", again, err)
			}
		})
	}
}

func text(s string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever a crash leaves of the file, what was whole before the cut is known.
func TestEveryCutIsSurvived(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.jsonl")
	f := open(t, path)
	for _, r := range []Record{record("1", Queued), record("2", Queued), record("3", Queued)} {
		if err := f.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(whole)).Draw(t, "n")
		cut := filepath.Join(dir, "cut.jsonl")
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		records, err := ReadLedger(cut)
		if want := bytes.Count(whole[:n], []byte("\n")); err != nil || len(records) != want {
			t.Fatalf("cut at %d: %d records, want %d, %v", n, len(records), want, err)
		}
	})
}

func TestTheFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	f := open(t, path)
	f.now = func() time.Time { return noon.Add(2 * time.Hour) } // everything has expired
	if err := f.Put(record("1", Completed)); err != nil {
		t.Fatal(err)
	}
	f.size = maxLedgerBytes + 1
	if err := f.Put(record("2", Queued)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n != 1 || !bytes.Contains(b, []byte(`"2"`)) {
		t.Errorf("after the rewrite:\n%s", b)
	}
	for i := range maxRecords + 10 {
		f.keep(record("q"+decimal(i), Queued))
	}
	if err := f.rewrite(); err != nil {
		t.Fatal(err)
	}
	if n := len(all(t, f)); n != maxRecords {
		t.Errorf("%d records are kept", n)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Whatever stands in the file, the ledger opens, and is whole afterwards.
func FuzzOpenFile(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"1","state":"queued"}` + "\n"))
	f.Add([]byte("{}\n\n\xff\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "tasks.jsonl")
		text(string(content))(t, path)
		l := open(t, path)
		if err := l.Put(record("9", Queued)); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all(t, l), again); diff != "" {
			t.Error(diff)
		}
	})
}
