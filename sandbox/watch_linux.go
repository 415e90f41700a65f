package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sunaba/fault"
)

// watch sees that a program of the host's puts something else where a cover of
// this sandbox lies: the kernel takes the cover away with what it lay on, and
// the new one would stand open (C-84). Every name on the way to a covered path
// is watched, from its root on.
type watch struct {
	file *os.File // inotify; it does not block

	mu      sync.Mutex
	names   map[int32]map[string]string // the path of each name in a watched directory
	before  map[string]inode            // by path
	changed string                      // the first path that is not what it was; "" none
}

// inode is what stands at a path; the zero value is nothing. Its number alone
// says little: the next file made may have the number of the one removed last.
type inode struct {
	major, minor uint32
	number       uint64
	born         unix.StatxTimestamp
	known        bool // when it was born
}

// watched are the changes of a directory's names; that it is gone itself shows
// in its own parent, and of the outermost nothing is left to protect.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// newWatch begins to watch the covered paths of l; nil when there are none.
func newWatch(l *layout) (_ *watch, err error) {
	w := &watch{names: map[int32]map[string]string{}, before: map[string]inode{}}
	for _, list := range [][]string{l.locked, l.hidden} {
		for _, p := range list {
			if root, ok := l.rootOf(p); ok && p != root.path {
				w.add(root.path, p)
			}
		}
	}
	if len(w.before) == 0 {
		return nil, nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch protected paths: %w", err)
	}
	w.file = os.NewFile(uintptr(fd), "watch")
	defer func() {
		if err != nil {
			w.file.Close()
		}
	}()
	for p := range w.before {
		dir := path.Dir(p)
		id, err := unix.InotifyAddWatch(fd, dir, watched)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue // its parent's own name is watched
		}
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", dir, err)
		}
		if w.names[int32(id)] == nil {
			w.names[int32(id)] = map[string]string{}
		}
		w.names[int32(id)][path.Base(p)] = p
	}
	for p := range w.before { // after the watches: what changes from now on is told
		w.before[p] = look(p)
	}
	return w, nil
}

// add notes every path from root, itself left out, to p.
func (w *watch) add(root, p string) {
	at := strings.TrimSuffix(root, "/")
	for name := range strings.SplitSeq(strings.TrimPrefix(p[len(at):], "/"), "/") {
		at += "/" + name
		w.before[at] = inode{}
	}
}

func look(p string) inode {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return inode{}
	}
	return inode{st.Dev_major, st.Dev_minor, st.Ino, st.Btime, st.Mask&unix.STATX_BTIME != 0}
}

// serve calls replaced once, when something has changed, and returns then, or
// when the watch is closed.
func (w *watch) serve(replaced func(path string)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			return // closed
		}
		if p := w.take(buffer[:n]); p != "" {
			replaced(p)
			return
		}
	}
}

// take reads events and returns the first path that is not what it was.
func (w *watch) take(events []byte) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := false
	for len(events) >= unix.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		size := int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
		events = events[unix.SizeofInotifyEvent+size:]
		switch {
		case w.changed != "":
		case w.names[id][name] != "":
			w.changed = w.names[id][name]
		case mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0:
			lost = true // some were not told
		}
	}
	if lost {
		w.compare()
	}
	return w.changed
}

// compare looks whether everything is what it was; w.mu is held.
func (w *watch) compare() {
	for p, was := range w.before {
		if now := look(p); w.changed == "" && (now != was || now.number != 0 && !now.known) {
			w.changed = p
		}
	}
}

// check takes in what has happened so far and returns an error of code
// platform.replaced when something has changed. A nil watch sees nothing.
func (w *watch) check() error {
	if w == nil {
		return nil
	}
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	var p string
	buffer := make([]byte, 16<<10)
	err = raw.Control(func(fd uintptr) { // serve may be waiting in a read
		for p = w.take(nil); p == ""; {
			n, err := unix.Read(int(fd), buffer)
			if err != nil || n <= 0 {
				return
			}
			p = w.take(buffer[:n])
		}
	})
	if err != nil {
		return err
	}
	if p != "" {
		return errReplaced(p)
	}
	return nil
}

func errReplaced(p string) error {
	return fault.New(fault.PlatformReplaced, "sandbox", "path", p)
}

// Close ends the watch; it may be nil.
func (w *watch) Close() error {
	if w == nil {
		return nil
	}
	return w.file.Close()
}
