package cli

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/fault"
	"sunaba/policy"
)

// TestPreflightIsJournalled: root's preflight notes its control group before it
// makes it, and leaves no run behind; where nothing can be noted, none is made.
//
// Covers: S1-095, SD-27
func TestPreflightIsJournalled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: nobody else has control groups")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := policy.Resolve(policy.ForFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	e := resolved.Effective
	state := t.TempDir()
	if _, err := preflight(t.Context(), state, e); err != nil {
		t.Fatal(err)
	}
	// The directory is there: it was journalled. The lock of the door stays.
	if left, err := os.ReadDir(filepath.Join(state, "run")); err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := preflight(t.Context(), "", e); err != nil { // show's
		t.Error(err)
	}
	unusable := filepath.Join(state, "file")
	if err := os.WriteFile(unusable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := preflight(t.Context(), unusable, e); err == nil || fault.CodeOf(err) != fault.PlatformState {
		t.Errorf("without a journal: %v", err)
	}
}
