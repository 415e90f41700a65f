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
			if overmountedProc(err) {
				const what, remedy = "a /proc of its own", "proc"
				return []Mechanism{{Name: "namespaces", Detail: err.Error(), Remedy: remedy}},
					fault.Wrap(err, fault.PlatformUnavailable, "probe", "what", what, "remedy", remedy, "cause", err.Error())
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

// tryNamespaces makes the namespaces alone and uses the rights over them, so
// that their absence is told apart from every other failure: where AppArmor
// restricts them by program they can be made and are of no use.
func tryNamespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "--version")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   namespaces &^ (unix.CLONE_NEWPID | unix.CLONE_NEWNS),
		Unshareflags: unix.CLONE_NEWNS, // and its mounts are made private
		UidMappings:  []syscall.SysProcIDMap{{ContainerID: plainUser, HostID: os.Geteuid(), Size: 1}},
		GidMappings:  []syscall.SysProcIDMap{{ContainerID: plainUser, HostID: os.Getegid(), Size: 1}},
		// Else they end with the start of a program by a user that is not root.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil
}

// setting reads a file of /proc/sys, "" where there is none.
func setting(path string) string {
	text, err := os.ReadFile("/proc/sys/" + path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// namespaceRemedy names what most likely forbids user namespaces here, by what
// the kernel said and by its settings: the end of a locale key
// platform.remedy.*.
func namespaceRemedy(said error, setting func(path string) string) string {
	switch {
	case errors.Is(said, unix.ENOSPC), setting("user/max_user_namespaces") == "0":
		return "max_userns"
	case setting("kernel/unprivileged_userns_clone") == "0":
		return "userns_clone"
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "apparmor"
	case errors.Is(said, unix.ENOSYS), errors.Is(said, unix.EINVAL):
		return "kernel_userns"
	}
	return "container"
}

// overmountedProc reports whether err is that of a new /proc which the kernel
// refuses where parts of the present one are covered (trap 13), as containers
// do.
func overmountedProc(err error) bool {
	return err != nil && strings.Contains(err.Error(), "new proc: ")
}
