package limits

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/thread"
)

// Journal notes a control group before it is made and after it is gone.
type Journal interface {
	Add(path string) error
	Retire(path string) error
}

// workerMemory is what a group may use beyond the policy's limit where the
// Worker has to be in it as well, in bytes.
const workerMemory = 64 << 20

// threads is version 1's file of a group's threads.
const threads = "tasks"

// Groups are the control groups of one Task: the coarse fence on processes
// where RLIMIT_NPROC does not bind, and the limit on memory where this user can
// make such a group. A nil *Groups is none.
type Groups struct {
	journal Journal
	made    []string // what Remove has to remove
	fence   string   // version 1: the Worker is born there
	memory  string   // version 1: the Worker puts those there that start commands
	unified string   // version 2: the Worker and all it starts
	fenced  bool     // processes are limited
	limited bool     // memory is
}

// NewGroups makes what of them this host has. fenced asks for the fence on
// processes, without which it fails; memory is limited where it can be. name
// must be unique on this machine. A nil journal is allowed only where nothing
// must survive a crash.
func NewGroups(j Journal, name string, r policy.Resources, fenced bool) (*Groups, error) {
	return newGroups("", j, name, r, fenced)
}

func newGroups(root string, j Journal, name string, r policy.Resources, fenced bool) (*Groups, error) {
	g := &Groups{journal: j, fenced: fenced}
	var fence, memory place
	var limited bool
	if fenced {
		var ok bool
		if fence, ok = findPlace(root, "pids"); !ok {
			return nil, errors.New("control group: no pids controller that can be used")
		}
	}
	if r.MemoryMiB > 0 && !ablation.Off("memory group") {
		memory, limited = findPlace(root, "memory")
	}
	if fenced && limited && fence.unified && memory.unified { // a process is in one group
		if both, ok := findPlace(root, "pids", "memory"); ok {
			fence, memory = both, both
		} else {
			limited = false
		}
	}
	g.limited = limited
	err := g.make(root, name, r, fence, memory)
	if err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

func (g *Groups) make(root, name string, r policy.Resources, fence, memory place) error {
	bytes := r.MemoryMiB << 20
	if fence.dir != "" {
		path := filepath.Join(root+fence.dir, name)
		if err := g.mkdir(path); err != nil {
			return err
		}
		if err := write(path, "pids.max", Fence(r.Processes)); err != nil {
			return err
		}
		if fence.unified {
			g.unified = path
		} else {
			g.fence = path
		}
	}
	switch {
	case !g.limited:
		return nil
	case memory.unified:
		if g.unified == "" {
			g.unified = filepath.Join(root+memory.dir, name)
			if err := g.mkdir(g.unified); err != nil {
				return err
			}
		}
		return errors.Join(write(g.unified, "memory.max", bytes+workerMemory),
			writeIfThere(g.unified, "memory.swap.max", 0))
	}
	g.memory = filepath.Join(root+memory.dir, name)
	if g.memory != g.fence { // the same where one hierarchy has both
		if err := g.mkdir(g.memory); err != nil {
			return err
		}
	}
	if err := write(g.memory, "memory.limit_in_bytes", bytes); err != nil {
		return err
	}
	return writeIfThere(g.memory, "memory.memsw.limit_in_bytes", bytes)
}

func (g *Groups) mkdir(path string) error {
	if g.journal != nil {
		if err := g.journal.Add(path); err != nil {
			return err
		}
	}
	g.made = append(g.made, path)
	if err := os.Mkdir(path, 0o755); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// Fenced reports whether processes are limited by a group.
func (g *Groups) Fenced() bool { return g != nil && g.fenced }

// Memory names the file that limits memory, "" where none does.
func (g *Groups) Memory() string {
	switch {
	case g == nil || !g.limited:
		return ""
	case g.memory != "":
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

// Files returns the open files by which the Worker knows of the limit on memory
// (see OpenMemory), none where there is no such group. The caller closes them.
func (g *Groups) Files() ([]*os.File, error) {
	switch {
	case g == nil || !g.limited:
		return nil, nil
	case g.memory == "":
		events, err := os.Open(filepath.Join(g.unified, "memory.events"))
		if err != nil {
			return nil, fmt.Errorf("control group: %w", err)
		}
		return []*os.File{events}, nil
	}
	events, err := os.Open(filepath.Join(g.memory, "memory.oom_control"))
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	join, err := os.OpenFile(filepath.Join(g.memory, threads), os.O_WRONLY, 0)
	if err != nil {
		events.Close()
		return nil, fmt.Errorf("control group: %w", err)
	}
	return []*os.File{events, join}, nil
}

// Start starts cmd, the Worker, inside the groups it has to be in from its
// birth: to move a process costs a wait for every processor, to move a single
// thread does not.
func (g *Groups) Start(cmd *exec.Cmd) error {
	switch {
	case g == nil:
		return cmd.Start()
	case g.unified != "":
		dir, err := os.Open(g.unified)
		if err != nil {
			return fmt.Errorf("control group: %w", err)
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		return cmd.Start()
	case g.fence == "":
		return cmd.Start()
	}
	done := make(chan error, 1)
	thread.Own(func() { // nothing may run on in the group
		err := write(g.fence, threads, 0) // 0: the thread that writes
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	})
	return <-done
}

func write[N int | int64](group, file string, value N) error {
	if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(int64(value), 10)), 0o644); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// writeIfThere is write for a file that not every kernel has: that of swap.
func writeIfThere[N int | int64](group, file string, value N) error {
	if _, err := os.Stat(filepath.Join(group, file)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return write(group, file, value)
}

// Remove removes the groups once their last process is gone, waiting a bounded
// time for the kernel to let go.
func (g *Groups) Remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, path := range g.made {
		errs = append(errs, g.remove(path))
	}
	g.made = nil
	return errors.Join(errs...)
}

func (g *Groups) remove(path string) error {
	var err error
	for wait := 200 * time.Microsecond; wait < time.Second; wait *= 2 {
		err = os.Remove(path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			if g.journal != nil {
				return g.journal.Retire(path)
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
