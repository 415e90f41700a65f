package scopedfs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"syscall"

	"sunaba/scope"
)

// The modes of new files. What will replace a file is closed to others until it
// has the mode of that file: its content may be nobody else's business.
const (
	newFile     = 0o666
	replacement = 0o600
)

// temporary is a file under a random name that will take the place of another.
type temporary struct {
	dir  handle
	name string
	file *os.File
	keep bool
}

// temporary makes an empty file of the given mode beside p; nil when that is not
// to be had. Its name cannot be foreseen and is made exclusively, so that nothing planted is
// ever opened.
func (f *FS) temporary(p *place, mode uint32) *temporary {
	name := ".sunaba-" + rand.Text() + ".tmp"
	beside := beneath(p.dirPath, name)
	if f.rules.Locate(beside) != scope.Within || !f.rights(p.dir, beside).Has(scope.R|scope.W) {
		return nil
	}
	file, err := p.dir.create(name, mode)
	if err != nil {
		return nil
	}
	return &temporary{dir: p.dir, name: name, file: file}
}

func (t *temporary) fill(data []byte) error { return fill(t.file, data) }

// discard closes the file and removes what has its name by now.
func (t *temporary) discard() {
	t.file.Close()
	if !t.keep {
		t.dir.unlink(t.name)
	}
}

// fill writes data into an empty file and makes sure that it is there.
func fill(file *os.File, data []byte) error {
	if _, err := file.Write(data); err != nil {
		return err
	}
	return verify(file, data)
}

// verify reads file back and compares.
func verify(file *os.File, data []byte) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	got, err := digestOf(file)
	if err == nil && got != DigestOf(data) {
		err = syscall.EIO
	}
	return err
}

// overwrite writes data into the existing file target of the given size and
// puts the old content back when that fails.
func overwrite(target, old *os.File, size int64, data []byte) error {
	undo := make([]byte, size)
	if _, err := old.ReadAt(undo, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err := put(target, data)
	if err == nil {
		var got Digest
		if got, err = digestOf(old); err == nil && got != DigestOf(data) {
			err = syscall.EIO
		}
	}
	if err != nil {
		return errors.Join(err, put(target, undo))
	}
	return nil
}

func put(target *os.File, data []byte) error {
	if _, err := target.WriteAt(data, 0); err != nil {
		return err
	}
	return target.Truncate(int64(len(data)))
}

// digestOf hashes all of file, wherever it stands.
func digestOf(file *os.File) (Digest, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
