package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"sunaba/fault"
)

const (
	// claimWait bounds how long a Task waits for a workspace that another
	// server's Task holds.
	claimWait = 10 * time.Minute
	// claimPoll is how often it looks.
	claimPoll = 50 * time.Millisecond
)

// Claim takes a workspace for one Task: two Tasks of different servers must not
// share one, or the end of the first would take the second's placeholders away
// (C-75). What dead servers left there is undone while nobody else works in
// it. The claim ends with release, or with the process. A workspace that stays
// in use is platform.busy; ctx ends the wait.
func (r *Run) Claim(ctx context.Context, root string) (release func() error, err error) {
	dir := filepath.Join(r.state, "workspace")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, stateFault(err, dir)
	}
	name := sha256.Sum256([]byte(root))
	lock := flock.New(filepath.Join(dir, hex.EncodeToString(name[:])), flock.SetPermissions(0o600))
	bounded, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	held, err := lock.TryLockContext(bounded, claimPoll)
	switch {
	case ctx.Err() != nil && !held:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(fault.PlatformBusy, "claim", "path", root, "minutes", claimWait.String())
	case err != nil || !held:
		return nil, stateFault(err, lock.Path())
	}
	if _, err := Recover(r.state, nil); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock.Unlock, nil
}
