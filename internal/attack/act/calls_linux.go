package act

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are single system calls.
func calls() map[string]func([]string) error {
	return map[string]func([]string) error{
		// call NUMBER ARGUMENT...: succeeds when the kernel has looked at it,
		// whatever it said; the arguments are such that it does nothing.
		"call":          call,
		"clone":         func(a []string) error { return clone(number(a[0])) },
		"clone3":        func(a []string) error { return clone3(uint64(number(a[0]))) },
		"unshare":       func(a []string) error { return unix.Unshare(int(number(a[0]))) },
		"terminal":      func(a []string) error { return terminal(number(a[0])) },
		"own-ioctl":     func([]string) error { return ownIoctl() },
		"special-ioctl": func([]string) error { return specialIoctl() },
		"hostname":      hostname,
		"mount-tmpfs":   func(a []string) error { return unix.Mount("x", a[0], "tmpfs", 0, "") },
		"mount-bind":    func(a []string) error { return unix.Mount(a[0], a[0], "", unix.MS_BIND, "") },
		"mount-proc":    func(a []string) error { return unix.Mount("x", a[0], "proc", 0, "") },
		"new-mount":     func([]string) error { return newMount() },
		"open-tree":     func(a []string) error { return openTree(a[0]) },
		"unmount":       func(a []string) error { return unmount(a[0]) },
		"chroot":        func(a []string) error { return unix.Chroot(a[0]) },
		"handle":        func(a []string) error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0); return err },
		"open-handle":   func(a []string) error { return openHandle(a[0]) },
		"enter":         func(a []string) error { return enter(a[0]) },
		"gain":          func([]string) error { return gain() },
		"raise-limit":   func([]string) error { return raiseLimit() },
		"bounding":      func([]string) error { return bounding() },
		"privileges":    func([]string) error { return privileges() },
		"nice":          func([]string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) },
		"io-uring":      func([]string) error { return ioUring() },
		"key":           func([]string) error { return key() },
		"device":        func(a []string) error { return device(a[0]) },
		"write-setting": func(a []string) error { return writeSetting(a[0]) },
	}
}

func call(args []string) error {
	var a [6]uintptr
	for i, text := range args[1:] {
		a[i] = number(text)
	}
	_, _, e := unix.Syscall6(number(args[0]), a[0], a[1], a[2], a[3], a[4], a[5])
	if refused(e) {
		return e
	}
	return nil
}

func clone(flags uintptr) error {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|flags, 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

func clone3(flags uint64) error {
	arguments := [11]uint64{0: flags, 4: uint64(unix.SIGCHLD)}
	pid, _, e := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&arguments)), unsafe.Sizeof(arguments), 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// terminal sends a terminal's request to /dev/null, where the kernel answers
// ENOTTY when no filter stands before it (trap 2: also with high bits).
func terminal(request uintptr) error {
	f, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, 0); refused(e) {
		return e
	}
	return nil
}

func ownIoctl() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(pair[0], 0x8901, os.Getppid()) // FIOSETOWN
}

// specialIoctl uses a control that only one kind of file has.
func specialIoctl() error {
	f, err := os.Open("/proc/self/ns/user")
	if err != nil {
		return err
	}
	defer f.Close()
	kind, err := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_NSTYPE)
	if err == nil && kind != unix.CLONE_NEWUSER {
		err = fmt.Errorf("kind %#x", kind)
	}
	return err
}

func hostname([]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

func newMount() error {
	fs, err := unix.Fsopen("tmpfs", 0)
	if err != nil {
		return err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	_, err = unix.Fsmount(fs, 0, 0)
	return err
}

func openTree(path string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// unmount takes away a mount of its own making where it may, else any.
func unmount(path string) error {
	_ = unix.Mount("x", path, "tmpfs", 0, "") // refused inside: the next call says so too
	return unix.Unmount(path, unix.MNT_DETACH)
}

func openHandle(path string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// enter goes into a namespace of its own, which is allowed to who may enter
// any: user namespaces are entered by no one who is in them.
func enter(name string) error {
	fd, err := unix.Open("/proc/self/ns/"+name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, 0)
}

// gain looks for a capability in any of its sets.
func gain() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for _, s := range sets {
		if s.Effective|s.Permitted|s.Inheritable != 0 {
			return nil
		}
	}
	return fmt.Errorf("no capability")
}

func bounding() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if r, _, e := unix.Syscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0); e == 0 && r == 1 {
			return nil
		}
	}
	return fmt.Errorf("the bounding set is empty")
}

// privileges reports that a program with set-user-id would be obeyed.
func privileges() error {
	r, _, e := unix.Syscall6(unix.SYS_PRCTL, unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if r == 1 {
		return fmt.Errorf("no new privileges")
	}
	return nil
}

func raiseLimit() error {
	limit := unix.Rlimit{Cur: 64, Max: 4096}
	return unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, &limit, nil)
}

func ioUring() error {
	var params [128]byte
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if e != 0 {
		return e
	}
	return unix.Close(int(fd))
}

func key() error {
	_, err := unix.AddKey("user", "sunaba-attack", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	return err
}

func device(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// writeSetting opens a file of /proc to write and writes nothing.
func writeSetting(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}
