package act

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processes are acts on others: the first argument is a process id, or
// "parent".
func processes() map[string]func([]string) error {
	out := map[string]func([]string) error{
		"inherited":    inherited,
		"has-variable": hasVariable,
		"kill":         func(a []string) error { return unix.Kill(process(a[0]), unix.Signal(number(a[1]))) },
		"attach":       func(a []string) error { return attach(process(a[0])) },
		"trace-me":     func([]string) error { return call([]string{fmt.Sprint(unix.SYS_PTRACE), "0"}) },
		"peek":         func(a []string) error { return peek(process(a[0])) },
		"take-handle":  func(a []string) error { return takeHandle(process(a[0])) },
		"of-process": func(a []string) error { // a file of /proc/PID
			return read(fmt.Sprintf("/proc/%d/%s", process(a[0]), a[1]))
		},
		"look-into": func(a []string) error { return lookInto(fmt.Sprintf("/proc/%d/%s", process(a[0]), a[1])) },
		"limit-process": func(a []string) error {
			limit := unix.Rlimit{Cur: 64, Max: 4096}
			return unix.Prlimit(process(a[0]), unix.RLIMIT_NOFILE, &limit, nil)
		},
		"slow-process": func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, process(a[0]), 19) },
		"others": func(a []string) error { // is any process of the machine's in sight?
			entries, err := os.ReadDir("/proc")
			if err != nil {
				return err
			}
			for _, e := range entries {
				if pid, err := strconv.Atoi(e.Name()); err != nil || pid == 1 || pid == os.Getpid() {
					continue
				}
				if text, err := os.ReadFile("/proc/" + e.Name() + "/comm"); err == nil && string(text) == a[0]+"\n" {
					return nil
				}
			}
			return errors.New("not in sight")
		},
		"find-segment": func(a []string) error { _, err := unix.SysvShmGet(int(number(a[0])), 0, 0); return err },
		"survive":      survive,
		"later":        later,
	}
	for _, way := range []string{"queue", "thread", "pidfd", "owner", "owner-ex", "owner-ioctl"} {
		out["signal-"+way] = func(a []string) error { return signalThreads(way, process(a[0]), int(number(a[1]))) }
	}
	return out
}

func process(word string) int {
	if word == "parent" {
		return os.Getppid()
	}
	return int(number(word))
}

// lookInto finds out what any entry of a directory of /proc says; the numbers
// of descriptors alone say nothing.
func lookInto(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	last := errors.New("nothing in it")
	for _, e := range entries {
		path := dir + "/" + e.Name()
		if _, last = os.Readlink(path); last == nil {
			return nil
		}
		if last = read(path); last == nil {
			return nil
		}
	}
	return last
}

func attach(pid int) error {
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return nil
}

func peek(pid int) error {
	var b [8]byte
	local := []unix.Iovec{{Base: &b[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
	_, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if errors.Is(err, unix.EFAULT) { // it may be looked at, there is nothing at that place
		err = nil
	}
	return err
}

func takeHandle(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

// signalThreads sends sig, as far as possible as if the kernel had done it, to
// every thread of pid.
func signalThreads(way string, pid, sig int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	last := errors.New("no thread")
	for _, entry := range threads {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			return err
		}
		if last = signalAs(way, tid, sig); last == nil {
			return nil
		}
	}
	return last
}

func signalAs(way string, tid, sig int) error {
	var info [128]byte
	binary.NativeEndian.PutUint32(info[:], uint32(sig))
	binary.NativeEndian.PutUint32(info[8:], ^uint32(0)) // SI_QUEUE
	switch way {
	case "queue":
		_, _, e := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(tid), uintptr(sig), uintptr(unsafe.Pointer(&info)))
		return failed(e)
	case "thread":
		_, _, e := unix.Syscall(unix.SYS_TKILL, uintptr(tid), uintptr(sig), 0)
		return failed(e)
	case "pidfd":
		fd, err := unix.Open(fmt.Sprintf("/proc/%d", tid), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, _, e := unix.Syscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(fd), uintptr(sig), uintptr(unsafe.Pointer(&info)), 0, 0, 0)
		return failed(e)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	owner := [2]int32{0, int32(tid)} // F_OWNER_TID
	switch way {
	case "owner":
		_, err = unix.FcntlInt(uintptr(pair[0]), unix.F_SETOWN, tid)
	case "owner-ex":
		_, _, e := unix.Syscall(unix.SYS_FCNTL, uintptr(pair[0]), 15, uintptr(unsafe.Pointer(&owner)))
		err = failed(e)
	default:
		err = unix.IoctlSetPointerInt(pair[0], 0x8901, tid)
	}
	if err != nil {
		return err
	}
	const setSignal = 10 // F_SETSIG
	if _, err := unix.FcntlInt(uintptr(pair[0]), setSignal, sig); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK); err != nil {
		return err
	}
	_, err = unix.Write(pair[1], []byte("x"))
	return err
}

// surviveDelay is when a survivor shows itself.
const surviveDelay = 400 * time.Millisecond

// survive leaves somebody behind who leaves its command's session, its parent
// and its output, and writes the named file later: with "twice", a grandchild.
func survive(a []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{Word, "later", a[0]}
	if len(a) > 1 && a[1] == "twice" {
		args = []string{Word, "survive", a[0]}
	}
	c := exec.Command(self, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	if len(a) > 1 {
		return c.Wait()
	}
	return nil
}

func later(a []string) error {
	time.Sleep(surviveDelay)
	return os.WriteFile(filepath.Clean(a[0]), []byte("alive"), 0o600)
}
