package scopedfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// Content up to these sizes, in bytes, is hashed though nobody asked for its
// digest, is read a second time to make sure that nobody changed it, and is
// kept in memory to undo a write in place.
const (
	maxHashed   = 64 << 20
	maxRechecks = 8 << 20
	maxUndo     = 64 << 20
)

// DigestOf returns the digest of data.
func DigestOf(data []byte) Digest {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// WriteFile puts data into the file at path, creating it and its parents. A
// link at the end is followed and stays; one that leads nowhere is refused
// (C-64). Readers see the old content or the new, never a part, and a failure
// leaves the old; only where the directory must not or cannot take a second
// file, or where the owner or attributes would be lost, the file is written in
// place and put back on failure. Mode, owner and extended attributes stay. The
// same content is not written again.
func (f *FS) WriteFile(path string, data []byte, o WriteOptions) (Outcome, error) {
	const op = "write"
	var out Outcome
	err := f.at(op, path, true, use{need: scope.R | scope.W, content: true, making: true}, func(p *place) error {
		out = Outcome{Path: p.Path, Bytes: int64(len(data)), After: DigestOf(data)}
		switch {
		case p.exists() && o.MustNotExist:
			return p.fail(op, fault.FSExists)
		case p.exists():
			return f.rewrite(op, p, data, o, &out)
		case p.broken != nil:
			return f.absent(op, p)
		case o.Expect != nil && *o.Expect != "":
			return p.fail(op, fault.FSChanged)
		}
		return f.writeNew(op, p, data, &out)
	})
	return settled(out, err)
}

// settled keeps the intentions of a failed act out of its outcome.
func settled(out Outcome, err error) (Outcome, error) {
	if err != nil {
		return Outcome{Path: out.Path}, err
	}
	return out, nil
}

// Create is WriteFile of a file that must not exist.
func (f *FS) Create(path string, data []byte) (Outcome, error) {
	return f.WriteFile(path, data, WriteOptions{MustNotExist: true})
}

// Update replaces the content of an existing file of at most max bytes (0: no
// bound of its own) by what edit makes of it. When edit fails, its error is
// returned and the file is untouched. edit may be called again if the file is
// changed meanwhile.
func (f *FS) Update(path string, max int64, edit func(old []byte) ([]byte, error)) (Outcome, error) {
	const op = "edit"
	var out Outcome
	err := f.at(op, path, true, use{need: scope.R | scope.W, content: true, making: true}, func(p *place) error {
		file, err := f.openRegular(op, p)
		if err != nil {
			return err
		}
		defer file.Close()
		was, err := onHandle(file).stat()
		if err != nil {
			return p.failed(op, err)
		}
		before, err := p.read(op, file, max)
		if err != nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		out = Outcome{Path: p.Path, Bytes: int64(len(after)), Before: DigestOf(before), After: DigestOf(after)}
		p.node = was
		return f.replace(op, p, file, after, &out)
	})
	return settled(out, err)
}

// rewrite writes over the existing file p.
func (f *FS) rewrite(op string, p *place, data []byte, o WriteOptions, out *Outcome) error {
	if err := f.regular(op, p); err != nil {
		return err
	}
	old, err := p.dir.openRead(p.name, p.Canonical)
	switch {
	case errors.Is(err, syscall.EACCES) && o.Expect == nil: // may be written, not read
	case err != nil:
		return p.raced(op, err)
	default:
		defer old.Close()
		n, err := onHandle(old).stat()
		if err != nil || !n.same(p.node) {
			return errMoved
		}
		p.node = n
		if n.size <= maxHashed || o.Expect != nil {
			if out.Before, err = digestOf(old); err != nil {
				return p.failed(op, err)
			}
		}
	}
	if o.Expect != nil && *o.Expect != out.Before {
		return p.fail(op, fault.FSChanged)
	}
	return f.replace(op, p, old, data, out)
}

// replace puts data into the existing file p, whose content old has; old is
// nil when it cannot be read.
func (f *FS) replace(op string, p *place, old *os.File, data []byte, out *Outcome) error {
	if f.o.MaxFileBytes > 0 && int64(len(data)) > f.o.MaxFileBytes {
		return p.tooLarge(op, f.o.MaxFileBytes)
	}
	if out.Before == out.After {
		return nil
	}
	target, err := p.dir.openWrite(p.name, p.Canonical)
	switch {
	case errors.Is(err, syscall.ETXTBSY): // a program that runs: a new file may take its name
	case err != nil:
		return p.raced(op, err)
	default:
		defer target.Close()
		if n, err := onHandle(target).stat(); err != nil || !n.same(p.node) {
			return errMoved
		}
	}
	if err := f.alone(p); err != nil {
		return err
	}
	out.Changed = true
	if old != nil && p.node.links == 1 {
		if temp := f.temporary(p, replacement); temp != nil {
			defer temp.discard()
			if temp.fill(data) == nil && dress(temp.file, old, p.node) {
				err := f.exchange(op, p, temp, old, out)
				if !errors.Is(err, errInPlace) {
					return err
				}
			}
		}
	}
	if target == nil {
		return p.failed(op, syscall.ETXTBSY)
	}
	if old == nil || p.node.size > maxUndo {
		return p.tooLarge(op, maxUndo)
	}
	if err := overwrite(target, old, p.node.size, data); err != nil {
		return p.failed(op, err)
	}
	return nil
}

// alone looks again whether the file p has no other name (C-63): when it was
// judged its own may just have been taken away. Looked up by name, both are known
// at one moment.
func (f *FS) alone(p *place) error {
	n, err := p.dir.lookup(p.name)
	if err != nil || !n.same(p.node) || n.links > 1 && !f.o.AllowHardLinks {
		return errMoved
	}
	p.node.links = n.links
	return nil
}

// errInPlace says that a file cannot be replaced, only written to.
var errInPlace = errors.New("scopedfs: the name is fixed")

// exchange lets the full temporary file and the file p change names, and looks
// at what it got for it: anything but the judged, unchanged file goes back.
func (f *FS) exchange(op string, p *place, temp *temporary, old *os.File, out *Outcome) error {
	err := p.dir.exchange(temp.name, p.name)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) { // not every file system can
		if n, err := p.dir.lookup(p.name); err != nil || !n.untouched(p.node) {
			return errMoved
		}
		if err := p.dir.replace(temp.name, p.name); err != nil {
			return p.failed(op, err)
		}
		return nil
	}
	for _, fixed := range []error{syscall.EBUSY, syscall.EXDEV, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, fixed) { // a mount of its own, or a directory that keeps its names
			return errInPlace
		}
	}
	if err != nil {
		return p.raced(op, err)
	}
	got, err := p.dir.lookup(temp.name)
	fine := err == nil && got.untouched(p.node) && got.links == 1 && p.dir.stillAt(p.dirPath) == nil
	if fine && out.Before != "" && got.size <= maxRechecks {
		again, err := digestOf(old)
		fine = err == nil && again == out.Before
	}
	if fine {
		return nil // what discard removes now is the old file
	}
	temp.giveBack(p)
	return errMoved
}

