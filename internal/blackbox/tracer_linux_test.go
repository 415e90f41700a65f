package blackbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer follows a program from system call to system call, as a debugger does,
// so that a test can act at an exact place of it without a hook in the product.
// All of it happens on one thread, whose child and tracees the processes are.
type tracer struct {
	// of says how much of a process that was just made is traced; parent is 0
	// for the program itself.
	of func(pid, parent int) extent
	// see is told of each call, at its entry and at its exit; the thread waits
	// until it returns.
	see func(systemCall)

	program  int // the process id of the program itself
	threads  map[int]*thread
	released bool
	status   unix.WaitStatus // of the program, once done is closed
	done     chan struct{}   // closed when all that is traced has ended
}

// extent is how much of a process is traced.
type extent int

const (
	nothing     extent = iota // it runs as ever, and so do its children
	descendants               // it is asked about its children
	calls                     // its calls are seen as well
)

// thread is a traced thread.
type thread struct {
	pid    int // of its process
	extent extent
	inside systemCall // the call it is in
}

// systemCall is a system call of a thread that stands at its entry or its exit.
type systemCall struct {
	pid, tid int
	exit     bool
	nr       uint64
	args     [6]uint64
}

// traceOptions make every descendant a tracee, and let none outlive the test.
const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL |
	unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK

// start starts cmd, which is traced to its end or to release. An error that is
// unix.EPERM says that tracing is not permitted here.
func (t *tracer) start(cmd *exec.Cmd) error {
	t.threads, t.done = map[int]*thread{}, make(chan struct{})
	started := make(chan error)
	tracing <- func() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		err := cmd.Start()
		if err == nil {
			t.program = cmd.Process.Pid
			t.threads[t.program] = &thread{pid: t.program, extent: t.of(t.program, 0)}
			err = t.first()
		}
		started <- err
		if err == nil {
			t.loop()
		}
	}
	return <-started
}

// tracing takes work for threads that do nothing else. They are made before
// anything is started, so that they never wait for a child of someone else's.
var tracing = func() chan func() {
	work := make(chan func())
	for range 4 {
		go func() {
			runtime.LockOSThread()
			for f := range work {
				f()
			}
		}()
	}
	return work
}()

// first awaits the stop at the program's exec and lets it run from there.
func (t *tracer) first() error {
	_, err := unix.Wait4(t.program, nil, unix.WALL, nil)
	if err == nil {
		err = unix.PtraceSetOptions(t.program, traceOptions)
	}
	if err == nil {
		err = t.goOn(t.program, 0)
	}
	if err != nil {
		_ = unix.Kill(t.program, unix.SIGKILL)
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// kill kills a process, and lets all others run on untraced from their next
// stop on. It is called out of see.
func (t *tracer) kill(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL)
	t.released = true
}

func (t *tracer) loop() {
	defer close(t.done)
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // no children: all have ended
		case !ws.Stopped():
			delete(t.threads, tid)
			if tid == t.program {
				t.status = ws
			}
		default:
			t.stopped(tid, ws)
		}
	}
}

// stopped handles one stop and lets the thread go on. That fails only where it
// was killed meanwhile.
func (t *tracer) stopped(tid int, ws unix.WaitStatus) {
	th := t.threads[tid]
	if th == nil {
		th = t.known(tid)
	}
	deliver := 0
	switch sig := ws.StopSignal(); {
	case sig == unix.SIGTRAP|0x80: // a system call
		if !t.released && th.extent == calls {
			t.called(tid, th)
		}
	case sig == unix.SIGTRAP || sig == unix.SIGSTOP: // an event, or how a new tracee begins
	default:
		deliver = int(sig)
	}
	_ = t.goOn(tid, deliver)
}

// goOn lets a stopped thread run, with the signal it is to get.
func (t *tracer) goOn(tid, signal int) error {
	extent := t.threads[tid].extent
	switch {
	case t.released || extent == nothing:
		delete(t.threads, tid)
		_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(signal), 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	case extent == descendants:
		return unix.PtraceCont(tid, signal)
	default:
		return unix.PtraceSyscall(tid, signal)
	}
}

// known takes in a thread that is seen for the first time.
func (t *tracer) known(tid int) *thread {
	th := &thread{pid: numberOf(tid, "Tgid")}
	leader := t.threads[th.pid]
	t.threads[tid] = th
	switch {
	case th.pid == 0: // it has ended already
	case leader != nil:
		th.extent = leader.extent
	default:
		th.extent = t.of(th.pid, numberOf(tid, "PPid"))
	}
	return th
}

// numberOf is a number of a thread's status; 0 when there is none.
func numberOf(tid int, name string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "\n"+name+":\t")
	line, _, _ := strings.Cut(after, "\n")
	n, _ := strconv.Atoi(line)
	return n
}

// called tells see where the thread is.
func (t *tracer) called(tid int, th *thread) {
	var info [88]byte // struct ptrace_syscall_info
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), uintptr(len(info)), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return // killed
	}
	switch info[0] {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		th.inside = systemCall{pid: th.pid, tid: tid, nr: binary.NativeEndian.Uint64(info[24:])}
		for i := range th.inside.args {
			th.inside.args[i] = binary.NativeEndian.Uint64(info[32+8*i:])
		}
		t.see(th.inside)
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		th.inside.exit = true
		t.see(th.inside)
	}
}

// text is the string at an address of the calling process; "" where it cannot
// be read.
func (c systemCall) text(address uint64) string {
	buffer := make([]byte, 4096) // PATH_MAX
	local := unix.Iovec{Base: &buffer[0]}
	room := len(buffer)
	if left := 4096 - int(address%4096); left < room { // what follows the page may not be there
		room = left
	}
	local.SetLen(room)
	n, err := unix.ProcessVMReadv(c.tid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(address), Len: room}}, 0)
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(string(buffer[:n]), "\x00")
	return text
}

// file is what a descriptor of the calling process stands for.
func (c systemCall) file(fd uint64) string {
	link, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.tid, int32(fd)))
	return link
}

// at is the path that a directory's descriptor and a name beneath it give.
func (c systemCall) at(dir, name uint64) string {
	path := c.text(name)
	if strings.HasPrefix(path, "/") {
		return path
	}
	if int32(dir) == unix.AT_FDCWD {
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.tid))
		return cwd + "/" + path
	}
	return c.file(dir) + "/" + path
}
