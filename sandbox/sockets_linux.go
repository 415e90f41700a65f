package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// longestSearched is the length of a path beyond which sockets are not looked
// for, because they could not be masked there.
const longestSearched = 3500

// maskSockets masks every unix socket beneath the roots: a command that may make
// unix sockets could connect to them, whatever its rights (trap 8). What cannot
// be looked through is masked as a whole.
func (b *builder) maskSockets(l *layout) {
	for i, bd := range l.binds {
		inner := slices.ContainsFunc(l.binds[:i], func(outer bind) bool { return within(bd.path, outer.path) })
		if !inner { // else it was seen on the way
			b.maskSocketsIn(bd.path)
		}
	}
}

func (b *builder) maskSocketsIn(root string) {
	pending := []string{root}
	for len(pending) > 0 && b.err == nil {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if len(dir) > longestSearched {
			b.mask(dir)
			continue
		}
		err := b.eachEntry(dir, func(e fs.DirEntry) {
			p := dir + "/" + e.Name()
			switch e.Type() {
			case fs.ModeDir:
				pending = append(pending, p)
			case fs.ModeSocket:
				b.mask(p)
			}
		})
		switch {
		case errors.Is(err, unix.EACCES):
			b.mask(dir)
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP): // gone, or a file
		default:
			b.do(err)
		}
	}
}

// eachEntry calls act for every entry of dir in the tree.
func (b *builder) eachEntry(dir string, act func(fs.DirEntry)) error {
	at, err := b.tree.At(dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look for sockets in %s: %w", dir, err)
	}
	// By this name it finds the type of entries whose file system does not say.
	f := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd))
	defer f.Close()
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			act(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for sockets in %s: %w", dir, err)
		}
	}
}
