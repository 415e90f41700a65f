package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sunaba/fault"
	"sunaba/internal/pattern"
)

// What is kept of each kind of diagnostic log. Audit files are kept always:
// they are the owner's record, and only the owner throws them away.
const (
	keepFiles = 64
	keepBytes = 256 << 20
)

// private makes dir and sees to it that only its owner gets in (S1-226).
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fileFault(err, dir)
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fileFault(err, dir)
	}
	return nil
}

// create makes a new file for appending; an existing one, a link included, is
// an error, so no record is ever fused with another process's torn line.
func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fileFault(err, path)
	}
	return f, nil
}

// diagnostic opens a new log of the given kind after making room for it.
func diagnostic(dir, kind, ext string, start time.Time) (*os.File, error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	prune(dir, kind, keepFiles-1, keepBytes)
	return create(basename(dir, kind, start) + ext)
}

// ours matches the names this package gives to diagnostic logs.
var ours = pattern.Lazy(`^(llm|tokens|app)-\d{8}T\d{6}\.\d{3}Z-\d+\.(jsonl|log)$`)

// prune deletes the longest untouched files of one diagnostic kind until at
// most files of them with at most total bytes are left. It goes by the time
// of the last write, so that a long-lived server keeps the log it writes. A
// file that cannot be deleted stays: keeping too much is not a failure.
func prune(dir, kind string, files int, total int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		m := ours().FindStringSubmatch(e.Name())
		if m == nil || m[1] != kind {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var sum int64
	for i, info := range infos {
		sum += info.Size()
		if i >= files || sum > total {
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}

func fileFault(err error, path string) error {
	return fault.Wrap(err, fault.PlatformAudit, "audit", "case", "file", "file", path)
}
