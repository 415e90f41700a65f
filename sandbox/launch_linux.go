package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/seccomp"
	"sunaba/sandbox/internal/thread"
)

// drainBound is how long the output may go on when nothing is left that could
// write to it.
const drainBound = time.Second

// launcher starts commands from one OS thread that stands under the commands'
// stricter layer and never leaves it; every command inherits it by fork (C-76).
type launcher struct {
	resources policy.Resources
	environ   []string
	inMemory  []string     // the Task's own file systems
	disks     limits.Disks // the host's that commands can write to
	memory    *limits.MemoryGroup
	reserved  chan struct{} // closed when the Worker has all its threads
	reporter  *reporter
	orders    chan func()
	mu        sync.Mutex // one command at a time

	broken error // why no command can be started any more
	flat   *flats
	rules  func() (*landlock.Ruleset, error) // the commands' layer, for what stands there now
	filter func() (*seccomp.Listener, error) // installs the commands' filter on the calling thread
}

// newLauncher returns a launcher with its thread, which stands under nothing of
// its own yet.
func newLauncher(e *policy.Effective, l *layout) *launcher {
	la := &launcher{
		resources: e.Resources, environ: environment(e, l), inMemory: []string{l.scratch, "/dev/shm"},
		reserved: make(chan struct{}),
	}
	la.newThread()
	return la
}

// newThread gives the launcher a fresh thread; the old one ends.
func (la *launcher) newThread() {
	if la.orders != nil {
		close(la.orders)
	}
	orders := make(chan func())
	la.orders = orders
	thread.Own(func() {
		for order := range orders {
			order()
		}
	})
}

// renew replaces the thread by one that stands under rules for what the flat
// areas hold now: a layer cannot be widened.
func (la *launcher) renew() error {
	rules, err := la.rules()
	if err != nil {
		return err
	}
	defer rules.Close()
	la.newThread()
	var refused *seccomp.Listener
	err = la.onThread(func() (err error) {
		if err = la.memory.Join(); err != nil {
			return err
		}
		if err = rules.RestrictThread(); err == nil {
			refused, err = la.filter()
		}
		return err
	})
	if err != nil {
		la.newThread() // nothing ever runs from a thread that is half confined
		la.broken = err
		return err
	}
	la.reporter.hear(refused)
	reserveThreads() // the old one is gone
	return nil
}

// onThread runs f on the launcher's thread.
func (la *launcher) onThread(f func() error) error {
	done := make(chan error, 1)
	la.orders <- func() { done <- f() }
	return <-done
}

// environment is the whole environment of a command (C-79): nothing of the
// host's, and what the policy names. The time zone comes from /etc/localtime.
func environment(e *policy.Effective, l *layout) []string {
	search := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	for _, entry := range e.Entries {
		if entry.RuntimeRoot != "" {
			search = append(search, entry.RuntimeRoot+"/bin")
		}
	}
	vars := map[string]string{
		"PATH": strings.Join(search, ":"), "HOME": l.home(), "TMPDIR": l.scratch,
		"LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
	}
	if l.emptyRepository { // git looks further up, but Go would fail to stamp its builds
		vars["GOFLAGS"] = "-buildvcs=false"
	}
	for k, v := range e.Environment {
		vars[k] = v
	}
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	return out
}

