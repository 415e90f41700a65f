// Package limits bounds what a Task's commands use: fences by rlimit and
// cgroup, exact limits by supervision.
//
// The one rule to keep in mind: a limit counts processes, not threads (SD-28),
// and what stopped a command is always named.
package limits

import (
	"fmt"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/ablation"
)

// fenceFactor is how much coarser than the exact process limit the fence is:
// the kernel counts threads (C-87).
const fenceFactor = 32

// WorkerThreads is how many threads the Worker keeps for itself; they count
// within the fence, which has room for twice as many.
const WorkerThreads = 12

// Fence returns the coarse bound on processes and threads together.
func Fence(processes int) int { return processes*fenceFactor + 2*WorkerThreads }

// openFiles is the descriptor limit of commands.
const openFiles = 4096

// Rlimits sets the rlimits of this process and all it will start: no core
// dumps (the limit 1 also stops a piped handler of the host), open files, file
// size where the policy names one, and, with fence, processes and threads.
func Rlimits(r policy.Resources, fence bool) error {
	set := func(name string, which int, v uint64) error {
		if ablation.Off("rlimit " + name) {
			return nil
		}
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("limit %s: %w", name, err)
		}
		return nil
	}
	if err := set("core", unix.RLIMIT_CORE, 1); err != nil {
		return err
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("limit open files: %w", err)
	}
	if err := set("open files", unix.RLIMIT_NOFILE, min(files.Max, openFiles)); err != nil {
		return err
	}
	if r.FileSizeBytes > 0 {
		if err := set("file size", unix.RLIMIT_FSIZE, uint64(r.FileSizeBytes)); err != nil {
			return err
		}
	}
	if fence && r.Processes > 0 && !ablation.Off("fence") {
		return set("processes", unix.RLIMIT_NPROC, uint64(Fence(r.Processes)))
	}
	return nil
}
