package journal

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/fault"
)

// A named pipe in a file's place is refused: opening it would wait for ever,
// and the server would never start.
func TestANamedPipeStopsTheStart(t *testing.T) {
	for _, name := range []string{lockFile, journalFile, "../.lock"} {
		t.Run(name, func(t *testing.T) {
			r, state := openTest(t)
			add(t, r, Entry{Kind: KindPlaceholder, Path: filepath.Join(t.TempDir(), "x")})
			crash(t, r)
			path := filepath.Join(r.Dir(), name)
			must(t, os.Remove(path))
			must(t, unix.Mkfifo(path, 0o600))
			if _, err := Recover(state, func(Entry) error { return nil }); fault.CodeOf(err) == "" {
				t.Errorf("got %v, want a refusal", err)
			}
			must(t, os.Remove(path)) // its twin
			if _, err := Recover(state, func(Entry) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
}
