package sandbox

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/sandbox/internal/ablation"
	"sunaba/sandbox/internal/limits"
	"sunaba/sandbox/internal/wire"
)

// namespaces are all that a Task gets of its own.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

func ownNamespaces() uintptr {
	flags := uintptr(namespaces)
	for name, flag := range map[string]uintptr{
		"ipc namespace":     unix.CLONE_NEWIPC,
		"network namespace": unix.CLONE_NEWNET, "cgroup namespace": unix.CLONE_NEWCGROUP,
	} {
		if ablation.Off(name) {
			flags &^= flag
		}
	}
	return flags
}

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

// groupName returns a name for a control group that no other has.
func groupName() string { return fmt.Sprintf("sunaba-%d-%s", os.Getpid(), rand.Text()[:8]) }

// spawnGrouped is spawn, with the Task's control groups. It returns how many
// files of theirs the Worker was given.
func (s *Sandbox) spawnGrouped(id identity, o Options) (given int, err error) {
	fenced := id.unfenced() && !ablation.Off("fence")
	if s.groups, err = limits.NewGroups(o.Cgroups, groupName(), o.Policy.Resources, fenced); err != nil {
		return 0, err
	}
	files, err := s.groups.Files()
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	return len(files), s.spawn(id, o.Policy.Network.Mode != "none", files)
}

// spawn starts this binary again as the init of fresh namespaces, in the Task's
// control groups, holding ends of socket pairs, the given files and nothing else
// of ours.
func (s *Sandbox) spawn(id identity, networked bool, given []*os.File) error {
	theirs, err := s.prepareWorker(id)
	if err != nil {
		return err
	}
	defer theirs.Close()
	attr := s.cmd.SysProcAttr
	// Kept over exec as a user that is not root, until set-up ends.
	caps := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if networked {
		ours, theirs, err := socketPair(unix.SOCK_SEQPACKET)
		if err != nil {
			return err
		}
		defer ours.Close()
		defer theirs.Close()
		c, err := net.FileConn(ours)
		if err != nil {
			return fmt.Errorf("socket pair: %w", err)
		}
		s.doors = c.(*net.UnixConn)
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, theirs)
		caps = append(caps, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_RAW)
	}

	s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, given...)
	attr.Cloneflags = ownNamespaces()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id.inner, HostID: id.outer, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id.innerGroup, HostID: id.outerGroup, Size: 1}}
	attr.GidMappingsEnableSetgroups = os.Geteuid() == 0
	attr.AmbientCaps = caps
	if err := s.groups.Start(s.cmd); err != nil {
		s.cmd = nil
		return fmt.Errorf("start the Worker: %w", err)
	}
	return nil
}

// prepareWorker makes the socket pair and, in s.cmd, what the two ways of
// starting the Worker have in common: this binary again, with an end of that
// pair, which the caller closes, and nothing else of ours.
func (s *Sandbox) prepareWorker(id identity) (theirs *os.File, err error) {
	s.socket, theirs, err = socketPair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	s.conn = wire.New(s.socket)
	s.cmd = &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        append([]string{"sunaba-worker"}, ablation.Arguments()...),
		Env:         []string{},
		Dir:         "/",
		ExtraFiles:  []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if os.Geteuid() == 0 {
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(id.inner), Gid: uint32(id.innerGroup)}
	}
	return theirs, nil
}

// socketPair returns two ends of which ours waits without blocking a thread:
// Close ends a pending read.
func socketPair(kind int) (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(pair[0], true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "broker"), nil
}