// giveBack undoes an exchange: what has the temporary name by now is not ours.
// The other name may have been taken away or given to something else meanwhile.
func (t *temporary) giveBack(p *place) {
	for range maxAttempts {
		if err := p.dir.exchange(t.name, p.name); !errors.Is(err, syscall.ENOENT) {
			t.keep = err != nil
			return
		}
		if err := p.dir.move(t.name, p.dir, p.name); !errors.Is(err, syscall.EEXIST) {
			t.keep = true
			return
		}
	}
	t.keep = true
}

// writeNew makes the file p and the directories that lead to it.
func (f *FS) writeNew(op string, p *place, data []byte, out *Outcome) (err error) {
	if p.wantsDir {
		return p.fail(op, fault.FSIsDirectory)
	}
	if f.o.MaxFileBytes > 0 && int64(len(data)) > f.o.MaxFileBytes {
		return p.tooLarge(op, f.o.MaxFileBytes)
	}
	if err := f.roomForOne(op, p); err != nil {
		return err
	}
	out.Similar = f.similar(p)
	made, err := f.makeParents(op, p)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			made.undo()
		}
	}()
	out.Created, out.Changed = true, true
	temp := f.temporary(p, newFile)
	if temp == nil { // the rules or the system allow this one name only
		file, err := p.dir.create(p.name, newFile)
		if err != nil {
			return p.raced(op, err)
		}
		defer file.Close()
		if err := fill(file, data); err != nil {
			return p.failed(op, errors.Join(err, p.dir.unlink(p.name)))
		}
		return nil
	}
	defer temp.discard()
	if err := temp.fill(data); err != nil {
		return p.failed(op, err)
	}
	if err := p.dir.move(temp.name, p.dir, p.name); err != nil {
		if errors.Is(err, syscall.EEXIST) {
			return errMoved
		}
		return p.raced(op, err)
	}
	temp.keep = true
	ours, err := onHandle(temp.file).stat()
	if err != nil {
		return p.failed(op, err)
	}
	if p.dir.stillAt(p.dirPath) == nil {
		return nil
	}
	if n, err := p.dir.lookup(p.name); err == nil && n.same(ours) {
		_ = p.dir.unlink(p.name) // errMoved says more
	}
	return errMoved
}
