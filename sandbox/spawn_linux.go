package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/wire"
)

// namespaces are all that a Task gets of its own.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// identity says as whom the sandbox runs: outside on the host, inside its own
// namespace, where it is never root (C-78).
type identity struct {
	outer, outerGroup int
	inner, innerGroup int
}

// plainUser is the inner id where the outer one is root.
const plainUser = 1000

// identityFor is this user; started as root, the owner of the workspace root.
func identityFor(root string) (identity, error) {
	id := identity{outer: os.Geteuid(), outerGroup: os.Getegid()}
	if id.outer == 0 {
		var st unix.Stat_t
		if err := unix.Stat(root, &st); err != nil {
			return id, fault.Wrap(err, fault.PolicyUnresolvable, "sandbox", "path", root, "source", "")
		}
		id.outer, id.outerGroup = int(st.Uid), int(st.Gid)
	}
	id.inner, id.innerGroup = id.outer, id.outerGroup
	if id.inner == 0 {
		id.inner = plainUser
	}
	if id.innerGroup == 0 {
		id.innerGroup = plainUser
	}
	return id, nil
}

// unfenced reports that RLIMIT_NPROC does not bind (trap 14).
func (id identity) unfenced() bool { return id.outer == 0 }

// spawnFenced is spawn, into a control group where that is the only fence.
func (s *Sandbox) spawnFenced(id identity, o Options) (err error) {
	if !id.unfenced() {
		return s.spawn(id)
	}
	name := fmt.Sprintf("sunaba-%d-%s", os.Getpid(), rand.Text()[:8])
	if s.fence, err = limits.NewCgroup(o.Cgroups, name, o.Policy.Resources); err != nil {
		return err
	}
	return s.fence.Start(func() (int, error) {
		if err := s.spawn(id); err != nil {
			return 0, err
		}
		return s.cmd.Process.Pid, nil
	})
}

// spawn starts this binary again as the init of fresh namespaces, holding one
// end of a socket pair and nothing else of ours.
func (s *Sandbox) spawn(id identity) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket pair: %w", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // for the poller: Close must end a pending read
		return fmt.Errorf("socket pair: %w", err)
	}
	s.socket = os.NewFile(uintptr(pair[0]), "worker")
	theirs := os.NewFile(uintptr(pair[1]), "broker")
	defer theirs.Close()
	s.conn = wire.New(s.socket)

	asRoot := os.Geteuid() == 0
	s.cmd = &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       []string{"sunaba-worker"},
		Env:        []string{},
		Dir:        "/",
		ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:                 namespaces,
			UidMappings:                []syscall.SysProcIDMap{{ContainerID: id.inner, HostID: id.outer, Size: 1}},
			GidMappings:                []syscall.SysProcIDMap{{ContainerID: id.innerGroup, HostID: id.outerGroup, Size: 1}},
			GidMappingsEnableSetgroups: asRoot,
			Setsid:                     true,
			// Kept over exec as a user that is not root, until set-up ends.
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
		},
	}
	if asRoot {
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(id.inner), Gid: uint32(id.innerGroup)}
	}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("start the Worker: %w", err)
	}
	return nil
}