// Run starts c and waits for its end; whatever it started in the background
// ends with it. The returned error means that it could not be started.
func (la *launcher) Run(ctx context.Context, c Command) (Outcome, error) {
	<-la.reserved
	la.mu.Lock()
	defer la.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Outcome{Stopped: "cancelled"}, nil
	}
	if la.broken != nil {
		return Outcome{}, la.broken
	}
	changed, err := la.flat.changed()
	if changed {
		err = la.renew()
	}
	if err != nil {
		return Outcome{}, err
	}
	limit := la.resources.Timeout
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if limit > 0 && timeout > limit {
		timeout = limit
	}

	out, outW, err := os.Pipe()
	if err != nil {
		return Outcome{}, err
	}
	defer out.Close()
	in, feed, err := input(c.Stdin)
	if err != nil {
		outW.Close()
		return Outcome{}, err
	}

	path, files := image(c.Image), []uintptr{in.Fd(), outW.Fd(), outW.Fd()}
	if c.Script { // the kernel gives the interpreter this path: the handle must live on
		path, files = "/proc/self/fd/3", append(files, c.Image.Fd())
	}
	disk := la.disks.Begin()
	began := time.Now()
	var pid int
	err = la.onThread(func() error {
		return la.memory.Starting(func() (err error) {
			pid, err = syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
				Dir: image(c.Dir), Env: la.environ, Files: files,
				Sys: &syscall.SysProcAttr{Setsid: true},
			})
			return err
		})
	})
	in.Close()
	outW.Close()
	if err != nil {
		feed(false)
		return Outcome{}, err
	}
	go feed(true)
	o := la.supervise(ctx, pid, timeout, c.Output, out, disk)
	o.Duration = time.Since(began)
	return o, nil
}

// supervise collects output and waits until everything in the namespace but
// this process is gone.
func (la *launcher) supervise(ctx context.Context, pid int, timeout time.Duration, keep Limit, out io.ReadCloser, disk func() bool) Outcome {
	captured := make(chan Capture, 1)
	go func() { captured <- capture(out, keep) }()

	var once sync.Once
	stopped := ""
	stop := func(why string) {
		once.Do(func() {
			stopped = why
			_ = unix.Kill(-1, unix.SIGKILL) // all but PID 1; nothing left is no failure
		})
	}
	over := make(chan struct{})
	var watchers sync.WaitGroup
	watchers.Go(func() {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			stop("timeout")
		case <-ctx.Done():
			stop("cancelled")
		}
	})
	if !ablation.Off("supervision") {
		w := limits.Watch{Resources: la.resources, Own: la.inMemory, Disk: disk, Memory: la.memory}
		watchers.Go(func() { w.Supervise(over, stop) })
	}

	status, self := reap(pid)
	la.reporter.flush() // what the command tried is told before how it ended
	close(over)
	watchers.Wait()
	o := Outcome{Stopped: stopped}
	if o.Stopped == "" && la.memory.Reached() { // too fast for those who look now and then
		o.Stopped = limits.Memory
	}
	select {
	case o.Output = <-captured:
	case <-time.After(drainBound):
		// Nobody is left, yet the pipe is open: its end was sent through a socket
		// to itself and waits for the kernel to find that out.
		_ = out.Close()
		o.Output = <-captured
	}
	o.ExitCode = exitCode(status)
	if o.Stopped == "" && la.resources.FileSizeBytes > 0 && o.ExitCode == 128+int(unix.SIGXFSZ) {
		o.Stopped = limits.FileSize // by the kernel, the command itself or what it waited for
	}
	// A command that ended in the same instant as a limit did end by itself
	// only when the limit had not been reached.
	o.Ended = self && o.Stopped == ""
	return o
}

// reap waits for the command, then ends and reaps everything else: orphans
// come to PID 1. It is the only waiter in this process.
func reap(pid int) (status syscall.WaitStatus, seen bool) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // ECHILD: nobody is left
			return status, seen
		case got == pid:
			status, seen = ws, true
		}
		if seen && ablation.Off("end of command") {
			return status, seen
		}
		if seen {
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// image names an open handle as a path that only this process and its fresh
// child can follow.
func image(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// input returns what a command reads: the given text, else an empty file.
// feed must be called once: with true to write the text, with false to drop it.
func input(text string) (in *os.File, feed func(bool), err error) {
	if text == "" {
		in, err = os.Open("/dev/null")
		return in, func(bool) {}, err
	}
	in, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return in, func(write bool) {
		if write {
			_, _ = io.WriteString(w, text) // a command may not read its input: EPIPE
		}
		w.Close()
	}, nil
}
