package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"sunaba/internal/pattern"
)

// runName is the form of the names OpenRun gives: nothing else in state/run is
// ours to remove.
var runName = pattern.Lazy(`^\d{8}T\d{6}\.\d{3}Z-\d+$`)

// Report is what a Recover did.
type Report struct {
	Undone []Entry // entries that were open and are undone now
	Busy   int     // run directories of living processes, left alone
	// Ledgers are the files in which dead processes noted their Tasks, as long
	// as they are kept.
	Ledgers []string
}

// Recover undoes what dead processes left behind, in reverse order, and
// removes their run directories. undo is called for every open entry; nil
// means Undo. It must be idempotent: a crash during Recover repeats it.
//
// An error is of code platform.recovery, names the run directory and the
// resource, and means that the server must not serve (REC-07, SEC-INV-11).
// The other directories are recovered all the same.
func Recover(stateDir string, undo func(Entry) error) (Report, error) {
	if undo == nil {
		undo = Undo
	}
	var report Report
	door, err := enter(stateDir)
	if err != nil {
		return report, err
	}
	defer leave(door)
	runs := filepath.Join(stateDir, "run")
	entries, err := os.ReadDir(runs)
	if err != nil {
		return report, stateFault(err, runs)
	}
	var failures []error
	for _, e := range entries {
		if !e.IsDir() || !runName().MatchString(e.Name()) {
			continue
		}
		if err := recoverRun(filepath.Join(runs, e.Name()), undo, &report); err != nil {
			failures = append(failures, err)
		}
	}
	return report, errors.Join(failures...)
}

func recoverRun(dir string, undo func(Entry) error, report *Report) error {
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	err := regular(lock.Path())
	var free bool
	if err == nil {
		free, err = lock.TryLock()
	}
	if err != nil {
		return recoveryFault(err, dir, Entry{Path: lock.Path()})
	}
	if !free {
		report.Busy++
		return nil
	}
	defer lock.Unlock()
	journal := filepath.Join(dir, journalFile)
	var open []Entry
	if err = regular(journal); err == nil {
		open, err = pending(journal)
	}
	if err != nil {
		return recoveryFault(err, dir, Entry{Path: journal})
	}
	var failures []error
	for _, e := range slices.Backward(open) {
		if err := undo(e); err != nil {
			failures = append(failures, recoveryFault(err, dir, e))
			continue
		}
		report.Undone = append(report.Undone, e)
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	if err := tidy(dir, time.Now()); err != nil {
		return err
	}
	if ledger := filepath.Join(dir, ledgerFile); exists(ledger) {
		report.Ledgers = append(report.Ledgers, ledger)
	}
	return nil
}

// regular refuses what stands at path and is no file: opening a named pipe
// would wait for ever. Nothing at all is fine.
func regular(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
