package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// NewCgroup makes a control group with a pids limit and moves the process pid
// into it. A nil journal is allowed only where nothing must survive a crash.
func NewCgroup(j Journal, pid int, r policy.Resources) (*Cgroup, error) {
	root, err := pidsRoot()
	if err != nil {
		return nil, err
	}
	c := &Cgroup{path: filepath.Join(root, fmt.Sprintf("sunaba-%d-%d", os.Getpid(), pid)), journal: j}
	if j != nil {
		if err := j.Add(c.path); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(c.path, 0o755); err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	write := func(file, value string) error {
		return os.WriteFile(filepath.Join(c.path, file), []byte(value), 0)
	}
	err = write("pids.max", strconv.Itoa(Fence(r.Processes)))
	if err == nil {
		err = write("cgroup.procs", strconv.Itoa(pid))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control group: %w", err), c.Remove())
	}
	return c, nil
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
	for range 100 {
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
		time.Sleep(10 * time.Millisecond)
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
