package sandbox

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/namespace"
)

// builder collects the first error of a sequence of steps.
type builder struct {
	tree *namespace.Tree
	err  error
}

func (b *builder) do(err error) {
	if b.err == nil {
		b.err = err
	}
}

// bind shows src at p. Where p already exists, inside an outer bind, the inner
// one is placed over it.
func (b *builder) bind(src source, p string, attr namespace.Attr) {
	if b.err != nil {
		return
	}
	if at, err := b.tree.At(p); err == nil {
		unix.Close(at)
	} else {
		dir := p
		if src.file {
			dir = path.Dir(p)
		}
		b.do(b.tree.Mkdir(dir))
		if src.file {
			b.do(b.tree.WriteFile(p, ""))
		}
	}
	m, err := namespace.Clone(src.fd, attr)
	if err != nil {
		b.do(fmt.Errorf("%s: %w", p, err))
		return
	}
	b.do(b.tree.Place(m, p))
	unix.Close(src.fd)
}

// mount places a new file system at p, which is made when missing.
func (b *builder) mount(kind, p string, attr namespace.Attr, options ...string) {
	if b.err != nil {
		return
	}
	b.do(b.tree.Mkdir(p))
	m, err := namespace.NewFS(kind, attr, options...)
	if err != nil {
		b.do(err)
		return
	}
	b.do(b.tree.Place(m, p))
}

// memory places a file system of at most size bytes in memory. It bounds the
// number of files as well: empty ones cost memory that no size counts.
func (b *builder) memory(p string, attr namespace.Attr, size int64, mode string) {
	const perFile = 4 << 10
	b.mount("tmpfs", p, attr, fmt.Sprintf("size=%d", size), fmt.Sprintf("nr_inodes=%d", max(size/perFile, 1024)), mode)
}

func (b *builder) etc(s *setup, home, hosts string) {
	b.do(b.tree.Mkdir("/etc"))
	user := "agent"
	files := map[string]string{
		"/etc/passwd":        fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n", user, s.UID, s.GID, home),
		"/etc/group":         fmt.Sprintf("%s:x:%d:\nnogroup:x:65534:\n", user, s.GID),
		"/etc/hosts":         hosts,
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
	for p, content := range files {
		b.do(b.tree.WriteFile(p, content))
	}
}

func (b *builder) dev(devs map[string]source) {
	b.do(b.tree.Mkdir("/dev"))
	// Read-only: a device is written to all the same, but its mode and times on
	// the host stay as they are when the sandbox runs as their owner.
	for p, src := range devs {
		b.bind(src, p, namespace.ReadOnly|namespace.NoSUID|namespace.NoExec)
	}
	b.mount("devpts", "/dev/pts", namespace.NoSUID|namespace.NoExec, "ptmxmode=0666", "mode=0620", fmt.Sprintf("max=%d", terminals))
	b.memory("/dev/shm", namespace.NoSUID|namespace.NoDev|namespace.NoExec, sharedBytes, "mode=1777")
	for p, target := range map[string]string{
		"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd",
		"/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		b.do(b.tree.Symlink(target, p))
	}
}

func (b *builder) scratch(l *layout, p policy.Effective) {
	attr := namespace.NoSUID | namespace.NoDev
	if !l.executes {
		attr |= namespace.NoExec
	}
	b.do(b.tree.Mkdir("/tmp"))
	b.memory(l.scratch, attr, scratchBytes(p.Resources), "mode=0700")
	b.do(b.tree.Mkdir(l.home()))
}

// scratchBytes is the size of the scratch file system when nothing is said: a
// quarter of the Task's memory.
func scratchBytes(r policy.Resources) int64 {
	if r.ScratchBytes > 0 {
		return r.ScratchBytes
	}
	return r.MemoryMiB << 20 / 4
}

// covers pins what must not be renamed, freezes what must not be written and
// masks what must not be read.
func (b *builder) covers(l *layout, flat *flats) {
	for _, p := range ablation.Keep("pins", l.pins) {
		b.cover(p, 0)
	}
	for _, p := range ablation.Keep("locks", l.locked) {
		if l.isFlat(p) {
			flat.reopen(b, p)
		} else {
			b.cover(p, namespace.ReadOnly)
		}
	}
	for _, p := range ablation.Keep("masks", l.hidden) {
		b.mask(p)
	}
}

func (b *builder) cover(p string, attr namespace.Attr) {
	if b.err != nil {
		return
	}
	err := b.tree.Cover(p, attr)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return // nothing there: what could be made there is a placeholder's matter
	}
	b.do(err)
}

// mask replaces what stands at p by something empty that cannot be opened.
func (b *builder) mask(p string) {
	if b.err != nil {
		return
	}
	at, err := b.tree.At(p)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return
		}
		b.do(err)
		return
	}
	var st unix.Stat_t
	err = unix.Fstat(at, &st)
	unix.Close(at)
	if err != nil {
		b.do(fmt.Errorf("mask %s: %w", p, err))
		return
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		m, err := namespace.NewFS("tmpfs", namespace.ReadOnly|namespace.NoSUID|namespace.NoDev|namespace.NoExec, "size=4096", "mode=0000")
		if err != nil {
			b.do(err)
			return
		}
		b.do(b.tree.Place(m, p))
		return
	}
	const blank = "/.masked"
	if at, err := b.tree.At(blank); err == nil {
		unix.Close(at)
	} else {
		b.do(b.tree.WriteFile(blank, ""))
		b.do(b.tree.Chmod(blank, 0))
	}
	fd, err := b.tree.At(blank)
	if err != nil {
		b.do(err)
		return
	}
	defer unix.Close(fd)
	m, err := namespace.Clone(fd, namespace.ReadOnly|namespace.NoSUID|namespace.NoDev|namespace.NoExec)
	if err != nil {
		b.do(err)
		return
	}
	b.do(b.tree.Place(m, p))
}

func (b *builder) proc() {
	// Read-only: as their owner one could change the modes of its files, which
	// are the host's.
	b.mount("proc", "/proc", namespace.ReadOnly|namespace.NoSUID|namespace.NoDev|namespace.NoExec)
	for _, name := range ablation.Keep("masks of proc", maskedProc) {
		b.mask("/proc/" + name)
	}
	for _, name := range ablation.Keep("frozen proc", frozenProc) {
		b.cover("/proc/"+name, namespace.ReadOnly|namespace.NoSUID|namespace.NoDev|namespace.NoExec)
	}
}
