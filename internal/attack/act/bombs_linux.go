package act

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bombs take more of something than a Task is given, and hold it for longer
// than supervision needs to see.
func bombs() map[string]func([]string) error {
	return map[string]func([]string) error{
		"fork-many":    func(a []string) error { return holding(func() error { return forkMany(int(number(a[0]))) }) },
		"thread-many":  func(a []string) error { return holding(func() error { return threadMany(int(number(a[0]))) }) },
		"fork-endless": func(a []string) error { return forkEndless(int(number(a[0]))) },
		"memory":       func(a []string) error { return holding(func() error { return memory(int(number(a[0]))) }) },
		"memory-file":  func(a []string) error { return holding(func() error { return memoryFile(int(number(a[0]))) }) },
		"memory-shared": func(a []string) error {
			return holding(func() error { return memoryShared(int(number(a[0]))) })
		},
		"memory-tables": func([]string) error { return holding(memoryTables) },
		"fill":          func(a []string) error { return fill(filepath.Join(a[0], "filler"), int(number(a[1]))) },
		"fill-shared":   func(a []string) error { return fill("/dev/shm/filler", int(number(a[0]))) },
		"fill-inodes":   func(a []string) error { return fillInodes(a[0], int(number(a[1]))) },
		"descriptors":   func(a []string) error { return descriptors(int(number(a[0]))) },
		"last":          func(a []string) error { time.Sleep(time.Duration(number(a[0])) * time.Millisecond); return nil },
		"spin":          func(a []string) error { return spin(time.Duration(number(a[0])) * time.Millisecond) },
	}
}

func holding(do func() error) error {
	err := do()
	if err == nil {
		time.Sleep(400 * time.Millisecond)
	}
	return err
}

// forkMany makes n processes that stand at once.
func forkMany(n int) error {
	for range n {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		switch {
		case e != 0:
			return e
		case pid == 0:
			wait := unix.Timespec{Sec: 1}
			unix.RawSyscall(unix.SYS_NANOSLEEP, pointer(&wait), 0, 0)
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return nil
}

// forkEndless is a bomb proper: every child goes on. It ends after a while by
// itself where nobody ends it, each generation with the time.
func forkEndless(milliseconds int) error {
	end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond)
	for time.Now().Before(end) {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e == 0 && pid == 0 {
			wait := unix.Timespec{Nsec: 1e8}
			unix.RawSyscall(unix.SYS_NANOSLEEP, pointer(&wait), 0, 0)
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return nil
}

// threadMany makes n threads of this process that stand at once. The runtime
// ends the program when it cannot have one.
func threadMany(n int) error {
	var standing sync.WaitGroup
	for range n {
		standing.Add(1)
		go func() {
			runtime.LockOSThread()
			standing.Done()
			select {}
		}()
	}
	standing.Wait()
	return nil
}

func pointer[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

func memory(mib int) error {
	m, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for at := 0; at < len(m); at += 4096 {
		m[at] = 1
	}
	return nil
}

func memoryFile(mib int) error {
	fd, err := unix.MemfdCreate("hog", 0)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for range mib {
		if _, err := unix.Write(fd, chunk); err != nil {
			return err
		}
	}
	return nil
}

// memoryShared takes memory and takes it out of its own tables again.
func memoryShared(mib int) error {
	const piece = 16 << 20
	m, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for at := 0; at+piece <= len(m); at += piece {
		part := m[at : at+piece]
		for i := 0; i < len(part); i += 4096 {
			part[i] = 1
		}
		if err := unix.Madvise(part, unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return nil
}

// memoryTables makes page tables alone, 256 MiB: the one page of zeros stands
// in them all.
func memoryTables() error {
	const reach, perTable = 1 << 37, 2 << 20
	m, err := unix.Mmap(-1, 0, reach, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
		return err
	}
	sum := byte(0)
	for at := 0; at < reach; at += perTable {
		sum += m[at]
	}
	if sum != 0 {
		return errors.New("not zeros")
	}
	return nil
}

func fill(path string, mib int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	chunk := make([]byte, 1<<20)
	for range mib {
		if _, err := f.Write(chunk); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

func fillInodes(dir string, n int) error {
	dir, err := os.MkdirTemp(dir, "inodes")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func descriptors(n int) error {
	for range n {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

func spin(d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
	return nil
}
