package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/namespace"
	"sunaba/sandbox/internal/seccomp"
	"sunaba/scope"
)

// Sizes of the sandbox's own file systems, in bytes.
const (
	skeletonBytes = 1 << 20
	sharedBytes   = 64 << 20 // /dev/shm
	// terminals is how many pseudo-terminals a Task may have: their number on
	// the whole machine is limited.
	terminals = 64
)

// systemTrees are the operating system's runtime root (C-23): shown read-only,
// executable as descendants; starting from them directly needs approval.
var systemTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// systemFiles are the parts of /etc that programs need to start and to speak
// TLS; nothing of it is secret and nothing else of /etc is shown (C-79).
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// maskedProc and frozenProc are the parts of /proc that speak of the host.
var (
	maskedProc = []string{
		"kcore", "keys", "kallsyms", "timer_list", "sched_debug", "sysrq-trigger", "acpi", "scsi", "interrupts",
		// for the host's root alone, which the sandbox may be (C-78)
		"kmsg", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo", "slabinfo", "pagetypeinfo",
	}
	frozenProc = []string{"sys", "irq", "bus", "fs"}
)

// confine turns this fresh process into the Task's Worker. The order matters:
// sources are opened before the new root hides them, /proc is mounted while
// the host's is still visible, and rights are given up last.
func confine(s *setup) (*launcher, error) {
	l := newLayout(&s.Policy)
	l.locked = append(l.locked, s.Covers...)
	l.emptyRepository = slices.ContainsFunc(s.Covers, func(p string) bool { return path.Base(p) == ".git" })
	if err := CloseOnExec(); err != nil {
		return nil, err
	}
	if err := buildTree(s, &l); err != nil {
		return nil, err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return nil, fmt.Errorf("set host name: %w", err)
	}
	watchSignals()
	if err := limits.Rlimits(s.Policy.Resources, !s.NoFence); err != nil {
		return nil, err
	}
	return dropRights(s, &l)
}

// watchSignals receives every signal that can be caught, so that none ends
// PID 1 (trap 10). They are not ignored: commands would inherit that.
func watchSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c)
	go func() {
		for range c { // nothing to do: the broker's socket is the only master
		}
	}()
}

// source is a host path opened before the new root hides it.
type source struct {
	fd   int
	file bool
}

