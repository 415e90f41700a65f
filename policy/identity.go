package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

var (
	errNotRegular = errors.New("not a regular file")
	errMoving     = errors.New("the file changed while it was read")
)

// Identify hashes the file behind f and returns what it looked like. The bytes
// that are hashed are those of this handle (SD-34); a file that changes
// meanwhile is an error. The file offset of f is moved to the start.
func Identify(f *os.File) (Identity, error) {
	before, err := Look(f)
	if err != nil {
		return Identity{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Identity{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return Identity{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Identity{}, err
	}
	after, err := Look(f)
	if err != nil {
		return Identity{}, err
	}
	if !after.SameState(before) {
		return Identity{}, errMoving
	}
	after.SHA256 = hex.EncodeToString(h.Sum(nil))
	return after, nil
}

// Look returns the Identity of the regular file behind f without its hash: the
// cheap half of the check at every start (C-82).
func Look(f *os.File) (Identity, error) {
	info, err := f.Stat()
	if err != nil {
		return Identity{}, err
	}
	if !info.Mode().IsRegular() {
		return Identity{}, errNotRegular
	}
	id := Identity{Size: info.Size(), MTime: info.ModTime().UTC()}
	id.addInode(info)
	return id, nil
}

// SameState reports whether everything but the hash is equal: then the file
// needs not be hashed again (C-82).
func (i Identity) SameState(o Identity) bool {
	return i.Device == o.Device && i.Inode == o.Inode && i.Size == o.Size &&
		i.MTime.Equal(o.MTime) && i.CTime.Equal(o.CTime)
}
