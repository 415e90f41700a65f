package scopedfs

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"sunaba/fault"
	"sunaba/scope"
)

// at resolves asked, judges it for u and hands the place to act; all of it
// again while the tree moves.
func (f *FS) at(op, asked string, follow bool, u use, act func(*place) error) error {
	return f.settle(op, asked, func() error {
		p, err := f.resolve(op, asked, follow)
		if err != nil {
			return err
		}
		defer p.close()
		if err := f.judge(op, p, u); err != nil {
			return err
		}
		return act(p)
	})
}

// OpenFile opens a regular file for reading. Anything that could block or has
// effects of its own when opened (FIFO, device, socket) is fs.special_file.
func (f *FS) OpenFile(path string) (*os.File, Path, error) {
	return f.openFile("open", path, scope.R)
}

// OpenExec opens a regular file that may be started and has an executable
// bit; else fs.no_execute. The handle is for hashing and executing.
func (f *FS) OpenExec(path string) (*os.File, Path, error) {
	return f.openFile("execute", path, scope.R|scope.X)
}

func (f *FS) openFile(op, path string, need scope.Capability) (file *os.File, at Path, err error) {
	err = f.at(op, path, true, use{need: need}, func(p *place) (err error) {
		at = p.Path
		if need.Has(scope.X) && p.exists() && p.node.mode.IsRegular() && p.node.mode&0o111 == 0 {
			return p.fail(op, fault.FSNoExecute, "rule", p.node.mode.String(), "source", "")
		}
		file, err = f.openRegular(op, p)
		return err
	})
	return file, at, err
}

// openRegular opens the regular file at p, and no other one, for reading.
func (f *FS) openRegular(op string, p *place) (*os.File, error) {
	if err := f.regular(op, p); err != nil {
		return nil, err
	}
	if f.o.MaxFileBytes > 0 && p.node.size > f.o.MaxFileBytes && op != "execute" {
		return nil, p.tooLarge(op, f.o.MaxFileBytes)
	}
	file, err := p.dir.openRead(p.name, p.Canonical)
	if err != nil {
		return nil, p.raced(op, err)
	}
	if n, err := onHandle(file).stat(); err != nil || !n.same(p.node) {
		file.Close()
		return nil, errMoved
	}
	return file, nil
}

// regular refuses everything but a regular file.
func (f *FS) regular(op string, p *place) error {
	switch {
	case p.broken != nil || !p.exists():
		return f.absent(op, p)
	case p.node.mode.IsDir():
		return p.fail(op, fault.FSIsDirectory)
	case !p.node.mode.IsRegular():
		return p.fail(op, fault.FSSpecialFile)
	}
	return nil
}

func (p *place) tooLarge(op string, limit int64) error {
	return p.fail(op, fault.FSTooLarge, "limit", strconv.FormatInt(limit, 10))
}

// raced is failed for an object the walk has just seen: that it is gone, or is
// a link now, says that it was exchanged.
func (p *place) raced(op string, err error) error {
	if isExchanged(err) {
		return errMoved
	}
	return p.failed(op, err)
}

// OpenDir opens a directory that may be listed: the working directory of a
// command, or what a listing reads.
func (f *FS) OpenDir(path string) (dir *os.File, at Path, err error) {
	const op = "open_directory"
	err = f.at(op, path, true, use{need: scope.R}, func(p *place) error {
		at = p.Path
		dir, err = f.openDirectory(op, p)
		return err
	})
	return dir, at, err
}

func (f *FS) openDirectory(op string, p *place) (*os.File, error) {
	switch {
	case p.broken != nil || !p.exists():
		return nil, f.absent(op, p)
	case !p.node.mode.IsDir():
		return nil, p.fail(op, fault.FSNotDirectory)
	}
	dir, err := p.self.openDir(".", p.Canonical)
	if err != nil {
		return nil, p.failed(op, err)
	}
	return dir, nil
}

// Stat tells about what path leads to.
func (f *FS) Stat(path string) (fs.FileInfo, Path, error) { return f.stat("stat", path, true) }

// Lstat tells about path itself, be it a link; a slash at its end does not
// matter.
func (f *FS) Lstat(path string) (fs.FileInfo, Path, error) { return f.stat("lstat", path, false) }

func (f *FS) stat(op, path string, follow bool) (info fs.FileInfo, at Path, err error) {
	err = f.at(op, path, follow, use{need: scope.R, passing: true}, func(p *place) error {
		at = p.Path
		if p.broken != nil || !p.exists() {
			return f.absent(op, p)
		}
		info = infoOf(p.Canonical, p.node)
		return nil
	})
	return info, at, err
}

// Allows tells whether the rules grant need on what path leads to, existing or
// not: nil, or the refusal an act with that need would meet. Nothing is touched.
func (f *FS) Allows(path string, need scope.Capability) error {
	return f.at("judge", path, true, use{need: need}, func(*place) error { return nil })
}

// Readlink returns what the link at path says, which may lead anywhere.
func (f *FS) Readlink(path string) (target string, at Path, err error) {
	const op = "readlink"
	err = f.at(op, path, false, use{need: scope.R}, func(p *place) error {
		at = p.Path
		if p.broken != nil || !p.exists() {
			return f.absent(op, p)
		}
		if !p.node.isLink() {
			return p.failed(op, syscall.EINVAL)
		}
		if target, err = p.self.readlink(); err != nil {
			return p.failed(op, err)
		}
		return nil
	})
	return target, at, err
}

// ReadFile returns the content of a regular file of at most max bytes; a
// longer one is fs.too_large and is not read. max 0 means Options.MaxFileBytes
// alone.
func (f *FS) ReadFile(path string, max int64) (data []byte, at Path, err error) {
	const op = "read"
	err = f.at(op, path, true, use{need: scope.R}, func(p *place) error {
		at = p.Path
		file, err := f.openRegular(op, p)
		if err != nil {
			return err
		}
		defer file.Close()
		data, err = p.read(op, file, max)
		return err
	})
	return data, at, err
}

// read returns the whole of file, which is what p stands for.
func (p *place) read(op string, file *os.File, max int64) ([]byte, error) {
	if max > 0 && p.node.size > max {
		return nil, p.tooLarge(op, max)
	}
	var from io.Reader = file
	if max > 0 {
		from = io.LimitReader(file, max+1) // it may grow meanwhile
	}
	var b bytes.Buffer
	b.Grow(int(min(p.node.size, 64<<20)) + bytes.MinRead)
	if _, err := b.ReadFrom(from); err != nil {
		return nil, p.failed(op, err)
	}
	if max > 0 && int64(b.Len()) > max {
		return nil, p.tooLarge(op, max)
	}
	return b.Bytes(), nil
}
