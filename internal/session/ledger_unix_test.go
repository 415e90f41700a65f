//go:build unix

package session

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLedgerIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode().Perm())
	}
}
