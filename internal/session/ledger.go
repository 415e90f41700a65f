package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Record is all that the disk may know of a Task: identifiers, state, times
// (SD-25). No content.
type Record struct {
	ID        string        `json:"id"`
	SessionID string        `json:"session_id"`
	State     State         `json:"state"`
	Created   time.Time     `json:"created"`
	Updated   time.Time     `json:"updated"`
	TTL       time.Duration `json:"ttl"` // nanoseconds
}

// Ledger remembers which Tasks existed (C-18). Put replaces what was known of
// a Task; All returns the latest Record of each. Both are called by one
// goroutine at a time.
type Ledger interface {
	Put(r Record) error
	All() ([]Record, error)
}

// forgetful is the Ledger of a Desk without one.
type forgetful struct{}

func (forgetful) Put(Record) error       { return nil }
func (forgetful) All() ([]Record, error) { return nil, nil }

// The bounds of a File.
const (
	ledgerVersion  = 1
	maxRecords     = 4096    // kept when a file is rewritten, the newest
	maxLedgerBytes = 4 << 20 // a file that grows beyond is rewritten
	maxLedgerRead  = 64 << 20
)

// File is a Ledger in one file of JSON lines, 0600, one line for each change.
// Appends are single writes, synced; a line that a crash cut short is
// forgotten. It is safe for concurrent use within one process; a second
// process needs a file of its own (C-75).
type File struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	file   *os.File
	size   int64
	latest map[string]Record
	order  []string // by first appearance
	// Aside is where a damaged file was moved when the ledger was opened, ""
	// if it was whole. Whoever opens the ledger tells the person.
	Aside string
}

// line is one line of the file.
type line struct {
	V int `json:"v"`
	Record
}

// OpenFile opens or makes the ledger at path; its folder must exist. A file
// that is damaged, of another version, or not a readable file is moved aside
// and what could be read of it is kept (CRSH-003). Close releases it.
func OpenFile(path string) (*File, error) {
	f := &File{path: path, now: time.Now, latest: map[string]Record{}}
	records, damage := ReadLedger(path)
	if damage != nil {
		aside, err := setAside(path)
		if err != nil {
			return nil, err
		}
		f.Aside = aside
	}
	for _, r := range records {
		f.keep(r)
	}
	if err := f.rewrite(); err != nil {
		return nil, err
	}
	return f, nil
}

// ReadLedger returns the latest Record of each Task in the file at path, in
// order of first appearance, and an error when some of the file could not be
// understood; the records are usable in both cases. A file that is missing or
// empty has no records; a last line without its line end was cut by a crash
// and is skipped without an error.
func ReadLedger(path string) ([]Record, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f := &File{latest: map[string]Record{}}
	r := bufio.NewReader(io.LimitReader(file, maxLedgerRead))
	var damage error
	for n := 1; ; n++ {
		text, err := r.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				damage = err
			}
			break
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil || l.V != ledgerVersion || l.ID == "" || !known(l.State) {
			damage = fmt.Errorf("%s: line %d is not a record of version %d", path, n, ledgerVersion)
			continue
		}
		f.keep(l.Record)
	}
	return f.list(), damage
}

func known(s State) bool {
	return slices.Contains([]State{Queued, Planning, Running, Completed, Failed, Cancelled}, s)
}

// setAside renames what stands at path to a free name beside it.
func setAside(path string) (string, error) {
	for n := 1; n < 1000; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(path, aside)
		}
	}
	return "", fmt.Errorf("%s: too many damaged files beside it", path)
}

func (f *File) keep(r Record) {
	if _, ok := f.latest[r.ID]; !ok {
		f.order = append(f.order, r.ID)
	}
	f.latest[r.ID] = r
}

func (f *File) list() []Record {
	all := make([]Record, 0, len(f.order))
	for _, id := range f.order {
		all = append(all, f.latest[id])
	}
	return all
}

// All implements Ledger.
func (f *File) All() ([]Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list(), nil
}

// Put implements Ledger.
func (f *File) Put(r Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return fs.ErrClosed
	}
	f.keep(r)
	if f.size > maxLedgerBytes {
		return f.rewrite()
	}
	text, err := json.Marshal(line{V: ledgerVersion, Record: r})
	if err != nil {
		return err
	}
	n, err := f.file.Write(append(text, '\n'))
	f.size += int64(n)
	if err != nil {
		// A half line would swallow the next one: start over with a whole file.
		return errors.Join(err, f.rewrite())
	}
	if r.State == Planning || r.State == Running {
		return nil // a Task that is known to be unfinished stays so: no sync is worth it
	}
	return f.file.Sync()
}

// rewrite replaces the file by one line for each Task that is still worth
// knowing, the newest first to stay.
func (f *File) rewrite() error {
	now := f.now()
	live := slices.DeleteFunc(f.list(), func(r Record) bool {
		return r.State.Terminal() && !now.Before(r.Updated.Add(r.TTL))
	})
	live = live[max(0, len(live)-maxRecords):]
	f.latest, f.order = map[string]Record{}, nil
	var b bytes.Buffer
	for _, r := range live {
		f.keep(r)
		text, err := json.Marshal(line{V: ledgerVersion, Record: r})
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(b.Bytes())
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = f.release() // an open file cannot be replaced everywhere
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err == nil {
		f.size = int64(b.Len())
	} else {
		err = errors.Join(err, os.Remove(tmp.Name()))
	}
	if f.file == nil {
		var failed error
		f.file, failed = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0o600)
		err = errors.Join(err, failed)
	}
	return err
}

// Close releases the file; Put then fails.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.release()
}

func (f *File) release() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