func openSource(p string) (source, error) {
	fd, err := namespace.Open(p)
	if err != nil {
		return source{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return source{}, fmt.Errorf("stat %s: %w", p, err)
	}
	return source{fd: fd, file: st.Mode&unix.S_IFMT != unix.S_IFDIR}, nil
}

func buildTree(s *setup, l *layout) error {
	if err := namespace.Private(); err != nil {
		return err
	}
	roots := make([]source, len(l.binds))
	for i, b := range l.binds {
		var err error
		if roots[i], err = openSource(b.path); b.part && errors.Is(err, unix.ENOENT) {
			roots[i].fd = -1 // nothing there to be written
		} else if err != nil {
			return err
		}
	}
	system, links := openSystem()
	devs := make(map[string]source)
	for _, d := range devices {
		src, err := openSource(d)
		if err != nil {
			return err
		}
		devs[d] = src
	}

	tree, err := namespace.NewTree("/tmp", skeletonBytes)
	if err != nil {
		return err
	}
	b := &builder{tree: tree}
	for p, target := range links {
		b.do(tree.Symlink(target, p))
	}
	for p, src := range system {
		b.bind(src, p, namespace.ReadOnly|namespace.NoSUID|namespace.NoDev)
	}
	b.etc(s, l.home())
	b.dev(devs)
	b.scratch(l, s.Policy)
	for i, bd := range l.binds {
		if roots[i].fd < 0 {
			continue
		}
		attr := namespace.NoSUID | namespace.NoDev
		if !bd.write {
			attr |= namespace.ReadOnly
		}
		if !bd.exec {
			attr |= namespace.NoExec
		}
		b.bind(roots[i], bd.path, attr)
	}
	b.covers(l)
	b.proc()
	if b.err != nil {
		return b.err
	}
	return tree.Enter()
}

// openSystem opens the runtime root and the shown parts of /etc. On systems
// with a merged /usr, /bin and its like are links, which are made again.
func openSystem() (map[string]source, map[string]string) {
	system := make(map[string]source)
	links := make(map[string]string)
	for _, p := range systemTrees {
		if target, err := os.Readlink(p); err == nil {
			links[p] = target
			continue
		}
		if src, err := openSource(p); err == nil {
			system[p] = src
		}
	}
	for _, p := range systemFiles {
		src, err := openSource(p)
		if errors.Is(err, unix.ELOOP) { // a link such as /etc/localtime: show what it names
			fd, err2 := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err2 == nil {
				src, err = source{fd: fd, file: p != "/etc/ssl/certs"}, nil
			}
		}
		if err == nil {
			system[p] = src
		}
	}
	return system, links
}

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

func (b *builder) etc(s *setup, home string) {
	b.do(b.tree.Mkdir("/etc"))
	user := "agent"
	files := map[string]string{
		"/etc/passwd":        fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n", user, s.UID, s.GID, home),
		"/etc/group":         fmt.Sprintf("%s:x:%d:\nnogroup:x:65534:\n", user, s.GID),
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
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
	if p.Profile == "readonly" {
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
func (b *builder) covers(l *layout) {
	for _, p := range l.pins {
		b.cover(p, 0)
	}
	for _, p := range l.locked {
		b.cover(p, namespace.ReadOnly)
	}
	for _, p := range l.hidden {
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
	for _, name := range maskedProc {
		b.mask("/proc/" + name)
	}
	for _, name := range frozenProc {
		b.cover("/proc/"+name, namespace.ReadOnly|namespace.NoSUID|namespace.NoDev|namespace.NoExec)
	}
}

// dropRights gives up every privilege and starts the launcher. After it the
// Worker holds no capability, cannot regain one, and every thread stands under
// the file tools' Landlock layer and the seccomp filter; the launcher's thread
// under the commands' as well.
func dropRights(s *setup, l *layout) (*launcher, error) {
	abi, err := landlock.ABI()
	if err != nil {
		return nil, err
	}
	tools, err := ruleset(abi, l, landlock.ForFileTools, false)
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	commands, err := ruleset(abi, l, landlock.ForCommands, true)
	if err != nil {
		return nil, err
	}
	defer commands.Close()

	la := newLauncher(&s.Policy, l)
	if err := la.onThread(dropBounding); err != nil { // while there is the right to
		return nil, err
	}

	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil {
		return nil, fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return nil, fmt.Errorf("no new privileges: %w", err)
	}
	if err := clearCapabilities(); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("not dumpable: %w", err)
	}
	if err := tools.RestrictAllThreads(); err != nil {
		return nil, err
	}
	noExec := s.Policy.Profile == "readonly"
	if err := seccomp.InstallAllThreads(seccomp.Options{NoExecute: noExec}); err != nil {
		return nil, err
	}
	err = la.onThread(func() error {
		if err := commands.RestrictThread(); err != nil {
			return err
		}
		return seccomp.InstallThread(seccomp.Options{Launcher: true, Thread: uint32(unix.Gettid()), NoExecute: noExec})
	})
	if err != nil {
		return nil, err
	}
	reserveThreads()
	return la, nil
}

// reserveThreads makes the threads that the Worker will ever need while the
// limit on processes has room: a runtime that cannot make one when commands
// have used the limit up ends the program.
func reserveThreads() {
	const processors = 4
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), processors))
	var standing sync.WaitGroup
	release := make(chan struct{})
	for range limits.WorkerThreads {
		standing.Add(1)
		go func() {
			runtime.LockOSThread()
			standing.Done()
			<-release
			runtime.UnlockOSThread() // the thread stays with the runtime
		}()
	}
	standing.Wait()
	close(release)
}

// ruleset builds one Landlock layer inside the finished tree.
func ruleset(abi int, l *layout, translate func(scope.Capability) landlock.Access, scoped bool) (*landlock.Ruleset, error) {
	type grant struct {
		path   string
		access landlock.Access
	}
	readable := translate(scope.R)
	grants := []grant{
		{"/etc", readable}, {"/proc", readable},
		{"/dev", landlock.Device},
		{"/dev/shm", translate(scope.R | scope.W | scope.D)},
		{l.scratch, translate(scope.All)},
	}
	if l.listable {
		grants = append(grants, grant{"/", landlock.List})
	}
	for _, p := range systemTrees {
		grants = append(grants, grant{p, translate(scope.R | scope.X)})
	}
	for _, a := range l.areas {
		grants = append(grants, grant{a.path, translate(a.cap)})
	}
	var rules []landlock.Rule
	defer func() {
		for _, r := range rules {
			unix.Close(r.FD)
		}
	}()
	for _, g := range grants {
		fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // nothing there to grant
		}
		if err != nil {
			return nil, fmt.Errorf("landlock: open %s: %w", g.path, err)
		}
		rules = append(rules, landlock.Rule{FD: fd, Access: g.access})
	}
	return landlock.Build(abi, rules, scoped)
}

// dropBounding empties the calling thread's bounding set, so that nothing it
// starts can ever hold a capability. The Worker's other threads start nothing.
func dropBounding() error {
	for c := 0; c <= lastCapability(); c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("drop bounding capability %d: %w", c, err)
		}
	}
	return nil
}

func lastCapability() int {
	text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return n
		}
	}
	return unix.CAP_LAST_CAP
}

func clearCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := allThreads(unix.SYS_CAPSET, ptr(&header), ptr(&none[0]), 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	return nil
}

// allThreads runs one system call on every thread of the process.
func allThreads(nr, a1, a2, a3 uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(nr, a1, a2, a3, 0, 0, 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
		return errors.New("this program was built with cgo, which cannot confine all its threads: build it with CGO_ENABLED=0")
	}
	return errno
}

func ptr[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }
