package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/limits"
	"sunaba/scope"
)

// confine turns this fresh process into the Task's Worker. The order matters:
// sources are opened before the new root hides them, /proc is mounted while
// the host's is still visible, and rights are given up last.
func confine(s *setup, r *reporter) (Runner, error) {
	l := newLayout(&s.Policy)
	l.locked = append(l.locked, s.Covers...)
	l.emptyRepository = slices.ContainsFunc(s.Covers, func(p string) bool { return path.Base(p) == ".git" })
	if err := CloseOnExec(); err != nil {
		return nil, err
	}
	memory, err := limits.OpenMemory(s.firstFree(), s.MemoryFiles)
	if err != nil {
		return nil, err
	}
	net := newNetwork(s.Policy.Network, s.IPv6)
	if err := net.open(s, r); err != nil {
		return nil, err
	}
	flat, err := newFlats(&l, &s.Policy)
	if err != nil {
		return nil, err
	}
	if err := buildTree(s, &l, flat, net.hosts()); err != nil {
		return nil, err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return nil, fmt.Errorf("set host name: %w", err)
	}
	watchSignals()
	if err := limits.Rlimits(s.Policy.Resources, !s.NoFence); err != nil {
		return nil, err
	}
	la, err := dropRights(s, &l, flat, memory, r)
	if err != nil {
		return nil, err
	}
	la.disks, err = limits.WatchDisks(writable(&s.Policy))
	return la, err
}

// writable returns the roots in which commands can write.
func writable(e *policy.Effective) (paths []string) {
	for _, r := range e.Roots {
		if r.Capability&scope.W != 0 {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// watchSignals receives every signal that would end a Go program, so that none
// ends PID 1 (trap 10). They are not ignored: commands would inherit that. To
// receive all others as well would be the dearest step of the whole set-up.
func watchSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGHUP, unix.SIGINT, unix.SIGTERM,
		unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGSTKFLT, unix.SIGSYS,
		unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV)
	go func() {
		for range c { // nothing to do: the broker's socket is the only master
		}
	}()
}
