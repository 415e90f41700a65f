package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackWord as the first argument makes the test binary an attacker: it tries
// one thing and exits with 0 exactly when it succeeded. The same binary runs
// inside the sandbox and, as the twin, outside.
const attackWord = "attack"

// attacks are acts that succeed on an ordinary process. Each returns nil when
// it succeeded.
var attacks = map[string]func(args []string) error{
	"unshare-uts":   func([]string) error { return unix.Unshare(unix.CLONE_NEWUTS) },
	"clone-newuser": func([]string) error { return cloneNewUser() },
	"socket-inet":   func([]string) error { return socket(unix.AF_INET, unix.SOCK_STREAM) },
	"socket-inet6":  func([]string) error { return socket(unix.AF_INET6, unix.SOCK_DGRAM) },
	"socket-unix":   func([]string) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) },
	"socket-netlink": func([]string) error {
		return socket(unix.AF_NETLINK, unix.SOCK_RAW)
	},
	"socketpair-dgram": func([]string) error { return pair(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC) },
	"socketpair-high-bits": func([]string) error {
		// The kernel reads an int: high bits must not carry a family past the filter.
		var fds [2]int32
		_, _, e := unix.Syscall6(unix.SYS_SOCKETPAIR, unix.AF_UNIX, uintptr(unix.SOCK_DGRAM)|1<<32, 0, uintptr(unsafe.Pointer(&fds)), 0, 0)
		return fail(e)
	},
	"connect": func(args []string) error {
		c, err := net.Dial("tcp", args[0])
		if err == nil {
			c.Close()
		}
		return err
	},
	"unix-connect": func(args []string) error {
		c, err := net.Dial("unix", args[0])
		if err == nil {
			c.Close()
		}
		return err
	},
	"tiocsti": func([]string) error { return notRefused(0x5412) },
	"tiocsti-high-bits": func([]string) error {
		return notRefused(0x5412 | 1<<32)
	},
	"ptrace":     func([]string) error { return answered(unix.SYS_PTRACE, unix.PTRACE_TRACEME) },
	"keyctl":     func([]string) error { return answered(unix.SYS_KEYCTL, 0, ^uintptr(2), 1) },
	"memfd-exec": func([]string) error { return memfdExec() },
	"read":       func(args []string) error { _, err := os.ReadFile(args[0]); return err },
	"open-all-fds": func([]string) error {
		for fd := 3; fd < 64; fd++ {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return nil
			}
		}
		return errors.New("no descriptor of a file was inherited")
	},
	"environ": func([]string) error {
		if os.Getenv("SUNABA_TEST_SECRET") == "" {
			return errors.New("not inherited")
		}
		return nil
	},
	"sethostname": func([]string) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	},
	"name-to-handle": func(args []string) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0)
		return err
	},
	"personality": func([]string) error { return answered(unix.SYS_PERSONALITY, 0xffffffff) },
	"chroot": func(args []string) error {
		return unix.Chroot("/usr")
	},
	"bind-mount": func(args []string) error {
		return unix.Mount(args[0], args[0], "", unix.MS_BIND, "")
	},
	"hard-link": func(args []string) error { return os.Link(args[0], args[1]) },
	"rename":    func(args []string) error { return os.Rename(args[0], args[1]) },
	"write":     func(args []string) error { return overwrite(args[0]) },
	"create":    func(args []string) error { return os.WriteFile(args[0], []byte("x"), 0o600) },
	"remove":    func(args []string) error { return os.Remove(args[0]) },
	"chmod":     func(args []string) error { return os.Chmod(args[0], 0o777) },
	"mkdir":     func(args []string) error { return os.MkdirAll(args[0], 0o755) },
	"symlink":   func(args []string) error { return os.Symlink("/etc", args[0]) },
	"list": func(args []string) error {
		entries, err := os.ReadDir(args[0])
		if err == nil && len(entries) == 0 {
			err = errors.New("lists as empty")
		}
		return err
	},
	"signal": func(args []string) error {
		var pid, sig int
		if _, err := fmt.Sscan(args[0], &pid); err != nil {
			return err
		}
		if _, err := fmt.Sscan(args[1], &sig); err != nil {
			return err
		}
		return unix.Kill(pid, unix.Signal(sig))
	},
	"limit-parent": func([]string) error {
		limit := unix.Rlimit{Cur: 64, Max: 4096}
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, &limit, nil)
	},
	"unknown-syscall": func([]string) error {
		_, _, e := unix.Syscall(500, 0, 0, 0)
		if e == unix.ENOSYS {
			return errors.New("ENOSYS")
		}
		return fail(e)
	},
	"proc-sys": func(args []string) error {
		f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		return err
	},
}

func attack(args []string) int {
	act, ok := attacks[args[0]]
	if !ok {
		fmt.Println("no such attack:", args[0])
		return 3
	}
	if err := act(args[1:]); err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("succeeded")
	return 0
}

func fail(e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err == nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
	return err
}

// answered reports whether the kernel took the call at all, whatever it said.
func answered(nr uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	_, _, e := unix.Syscall(nr, a[0], a[1], a[2])
	if e == unix.EPERM || e == unix.EACCES {
		return e
	}
	return nil
}

// notRefused sends a terminal request to /dev/null: the kernel answers ENOTTY
// where no filter stands before it.
func notRefused(request uintptr) error {
	f, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, 0); e == unix.EPERM {
		return e
	}
	return nil
}

func cloneNewUser() error {
	pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER|1<<40, 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

func memfdExec() error {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, elf(exitZero)); err != nil {
		return err
	}
	return execute(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func execute(path string) error {
	p, err := os.StartProcess(path, []string{"x"}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
}

// Machine code for the smallest possible programs (amd64): no Go runtime and
// no libc stands between them and the kernel.
var (
	exitZero = []byte{0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05} // exit(0)
	// int80UnshareUser calls i386's unshare(CLONE_NEWUSER) through the old gate
	// and exits with whether it failed.
	int80UnshareUser = []byte{
		0xb8, 0x36, 0x01, 0, 0, // mov eax, 310
		0xbb, 0, 0, 0, 0x10, // mov ebx, CLONE_NEWUSER
		0xcd, 0x80, // int 0x80
		0x31, 0xff, 0x85, 0xc0, 0x40, 0x0f, 0x95, 0xc7, // edi = eax != 0
		0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05, // exit(edi)
	}
)

// elf wraps code into a static executable.
func elf(code []byte) []byte {
	const base, head = 0x400000, 64 + 56
	var b bytes.Buffer
	w := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	w(uint16(2))
	w(uint16(62))
	w(uint32(1))
	w(uint64(base + head))
	w(uint64(64))
	w(uint64(0))
	w(uint32(0))
	w([6]uint16{64, 56, 1, 0, 0, 0})
	size := uint64(head + len(code))
	w(uint32(1))
	w(uint32(5))
	w([6]uint64{0, base, base, size, size, 0x1000})
	b.Write(code)
	return b.Bytes()
}

// self is the test binary's resolved path.
func self() string {
	p, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if p, err = filepath.EvalSymlinks(p); err != nil {
		panic(err)
	}
	return p
}
