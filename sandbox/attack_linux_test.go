package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sunaba/internal/attack/act"
)

// attackWord as the first argument makes the test binary an attacker: it tries
// one thing and exits with 0 exactly when it succeeded. The same binary runs
// inside the sandbox and, as the twin, outside.
const attackWord = act.Word

// attacks are acts that succeed on an ordinary process. Each returns nil when
// it succeeded.
var attacks = map[string]func(args []string) error{
	"clone-newuser": func([]string) error { return cloneNewUser() },
	"socket-inet":   func([]string) error { return socket(unix.AF_INET, unix.SOCK_STREAM) },
	"socket-unix":   func([]string) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) },
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
	"ptrace": func([]string) error { return answered(unix.SYS_PTRACE, unix.PTRACE_TRACEME) },
	"keyctl": func([]string) error { return answered(unix.SYS_KEYCTL, 0, ^uintptr(2), 1) },
	"read":   func(args []string) error { _, err := os.ReadFile(args[0]); return err },
	"write":  func(args []string) error { return overwrite(args[0]) },
	"chmod":  func(args []string) error { return os.Chmod(args[0], 0o777) },
	"unknown-syscall": func([]string) error {
		_, _, e := unix.Syscall(500, 0, 0, 0)
		if e == unix.ENOSYS {
			return errors.New("ENOSYS")
		}
		return fail(e)
	},
}

// attack does one of this package's own acts, or one of the adversarial suite's.
func attack(args []string) int {
	do, ok := attacks[args[0]]
	if !ok {
		return act.Main(args, os.Stdout)
	}
	if err := do(args[1:]); err != nil {
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

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
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
