package pod

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
)

// stores are the implementations that the suite runs against; again opens what
// an open store has kept, as after a restart, where that is promised.
var stores = map[string]func(t *testing.T) (s Store, again func() Store){
	"memory": func(t *testing.T) (Store, func() Store) { return new(MemoryStore), nil },
	"file": func(t *testing.T) (Store, func() Store) {
		dir := filepath.Join(t.TempDir(), "deep", "store")
		s := fileStore(t, dir)
		return s, func() Store {
			s.Close()
			s = fileStore(t, dir)
			return s
		}
	},
}

func fileStore(t testing.TB, dir string) *FileStore {
	t.Helper()
	s, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fails is what *testing.T and *rapid.T have in common.
type fails interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
}

func session(t fails, s Store, id SessionID) []Message {
	t.Helper()
	m, err := s.Messages(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func is(t fails, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// some is a conversation in which every field is used.
var some = []Message{
	{Role: System, Content: "Be brief.\n"},
	{Role: User, Content: "日本語 \u2028 \" \\ \x00 <b>&"},
	{Role: Assistant, Thinking: "hm", Calls: []Call{{ID: "1", Name: Read, Arguments: `{"path":"a"}`}, {Name: "x", Arguments: `{"broken`}}},
	{Role: FromTool, Tool: Read, CallID: "1", Content: "{\"ok\":true}\n1\ta"},
	{Role: Assistant, Content: "Done."},
}

// Covers: C-17
func TestStoresConform(t *testing.T) {
	ctx := context.Background()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s, again := open(t)
			const id = "0a-1"
			_, err := s.Messages(ctx, id)
			is(t, "a session that was never begun", err, fault.PodSession)
			for _, bad := range []SessionID{"", ".", "..", "../x", "a/b", "A", "a.b", "a\x00", "é", SessionID(strings.Repeat("a", 65))} {
				is(t, fmt.Sprintf("append to %q", bad), s.Append(ctx, bad, some...), fault.PodSession)
				_, err := s.Messages(ctx, bad)
				is(t, fmt.Sprintf("messages of %q", bad), err, fault.PodSession)
			}

			mine := append([]Message(nil), some...)
			mine[2].Calls = append([]Call(nil), some[2].Calls...)
			if err := errors.Join(s.Append(ctx, id, mine[0]), s.Append(ctx, id, mine[1:4]...), s.Append(ctx, id), s.Append(ctx, id, mine[4])); err != nil {
				t.Fatal(err)
			}
			mine[0].Content, mine[2].Calls[0].Name = "changed", "changed"
			if diff := cmp.Diff(some, session(t, s, id)); diff != "" {
				t.Errorf("kept otherwise: %s", diff)
			}
			session(t, s, id)[2].Calls[0].Name = "changed"
			if diff := cmp.Diff(some, session(t, s, id)); diff != "" {
				t.Errorf("shared with a reader: %s", diff)
			}

			if err := s.Append(ctx, "other", Message{Role: User, Content: "a\xffb"}); err != nil {
				t.Fatal(err)
			}
			if got := session(t, s, "other"); len(got) != 1 || got[0].Content != "a\ufffdb" {
				t.Errorf("another session: %q", got)
			}

			gone, cancel := context.WithCancel(ctx)
			cancel()
			if err := s.Append(gone, id, some[0]); !errors.Is(err, context.Canceled) {
				t.Errorf("append with an ended context: %v", err)
			}
			if _, err := s.Messages(gone, id); !errors.Is(err, context.Canceled) {
				t.Errorf("messages with an ended context: %v", err)
			}

			var many sync.WaitGroup
			for i := range 8 {
				many.Go(func() {
					for j := range 10 {
						if err := s.Append(ctx, "many", Message{Role: User, Content: fmt.Sprint(i)}, Message{Role: Assistant, Content: fmt.Sprint(i, j)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			many.Wait()
			all := session(t, s, "many")
			if len(all) != 160 {
				t.Errorf("%d messages, want 160", len(all))
			}
			for i := 0; i+1 < len(all); i += 2 {
				if !strings.HasPrefix(all[i+1].Content, all[i].Content) {
					t.Errorf("an Append was torn apart at %d", i)
				}
			}

			big := Message{Role: User, Content: strings.Repeat("x", maxSession/2)}
			if err := s.Append(ctx, "big", big); err != nil {
				t.Fatal(err)
			}
			is(t, "more than fits", s.Append(ctx, "big", big), fault.PodStore)
			if got := session(t, s, "big"); len(got) != 1 {
				t.Errorf("%d messages after a refused Append", len(got))
			}

			if again != nil {
				if diff := cmp.Diff(some, session(t, again(), id)); diff != "" {
					t.Errorf("after a restart: %s", diff)
				}
			}
		})
	}
}

// A file that is cut at any byte holds the Appends that were whole, and goes on.
func TestFileCutAtEveryByte(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s, err := OpenFileStore(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		batch := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Message {
			return Message{Role: User, Content: rapid.StringN(0, 60, 200).Draw(t, "content")}
		}), 1, 2)
		batches := rapid.SliceOfN(batch, 1, 4).Draw(rt, "batches")
		ends := []int{0}
		var data []byte
		for _, b := range batches {
			line, err := encode(t.Context(), "s", b)
			if err != nil {
				rt.Fatal(err)
			}
			data = append(data, line...)
			ends = append(ends, len(data))
		}
		goOn := rapid.IntRange(0, len(data)).Draw(rt, "go on after a cut at") // each time the disk is waited for
		if err := os.WriteFile(s.path("s"), data, 0o600); err != nil {
			rt.Fatal(err)
		}
		for cut := len(data); cut >= 0; cut-- {
			if err := os.Truncate(s.path("s"), int64(cut)); err != nil {
				rt.Fatal(err)
			}
			var want []Message
			for i, b := range batches {
				if ends[i+1] <= cut {
					want = append(want, b...)
				}
			}
			got, err := s.Messages(ctx, "s")
			if len(want) == 0 {
				is(rt, fmt.Sprintf("cut at %d", cut), err, fault.PodSession)
			} else if diff := cmp.Diff(want, got); err != nil || diff != "" {
				rt.Fatalf("cut at %d of %d: %v\n%s", cut, len(data), err, diff)
			}
			if cut != goOn {
				continue
			}
			last := Message{Role: Assistant, Content: "next"}
			if err := s.Append(ctx, "s", last); err != nil {
				rt.Fatal(err)
			}
			if err := s.Append(ctx, "s", last); err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(append(want, last, last), session(rt, s, "s")); diff != "" {
				rt.Fatalf("cut at %d, then gone on: %s", cut, diff)
			}
			if err := os.WriteFile(s.path("s"), data, 0o600); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestDamagedSessionIsRefused(t *testing.T) {
	ctx := context.Background()
	s := fileStore(t, t.TempDir())
	for _, text := range []string{"x\n", "{}\n", `{"v":2,"messages":[]}` + "\n", `{"v":1,"messages":[],"more":1}` + "\n", "\n", `{"v":1,"messages":[]}{}` + "\n"} {
		if err := os.WriteFile(s.path("s"), []byte(`{"v":1,"messages":[]}`+"\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Messages(ctx, "s")
		is(t, text, err, fault.PodStore)
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Args["line"] != "2" {
			t.Errorf("%q: line %s", text, e.Args["line"])
		}
	}
}

func TestFileStoreIsPrivateAndExclusive(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "s")
	s := fileStore(t, dir)
	if err := s.Append(ctx, "s", some...); err != nil {
		t.Fatal(err)
	}
	if os.PathSeparator == '/' {
		for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, s.path("s"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	_, err := OpenFileStore(dir)
	is(t, "a second store", err, fault.PodStore)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	is(t, "append to a closed store", s.Append(ctx, "s", some[0]), fault.PodStore)
	_, err = s.Messages(ctx, "s")
	is(t, "messages of a closed store", err, fault.PodStore)
	if got := session(t, fileStore(t, dir), "s"); len(got) != len(some) {
		t.Errorf("%d messages after the lock was free again", len(got))
	}

	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = OpenFileStore(file)
	is(t, "a file as directory", err, fault.PodStore)
}
