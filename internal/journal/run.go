package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"sunaba/fault"
)

// The files of a run directory. The ledger belongs to package session.
const (
	lockFile    = "lock"
	journalFile = "journal.jsonl"
	ledgerFile  = "ledger.jsonl"
)

// ledgerTTL is how long a dead process's ledger is kept, so that agent_status
// can still tell of its Tasks.
const ledgerTTL = 48 * time.Hour

// doorWait bounds the wait for other processes that open or recover.
const doorWait = 10 * time.Second

// Run is the run directory of this process. It is safe for concurrent use.
type Run struct {
	dir   string
	state string
	lock  *flock.Flock

	mu   sync.Mutex
	file *os.File
	last int
	open []Entry
	err  error // the first failed write: nothing more may be made
}

// OpenRun makes state/run/<start>-<pid>/ (0700) and holds its lock until
// Close or the end of the process, however it ends. Errors are of code
// platform.state.
func OpenRun(stateDir string, start time.Time) (*Run, error) {
	door, err := enter(stateDir)
	if err != nil {
		return nil, err
	}
	defer leave(door)
	dir, err := makeRunDir(stateDir, start)
	if err != nil {
		return nil, stateFault(err, dir)
	}
	r := &Run{dir: dir, state: stateDir, lock: flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))}
	if ok, err := r.lock.TryLock(); err != nil || !ok {
		return nil, stateFault(err, dir)
	}
	r.file, err = os.OpenFile(filepath.Join(dir, journalFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err == nil {
		err = syncDir(dir)
	}
	if err == nil {
		err = syncDir(filepath.Dir(dir))
	}
	if err != nil {
		_ = r.lock.Unlock()
		return nil, stateFault(err, dir)
	}
	return r, nil
}

// makeRunDir makes a run directory. One process may hold several runs (the
// preflight has its own): the start of the later one is moved on.
func makeRunDir(stateDir string, start time.Time) (dir string, err error) {
	for range 100 {
		name := fmt.Sprintf("%s-%d", start.UTC().Format("20060102T150405.000Z"), os.Getpid())
		dir = filepath.Join(stateDir, "run", name)
		if err = os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
		start = start.Add(time.Millisecond)
	}
	return dir, err
}

// Dir returns the run directory.
func (r *Run) Dir() string { return r.dir }

// Add records, durably, that the entries are about to be made, and returns
// them with the ids the later steps refer to. Only when it returns without an
// error may they be made. Entries made together cost one sync together.
func (r *Run) Add(entries ...Entry) ([]Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := slices.Clone(entries)
	lines := make([]line, len(added))
	for i := range added {
		added[i].ID = r.last + 1 + i
		lines[i] = line{stepIntent, added[i]}
	}
	if err := r.write(lines, outlivesPower(added)); err != nil {
		return nil, err
	}
	r.last += len(added)
	r.open = append(r.open, added...)
	return added, nil
}

// outlivesPower reports whether one of the entries can still be there after a
// loss of power: control groups are gone then, and a killed process's records
// reach the next one without a sync.
func outlivesPower(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind != KindCgroup })
}

// Made records, durably, what the made resources are (their Device and Inode),
// so that nothing else is ever taken for them.
func (r *Run) Made(entries ...Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]line, len(entries))
	for i, e := range entries {
		if r.index(e.ID) < 0 {
			return r.unknown(e.ID)
		}
		lines[i] = line{stepMade, Entry{ID: e.ID, Device: e.Device, Inode: e.Inode}}
	}
	if err := r.write(lines, durable); err != nil {
		return err
	}
	for _, e := range entries {
		at := &r.open[r.index(e.ID)]
		at.Device, at.Inode = e.Device, e.Inode
	}
	return nil
}

// Retire records that a resource is gone, or was never made. It need not
// outlive a loss of power: undoing what is gone does nothing.
func (r *Run) Retire(id int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.index(id)
	if at < 0 {
		return r.unknown(id)
	}
	if err := r.write([]line{{stepRetired, Entry{ID: id}}}, !durable); err != nil {
		return err
	}
	r.open = slices.Delete(r.open, at, at+1)
	return nil
}

func (r *Run) index(id int) int {
	return slices.IndexFunc(r.open, func(e Entry) bool { return e.ID == id })
}

func (r *Run) unknown(id int) error {
	return stateFault(fmt.Errorf("no open entry %d", id), r.dir)
}

// durable lines are on the disk when write returns.
const durable = true

// write appends lines in one piece. After a failed write the end of the file is
// unknown, and every later one fails.
func (r *Run) write(lines []line, synced bool) error {
	if r.err != nil {
		return r.err
	}
	if r.file == nil {
		return stateFault(os.ErrClosed, r.dir)
	}
	var text []byte
	for _, l := range lines {
		b, err := json.Marshal(l)
		if err != nil {
			return stateFault(err, r.dir)
		}
		text = append(append(text, b...), '\n')
	}
	_, err := r.file.Write(text)
	if err == nil && synced {
		err = r.file.Sync()
	}
	if err != nil {
		r.err = stateFault(err, r.dir)
	}
	return r.err
}

// Close gives the directory up. When nothing is left to undo it is removed,
// except for a ledger with content; else the journal stays for the next
// Recover, and the error of code platform.recovery names the first resource.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	switch {
	case len(r.open) > 0:
		e := r.open[len(r.open)-1]
		err = recoveryFault(nil, r.dir, e)
	case err == nil && r.err == nil:
		door, derr := enter(r.state)
		if derr != nil { // the next Recover tidies up
			break
		}
		err = tidy(r.dir, time.Now())
		leave(door)
	}
	if uerr := r.lock.Unlock(); err == nil && uerr != nil {
		err = stateFault(uerr, r.dir)
	}
	return err
}

// enter makes state/run and takes the lock under which run directories come
// and go: without it, a Recover could take a directory that was just made, and
// is not locked yet, for a dead one.
func enter(stateDir string) (*flock.Flock, error) {
	runs := filepath.Join(stateDir, "run")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return nil, stateFault(err, runs)
	}
	door := flock.New(filepath.Join(runs, ".lock"), flock.SetPermissions(0o600))
	if err := regular(door.Path()); err != nil {
		return nil, stateFault(err, door.Path())
	}
	ctx, cancel := context.WithTimeout(context.Background(), doorWait)
	defer cancel()
	if ok, err := door.TryLockContext(ctx, 2*time.Millisecond); err != nil || !ok {
		return nil, stateFault(err, door.Path())
	}
	return door, nil
}

func leave(door *flock.Flock) { _ = door.Unlock() }

// tidy removes a run directory that has nothing to undo, but keeps a ledger
// younger than its TTL.
func tidy(dir string, now time.Time) error {
	info, err := os.Lstat(filepath.Join(dir, ledgerFile))
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || now.Sub(info.ModTime()) > ledgerTTL {
		if err := os.RemoveAll(dir); err != nil {
			return stateFault(err, dir)
		}
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return stateFault(err, dir)
	}
	for _, e := range entries {
		if e.Name() == ledgerFile || e.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return stateFault(err, dir)
		}
	}
	return nil
}

func stateFault(err error, path string) error {
	return fault.Wrap(err, fault.PlatformState, "journal", "case", "path", "path", path)
}

func recoveryFault(err error, dir string, e Entry) error {
	return fault.Wrap(err, fault.PlatformRecovery, "recover", "directory", dir, "path", e.Path, "kind", string(e.Kind))
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
