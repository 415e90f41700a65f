package act

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// files are acts on names; the first argument is the one that is attacked.
func files() map[string]func([]string) error {
	return map[string]func([]string) error{
		"read":      func(a []string) error { return read(a[0]) },
		"read-path": func(a []string) error { return readByHandle(a[0]) },
		"list":      func(a []string) error { return list(a[0]) },
		"stat":      func(a []string) error { _, err := os.Stat(a[0]); return err },
		"chdir":     func(a []string) error { return os.Chdir(a[0]) },
		"write":     func(a []string) error { return change(a[0], os.O_WRONLY) },
		"append":    func(a []string) error { return change(a[0], os.O_WRONLY|os.O_APPEND) },
		"truncate":  func(a []string) error { return os.Truncate(a[0], 0) },
		"create":    func(a []string) error { return os.WriteFile(a[0]+"/made", []byte("x"), 0o600) },
		"make":      func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o600) },
		"make-all": func(a []string) error {
			if err := os.MkdirAll(filepath.Dir(a[0]), 0o755); err != nil {
				return err
			}
			return os.WriteFile(a[0], []byte("x"), 0o600)
		},
		"mkdir":     func(a []string) error { return os.Mkdir(a[0]+"/made-dir", 0o755) },
		"mkdir-all": func(a []string) error { return os.MkdirAll(a[0], 0o755) },
		"symlink":   func(a []string) error { return os.Symlink("/etc", a[0]+"/made-link") },
		"fifo":      func(a []string) error { return unix.Mkfifo(a[0]+"/made-fifo", 0o600) },
		"socket-file": func(a []string) error {
			return unix.Mknod(a[0]+"/made-socket", unix.S_IFSOCK|0o600, 0)
		},
		"remove":    func(a []string) error { return os.Remove(a[0]) },
		"rename":    func(a []string) error { return os.Rename(a[0], a[1]) },
		"exchange":  func(a []string) error { return exchange(a[0], a[1]) },
		"replace":   func(a []string) error { return replace(a[0], a[1]) },
		"link":      func(a []string) error { return os.Link(a[0], a[1]) },
		"link-read": func(a []string) error { return errors.Join(os.Link(a[0], a[1]), read(a[1])) },
		"link-write": func(a []string) error {
			return errors.Join(os.Link(a[0], a[1]), change(a[1], os.O_WRONLY))
		},
		"link-over": func(a []string) error { // a link takes the place of what stands there
			if err := os.Symlink("/etc/passwd", a[1]); err != nil {
				return err
			}
			return os.Rename(a[1], a[0])
		},
		"move-and-remake": func(a []string) error { // the parent away, and another in its place
			if err := os.Rename(filepath.Dir(a[0]), a[1]); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(a[0]), 0o755); err != nil {
				return err
			}
			return os.WriteFile(a[0], []byte("x"), 0o755)
		},
		"move-and-read": func(a []string) error {
			if err := os.Rename(filepath.Dir(a[0]), a[1]); err != nil {
				return err
			}
			return read(filepath.Join(a[1], filepath.Base(a[0])))
		},
		"chmod": func(a []string) error { return chmod(a[0], 0o777) },
		"same-mode": func(a []string) error {
			info, err := os.Stat(a[0])
			if err != nil {
				return err
			}
			return os.Chmod(a[0], info.Mode().Perm())
		},
		"chown": func(a []string) error { return os.Chown(a[0], os.Getuid(), os.Getgid()) },
		"touch": func(a []string) error { return os.Chtimes(a[0], time.Unix(1, 0), time.Unix(1, 0)) },
		"set-attribute": func(a []string) error {
			return unix.Setxattr(a[0], "user.sunaba", []byte("x"), 0)
		},
		"set-flags":   func(a []string) error { return setFlags(a[0]) },
		"set-user-id": func(a []string) error { return chmod(a[0], os.ModeSetuid|0o755) },
		"watch": func(a []string) error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, a[0], unix.IN_MODIFY|unix.IN_CREATE)
			return err
		},
		"copy-range": func(a []string) error { return copyRange(a[0], a[1]) },
		"map-write":  func(a []string) error { return mapWrite(a[0]) },
	}
}

func read(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		err = errors.New("nothing in it")
	}
	return err
}

// readByHandle opens the name without asking to read and reads through /proc.
func readByHandle(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return read(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func list(path string) error {
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) == 0 {
		err = errors.New("lists as empty")
	}
	return err
}

func change(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Close())
}

func replace(path, spare string) error {
	if err := os.WriteFile(spare, []byte("bad"), 0o755); err != nil {
		return err
	}
	return os.Rename(spare, path)
}

func exchange(a, b string) error {
	if err := os.WriteFile(b, []byte("bad"), 0o755); err != nil {
		return err
	}
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func chmod(path string, mode os.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(os.ModeSetuid|os.ModePerm) != mode {
		err = fmt.Errorf("the mode is %v", info.Mode())
	}
	return err
}

// setFlags sets the flag "no dump" of a file.
func setFlags(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const noDump = 0x40
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, noDump)
}

func copyRange(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	n, err := unix.CopyFileRange(int(in.Fd()), nil, int(out.Fd()), nil, 16, 0)
	if err == nil && n == 0 {
		err = errors.New("nothing copied")
	}
	return err
}

func mapWrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	m[0] = 'x'
	return unix.Munmap(m)
}

// inherited reports a descriptor of a file that this program did not open.
func inherited([]string) error {
	for fd := 3; fd < 256; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			return nil
		}
	}
	return errors.New("no descriptor of a file was inherited")
}

func hasVariable(a []string) error {
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, a[0]+"=") {
			return nil
		}
	}
	return errors.New("not inherited")
}
