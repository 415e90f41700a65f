package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/seccomp"
	"sunaba/scope"
)

// dropRights gives up every privilege and starts the launcher. After it the
// Worker holds no capability, cannot regain one, and every thread stands under
// the file tools' Landlock layer and the seccomp filter; the launcher's thread
// under the commands' as well.
func dropRights(s *setup, l *layout, flat *flats, memory *limits.MemoryGroup, r *reporter) (*launcher, error) {
	abi, err := landlock.ABI()
	if err != nil {
		return nil, err
	}
	tools, err := ruleset(abi, l, landlock.ForFileTools, false, nil)
	if err != nil {
		return nil, err
	}
	defer tools.Close()
	noExec := !l.executes
	la := newLauncher(&s.Policy, l)
	la.flat = flat
	la.memory = memory
	la.rules = func() (*landlock.Ruleset, error) { return ruleset(abi, l, landlock.ForCommands, true, flat) }
	la.filter = func() (*seccomp.Listener, error) {
		return seccomp.InstallThread(seccomp.Options{
			Launcher: true, Thread: uint32(unix.Gettid()), NoExecute: noExec,
			Inet: s.Policy.Network.Mode != "none", Unix: s.Policy.Network.UnixSockets == "own",
		})
	}
	commands, err := la.rules()
	if err != nil {
		return nil, err
	}
	defer commands.Close()
	if err := la.onThread(dropBounding); err != nil { // while there is the right to
		return nil, err
	}
	if len(flat.dirs) > 0 { // any thread may become the launcher's next one
		if err := dropBoundingEverywhere(); err != nil {
			return nil, err
		}
	}

	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil {
		return nil, fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return nil, fmt.Errorf("no new privileges: %w", err)
	}
	if ablation.Off("capabilities") {
		// all that were there stay
	} else if err := clearCapabilities(); err != nil {
		return nil, err
	}
	dumpable := uintptr(0)
	if ablation.Off("not dumpable") {
		dumpable = 1
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, dumpable, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("not dumpable: %w", err)
	}
	if ablation.Off("landlock of the Worker") {
		// its mounts and its guard are left
	} else if err := tools.RestrictAllThreads(); err != nil {
		return nil, err
	}
	if err := seccomp.InstallAllThreads(seccomp.Options{NoExecute: noExec}); err != nil {
		return nil, err
	}
	var refused *seccomp.Listener
	err = la.onThread(func() (err error) {
		if err := la.memory.Join(); err != nil {
			return err
		}
		if ablation.Off("landlock of commands") {
			// that of the Worker is left
		} else if err := commands.RestrictThread(); err != nil {
			return err
		}
		refused, err = la.filter()
		return err
	})
	if err != nil {
		return nil, err
	}
	la.reporter = r
	r.serve(refused)
	go func() { // while the broker hears that all stands
		reserveThreads()
		close(la.reserved)
	}()
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

// grant is what one kernel rule gives at or beneath a path.
type grant struct {
	path   string
	access landlock.Access
	file   bool // only while it is no directory and no link
}

// ruleset builds one Landlock layer inside the finished tree. What the layout
// grants without recursion is granted beneath when flat is nil, for whom a
// guard of his own looks to it, else as flat says.
func ruleset(abi int, l *layout, translate func(scope.Capability) landlock.Access, scoped bool, flat *flats) (*landlock.Ruleset, error) {
	readable := translate(scope.R)
	grants := []grant{
		{path: "/etc", access: readable}, {path: "/proc", access: readable},
		{path: "/dev", access: landlock.Device},
		{path: "/dev/shm", access: translate(scope.R | scope.W | scope.D)},
		{path: l.scratch, access: translate(scope.All)},
	}
	if l.listable {
		grants = append(grants, grant{path: "/", access: landlock.List})
	}
	for _, p := range systemTrees {
		grants = append(grants, grant{path: p, access: translate(scope.R | scope.X)})
	}
	for _, a := range l.areas {
		if !a.flat || flat == nil {
			grants = append(grants, grant{path: a.path, access: translate(a.cap)})
		}
	}
	if flat != nil {
		files, err := flat.grants()
		if err != nil {
			return nil, err
		}
		grants = append(grants, files...)
	}
	return build(abi, l, grants, scoped)
}

// build builds a Landlock layer of grants; what does not exist, or is hidden, is
// left out.
func build(abi int, l *layout, grants []grant, scoped bool) (*landlock.Ruleset, error) {
	rules := make([]landlock.Rule, 0, len(grants))
	defer func() {
		for _, r := range rules {
			unix.Close(r.FD)
		}
	}()
	for _, g := range grants {
		flags := unix.O_PATH | unix.O_CLOEXEC
		if g.file {
			flags |= unix.O_NOFOLLOW
		}
		fd, err := unix.Open(g.path, flags, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) && l.hides(g.path) {
			continue // nothing there to grant
		}
		if err != nil {
			return nil, fmt.Errorf("landlock: open %s: %w", g.path, err)
		}
		if g.file && !isFile(fd) { // exchanged since it was looked at
			unix.Close(fd)
			continue
		}
		rules = append(rules, landlock.Rule{FD: fd, Access: g.access})
	}
	return landlock.Build(abi, rules, scoped)
}

// isFile reports whether fd is neither a directory nor a link.
func isFile(fd int) bool {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind != unix.S_IFDIR && kind != unix.S_IFLNK
}

// dropBounding empties the calling thread's bounding set, so that nothing it
// starts can ever hold a capability. The Worker's other threads start nothing.
func dropBounding() error {
	if ablation.Off("bounding set") {
		return nil
	}
	const most = 64 // bits of a set
	for c := range uintptr(most) {
		_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0) // none of them waits
		switch {
		case errno == unix.EINVAL && c > unix.CAP_CHECKPOINT_RESTORE:
			return nil // past the last one of this kernel
		case errno != 0:
			return fmt.Errorf("drop bounding capability %d: %w", c, errno)
		}
	}
	return nil
}

// dropBoundingEverywhere is dropBounding for every thread.
func dropBoundingEverywhere() error {
	for c := uintptr(0); ; c++ {
		switch err := allThreads(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); {
		case err == nil:
		case errors.Is(err, unix.EINVAL) && c > unix.CAP_CHECKPOINT_RESTORE:
			return nil
		default:
			return fmt.Errorf("drop bounding capability %d: %w", c, err)
		}
	}
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
