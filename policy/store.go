package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"sunaba/fault"
)

// snapshotVersion is the version of the snapshot's form.
const snapshotVersion = 1

// Snapshot is what a person agreed to: the resolution of one configuration
// (S1-219).
type Snapshot struct {
	SchemaVersion int               `json:"schema_version"`
	ConfigPath    string            `json:"config_path"` // absolute, as typed
	Fingerprint   string            `json:"fingerprint"`
	Settings      map[string]string `json:"settings"` // key path to canonical text
	Effective     Effective         `json:"effective"`
	AppliedAt     time.Time         `json:"applied_at"`
}

// NewSnapshot returns the snapshot of one resolution, not yet stored.
func NewSnapshot(configPath, fingerprint string, settings map[string]string, e Effective, now time.Time) Snapshot {
	return Snapshot{snapshotVersion, configPath, fingerprint, settings, e, now.UTC()}
}

// sealed is the stored form: the digest tells a whole file from a torn or
// edited one. It is no protection against the user's own programs.
type sealed struct {
	SHA256   string          `json:"sha256"`
	Snapshot json.RawMessage `json:"snapshot"`
}

// Store is the Applied Configuration Store of one user: one file for each
// configuration path, replaced atomically (S1-084, S1-219, S1-220). It holds no
// resource; several processes may use one.
type Store struct{ dir string }

// NewStore returns the store below stateDir. It creates nothing.
func NewStore(stateDir string) Store { return Store{filepath.Join(stateDir, "applied")} }

const (
	maxSnapshotBytes = 16 << 20
	newFile          = ".new-"
)

func (s Store) path(configPath string) string {
	sum := sha256.Sum256([]byte(configPath))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}

// Load returns the applied snapshot of configPath. The error has code
// policy.not_applied; its argument "reason" is never, unreadable, torn or
// foreign. Nothing of an unusable snapshot is used.
func (s Store) Load(configPath string) (*Snapshot, error) {
	path := s.path(configPath)
	refuse := func(reason string, err error) (*Snapshot, error) {
		return nil, fault.Wrap(err, fault.PolicyNotApplied, "load", "path", configPath, "reason", reason, "file", path)
	}
	data, err := readPrivate(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("never", nil)
	case err != nil:
		return refuse("unreadable", err)
	}
	var seal sealed
	if err := json.Unmarshal(data, &seal); err != nil {
		return refuse("torn", err)
	}
	sum := sha256.Sum256(seal.Snapshot)
	if hex.EncodeToString(sum[:]) != seal.SHA256 {
		return refuse("torn", nil)
	}
	var snap Snapshot
	d := json.NewDecoder(bytes.NewReader(seal.Snapshot))
	d.DisallowUnknownFields()
	if err := d.Decode(&snap); err != nil {
		return refuse("foreign", err)
	}
	if snap.SchemaVersion != snapshotVersion || snap.ConfigPath != configPath {
		return refuse("foreign", nil)
	}
	return &snap, nil
}

// readPrivate reads a file of the store: regular, ours, closed to others.
func readPrivate(path string) ([]byte, error) {
	if err := checkPrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(), info.Size() > maxSnapshotBytes:
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSnapshotBytes))
}

// Save replaces the snapshot of snap.ConfigPath in one step: at every moment,
// also after a crash, Load finds the old one or the new one whole. A file in
// its place that Load could not use is kept beside it. Errors have code
// platform.state.
func (s Store) Save(snap Snapshot) error {
	if err := s.save(snap); err != nil {
		return fault.Wrap(err, fault.PlatformState, "save", "path", s.dir)
	}
	return nil
}

func (s Store) save(snap Snapshot) error {
	data, err := seal(snap)
	if err != nil {
		return err
	}
	if err := makePrivate(filepath.Dir(s.dir)); err != nil {
		return err
	}
	if err := makePrivate(s.dir); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(s.dir, "lock"), flock.SetPermissions(0o600))
	if locked, err := lock.TryLock(); err != nil {
		return err
	} else if !locked {
		return errors.New("another apply is writing")
	}
	defer lock.Close()                                                              // the file stays: removing it would split the lock
	if stale, err := filepath.Glob(filepath.Join(s.dir, newFile+"*")); err == nil { // of an apply that was killed
		for _, path := range stale {
			_ = os.Remove(path)
		}
	}
	path := s.path(snap.ConfigPath)
	if _, err := s.Load(snap.ConfigPath); err != nil && exists(path) {
		if err := os.Rename(path, path+".aside-"+snap.AppliedAt.Format("20060102T150405")); err != nil {
			return err
		}
	}
	return replace(path, data)
}

func seal(snap Snapshot) ([]byte, error) {
	body, err := json.Marshal(snap)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return json.Marshal(sealed{hex.EncodeToString(sum[:]), body})
}

// replace writes data to a new file beside path and renames it over path.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), newFile+"*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
