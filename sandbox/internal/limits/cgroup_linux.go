package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
)

// Journal notes a control group before it is made and after it is gone.
type Journal interface {
	Add(path string) error
	Retire(path string) error
}

// Cgroup is the coarse fence on processes where RLIMIT_NPROC does not bind.
type Cgroup struct {
	path    string
	journal Journal
}

// pidsRoots are where a pids controller may be: version 1's own hierarchy,
// version 2's unified one.
var pidsRoots = []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}

// NewCgroup makes a control group with a pids limit; name must be unique on
// this machine. A nil journal is allowed only where nothing must survive a
// crash.
func NewCgroup(j Journal, name string, r policy.Resources) (*Cgroup, error) {
	root, err := pidsRoot()
	if err != nil {
		return nil, err
	}
	c := &Cgroup{path: filepath.Join(root, name), journal: j}
	if j != nil {
		if err := j.Add(c.path); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(c.path, 0o755); err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	if err := c.write("pids.max", Fence(r.Processes)); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// Start calls start, which starts a process and returns its id, and puts that
// process into the group before Start returns. Where the kernel lets threads of
// one process be in different groups (version 1), the process is born there:
// moving a process costs a wait for every processor, moving oneself does not.
func (c *Cgroup) Start(start func() (pid int, err error)) (err error) {
	if _, err := os.Stat(filepath.Join(c.path, threads)); err != nil {
		pid, err := start()
		if err != nil {
			return err
		}
		return c.write("cgroup.procs", pid)
	}
	onDyingThread(func() {
		if err = c.write(threads, 0); err == nil { // 0: the thread that writes
			_, err = start()
		}
	})
	return err
}

// threads is version 1's file of the group's threads.
const threads = "tasks"

// onDyingThread runs f on a thread that ends with it, so that nothing runs on
// in what f has moved the thread into.
func onDyingThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // ends locked: the thread ends
			return
		}
		// The process's first thread never ends: hold it, and any other will do.
		onDyingThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

func (c *Cgroup) write(file string, value int) error {
	if err := os.WriteFile(filepath.Join(c.path, file), []byte(strconv.Itoa(value)), 0); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

func pidsRoot() (string, error) {
	for _, root := range pidsRoots {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, "pids.max")); err == nil || root == pidsRoots[0] {
			return root, nil
		}
		if text, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); err == nil && containsWord(string(text), "pids") {
			return root, nil
		}
	}
	return "", errors.New("control group: no pids controller that can be used")
}

// Remove removes the group once its last process is gone, waiting a bounded
// time for the kernel to let go.
func (c *Cgroup) Remove() error {
	var err error
	for wait := 200 * time.Microsecond; wait < time.Second; wait *= 2 {
		err = os.Remove(c.path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			if c.journal != nil {
				return c.journal.Retire(c.path)
			}
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(wait)
	}
	return fmt.Errorf("control group: %w", err)
}

func containsWord(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if w == word {
			return true
		}
	}
	return false
}
