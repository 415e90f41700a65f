package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/sandbox/internal/landlock"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/seccomp"
	"sunaba/sandbox/internal/thread"
	"sunaba/scope"
)

// probeBound is how long it may take to find out whether there are namespaces.
const probeBound = 5 * time.Second

// Confinement says by what e is enforced on this host. Where there are user
// namespaces, or e lets programs start, that is policy.ByNamespaces, whose
// absence Probe tells; else policy.ByLandlock.
func Confinement(e *policy.Effective) policy.Confinement {
	if !startsNothing(e) {
		return policy.ByNamespaces
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeBound)
	defer cancel()
	if tryNamespaces(ctx) == nil {
		return policy.ByNamespaces
	}
	return policy.ByLandlock
}

// spawnPlain starts the Worker as an ordinary child. Root's would be root for
// every file outside: it becomes the owner of the workspace, or is refused.
func (s *Sandbox) spawnPlain(id identity) error {
	if id.outer == 0 {
		return errors.New("without user namespaces root's files cannot be worked on: start agent-mcp as an ordinary user")
	}
	id.inner, id.innerGroup = id.outer, id.outerGroup
	theirs, err := s.prepareWorker(id)
	if err != nil {
		return err
	}
	defer theirs.Close()
	s.cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if err := s.startHeld(); err != nil {
		s.cmd = nil
		return fmt.Errorf("start the Worker: %w", err)
	}
	return nil
}

// startHeld starts the Worker on a thread that lives until Close: the Worker's
// death is bound to that of the thread, not of the process.
func (s *Sandbox) startHeld() error {
	started := make(chan error)
	s.held = make(chan struct{})
	thread.Own(func() {
		started <- s.cmd.Start()
		<-s.held
	})
	return <-started
}

// confinePlain is confine without namespaces. What is left is a process that can
// start nothing, signal nobody and reach no socket, and whose files Landlock
// picks; it sees names and attributes of all others.
func confinePlain(s *setup) error {
	if err := CloseOnExec(); err != nil {
		return err
	}
	if err := limits.Rlimits(s.Policy.Resources, false); err != nil {
		return err
	}
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	l := newLayout(&s.Policy)
	rules, err := build(abi, &l, plainGrants(&l), true)
	if err != nil {
		return err
	}
	defer rules.Close()
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := clearCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	if err := rules.RestrictAllThreads(); err != nil {
		return err
	}
	return seccomp.InstallAllThreads(seccomp.Options{NoExecute: true, Alone: uint32(os.Getpid()), Unchanging: !writes(&l)})
}

// plainGrants are the rules of a Worker without a tree of its own: the policy's
// areas, and what a program needs to know of time zones.
func plainGrants(l *layout) []grant {
	out := []grant{
		{path: "/etc/localtime", access: landlock.ForFileTools(scope.R)},
		{path: "/usr/share/zoneinfo", access: landlock.ForFileTools(scope.R)},
	}
	for _, a := range l.areas {
		out = append(out, grant{path: a.path, access: landlock.ForFileTools(a.cap &^ scope.X)})
	}
	return out
}

// writes reports whether anything may be written.
func writes(l *layout) bool {
	for _, a := range l.areas {
		if a.cap.Has(scope.W) {
			return true
		}
	}
	return false
}
