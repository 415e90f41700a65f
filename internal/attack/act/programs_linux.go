package act

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// programs are acts that execute what they should not.
func programs() map[string]func([]string) error {
	return map[string]func([]string) error{
		"execute":        func(a []string) error { return Execute(a[0]) },
		"execute-copy":   func(a []string) error { return executeCopy(a[0], a[1]) },
		"execute-made":   func(a []string) error { return executeMade(filepath.Join(a[0], "made-program")) },
		"execute-script": func(a []string) error { return executeScript(filepath.Join(a[0], "made-script")) },
		"execute-loader": func(a []string) error { return executeLoader(a[0]) },
		"execute-handle": func(a []string) error { return executeHandle(a[0]) },
		"execute-memfd":  func([]string) error { return executeMemfd() },
		"execute-link":   func(a []string) error { return errors.Join(os.Symlink(a[0], a[1]), Execute(a[1])) },
		"map-execute":    func(a []string) error { return mapExecute(a[0]) },
		"int80":          func(a []string) error { return int80(filepath.Join(a[0], "made-int80")) },
	}
}

// Execute starts the program at path, which must end well.
func Execute(path string) error {
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

func executeCopy(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		return err
	}
	return Execute(to)
}

func executeMade(path string) error {
	if err := os.WriteFile(path, Program(exitZero), 0o755); err != nil {
		return err
	}
	defer os.Remove(path) // it may not stand in a tree that is swept
	return Execute(path)
}

func executeScript(path string) error {
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		return err
	}
	return Execute(path)
}

// executeLoader has the dynamic loader start a program that must not be
// executed (trap 7).
func executeLoader(program string) error {
	loaders, err := filepath.Glob("/lib64/ld-linux-*.so.*")
	if err != nil || len(loaders) == 0 {
		return errors.New("no dynamic loader here")
	}
	p, err := os.StartProcess(loaders[0], []string{loaders[0], program}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

func executeHandle(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return Execute(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func executeMemfd() error {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, Program(exitZero)); err != nil {
		return err
	}
	return Execute(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func mapExecute(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	return unix.Munmap(m)
}

// int80 makes a user namespace through the old gate (trap 1).
func int80(path string) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("not on this machine")
	}
	if err := os.WriteFile(path, Program(int80UnshareUser), 0o755); err != nil {
		return err
	}
	return Execute(path)
}

// Machine code for the smallest possible programs: no runtime and no library
// stands between them and the kernel.
var (
	exitZero = map[string][]byte{
		"amd64": {0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05},                // exit(0)
		"arm64": {0, 0, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4}, // exit(0)
	}[runtime.GOARCH]
	// int80UnshareUser calls i386's unshare(CLONE_NEWUSER) and exits with
	// whether it failed.
	int80UnshareUser = []byte{
		0xb8, 0x36, 0x01, 0, 0, // mov eax, 310
		0xbb, 0, 0, 0, 0x10, // mov ebx, CLONE_NEWUSER
		0xcd, 0x80, // int 0x80
		0x31, 0xff, 0x85, 0xc0, 0x40, 0x0f, 0x95, 0xc7, // edi = eax != 0
		0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05, // exit(edi)
	}
	machine = map[string]uint16{"amd64": 62, "arm64": 183}
)

// Program wraps code into a static executable of this machine.
func Program(code []byte) []byte {
	const base, head = 0x400000, 64 + 56
	var b bytes.Buffer
	w := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // into memory
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	w(uint16(2))
	w(machine[runtime.GOARCH])
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

// UnshareByInt80 is a program that makes a user namespace through the old gate of
// amd64, and says whether it could.
func UnshareByInt80() []byte { return Program(int80UnshareUser) }

// ExitZero is the smallest program that ends well.
func ExitZero() []byte { return Program(exitZero) }
