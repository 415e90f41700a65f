package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
)

// Probe tries every mechanism by using it: it makes the policy's sandbox once,
// without placeholders, and takes it down again (SD-27). It returns how far each
// mechanism is there, in the order of the table. Where mechanisms are missing it
// returns those alone, and for each a fault of code platform.unavailable that
// names it and its remedy (a locale key), joined. Any other error is the
// policy's or the Worker's, with no mechanism.
func Probe(ctx context.Context, o Options) ([]Mechanism, error) {
	s, err := try(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			if lacking, why := missing(ctx, mechanisms, o); why != nil {
				return lacking, why
			}
		}
		return nil, err
	}
	out := s.mechanisms()
	if err := s.Close(); err != nil {
		return nil, err
	}
	return out, nil
}

// tries bounds how often a probe begins anew because a placeholder of another
// process (C-75) came or went meanwhile.
const tries = 5

// try starts the sandbox of what exists at present.
func try(ctx context.Context, o Options) (s *Sandbox, err error) {
	whole := o.Policy
	for range tries {
		o.Policy = withoutMissing(whole)
		if s, err = Start(ctx, o); err == nil || ctx.Err() != nil || !errors.Is(err, &fault.Error{Code: fault.PlatformUnsupported}) {
			break
		}
	}
	return s, err
}

// withoutMissing leaves out protected paths that do not exist: a probe must
// leave no trace in the workspace, not even for milliseconds.
func withoutMissing(e policy.Effective) policy.Effective {
	kept := e.Protected[:0:0]
	for _, p := range e.Protected {
		if _, err := os.Lstat(p.Path); err == nil {
			kept = append(kept, p)
		}
	}
	e.Protected = kept
	if e.Scope != nil {
		n := *e.Scope
		n.Deny = n.Deny[:0:0]
		for _, r := range e.Scope.Deny {
			if _, err := os.Lstat(r.Target); err == nil {
				n.Deny = append(n.Deny, r)
			}
		}
		e.Scope = &n
	}
	return e
}

// tryNamespaces makes the namespaces alone, so that their absence is told
// apart from every other failure.
func tryNamespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "--version")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  namespaces &^ unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: plainUser, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: plainUser, HostID: os.Getegid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil
}

// namespaceRemedy names what most likely forbids user namespaces here.
func namespaceRemedy() string {
	for _, knob := range []struct{ file, forbids, remedy string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "userns_clone"},
		{"/proc/sys/user/max_user_namespaces", "0", "max_userns"},
	} {
		text, err := os.ReadFile(knob.file)
		if err == nil && strings.TrimSpace(string(text)) == knob.forbids {
			return knob.remedy
		}
	}
	return "container"
}
