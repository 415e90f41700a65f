package seccomp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary confine itself and report in a child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "child-") {
		if err := child(os.Args[1]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("reached the end")
		return
	}
	os.Exit(m.Run())
}

// child installs a commands' filter on one thread and tries a socket there.
func child(word string) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- func() error {
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err
			}
			l, err := InstallThread(Options{Launcher: true, Inet: word == "child-inet"})
			if err != nil {
				return err
			}
			if l == nil {
				return errors.New("no listener")
			}
			switch word {
			case "child-controls":
				return tryControls()
			case "child-gone":
				if err := unix.Close(l.fd); err != nil {
					return err
				}
				return expect(unix.ENOSYS, unix.AF_INET, unix.SOCK_STREAM)
			case "child-second": // of the same thread: a filter has one listener at most
				second, err := InstallThread(Options{Launcher: true})
				if err != nil || second != nil {
					return fmt.Errorf("second listener %v, %v", second, err)
				}
				return expect(unix.EACCES, unix.AF_INET, unix.SOCK_STREAM)
			}
			told := make(chan Socket, 1)
			go func() { _ = l.Serve(func(s Socket) { told <- s }) }()
			if word == "child-inet" {
				if err := expect(0, unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC); err != nil {
					return err
				}
			}
			if err := expect(unix.EACCES, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC); err != nil {
				return err
			}
			if s := <-told; s.String() != "inet dgram" {
				return fmt.Errorf("told of %s", s)
			}
			return nil
		}()
		select {} // its thread never does anything else
	}()
	return <-result
}

// tryControls: what is known of every file passes, what only one file system
// knows does not reach it; nobody's signals can be led to the Worker's group.
func tryControls() error {
	dir, err := os.Open(".")
	if err != nil {
		return err
	}
	for name, row := range map[string]struct {
		request uintptr
		want    unix.Errno
	}{
		"BTRFS_IOC_SUBVOL_CREATE":           {0x5000940e, unix.ENOTTY},
		"BTRFS_IOC_SNAP_CREATE_V2":          {0x50009417, unix.ENOTTY},
		"BTRFS_IOC_SNAP_DESTROY":            {0x5000940f, unix.ENOTTY},
		"BTRFS_IOC_SNAP_DESTROY, high bits": {0xf00000005000940f, unix.ENOTTY},
		"BCH_IOCTL_SUBVOLUME_CREATE":        {0x4020bc10, unix.ENOTTY},
		"OCFS2_IOC_REFLINK":                 {0x40186f04, unix.ENOTTY},
		"NS_GET_NSTYPE":                     {unix.NS_GET_NSTYPE, unix.ENOTTY},
		"FS_IOC_ENABLE_VERITY":              {0x40806685, unix.ENOTTY},
		"TIOCSTI":                           {tiocsti, unix.EPERM},
		"FIGETBSZ":                          {0x00000002, 0},
	} {
		var answer [4096]byte
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), row.request, uintptr(unsafe.Pointer(&answer)))
		if errno != row.want {
			return fmt.Errorf("%s: %v, want %v", name, errno, row.want)
		}
	}
	var pair [2]int
	if err := unix.Pipe(pair[:]); err != nil {
		return err
	}
	for _, owner := range []int{-1, 1} {
		if _, err := unix.FcntlInt(uintptr(pair[0]), unix.F_SETOWN, owner); err != unix.EPERM {
			return fmt.Errorf("F_SETOWN %d: %v", owner, err)
		}
	}
	_, err = unix.FcntlInt(uintptr(pair[0]), unix.F_SETOWN, os.Getpid())
	return err
}

func expect(want unix.Errno, family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	if (want == 0 && err != nil) || (want != 0 && !errors.Is(err, want)) {
		return fmt.Errorf("socket %d %d: got %v, want %v", family, kind, err, want)
	}
	return nil
}

// TestListener: a refused socket is told and answered; when nobody answers any
// more, nobody waits either; where another filter has the listener, sockets are
// refused all the same.
func TestListener(t *testing.T) {
	for _, word := range []string{"child-told", "child-controls", "child-inet", "child-gone", "child-second"} {
		out, err := exec.CommandContext(t.Context(), "/proc/self/exe", word).CombinedOutput()
		if err != nil || string(out) != "reached the end\n" {
			t.Errorf("%s: %v\n%s", word, err, out)
		}
	}
}

// TestRules: every rule has a name and ends with a return, so that none falls
// into the next; the jump over it can be written.
func TestRules(t *testing.T) {
	for _, o := range []Options{{}, {Launcher: true}, {Alone: 7, Unchanging: true}, {Launcher: true, Inet: true, Unix: true, NoExecute: true, notify: true}} {
		for _, r := range rules(o) {
			if r.name == "" || len(r.body) == 0 || len(r.body) > 255 {
				t.Errorf("%q: %d instructions", r.name, len(r.body))
				continue
			}
			if last := fmt.Sprintf("%T", r.body[len(r.body)-1]); last != "bpf.RetConstant" {
				t.Errorf("%q ends with %s", r.name, last)
			}
		}
	}
}

// TestNamesOfSockets: attempts are told in words.
func TestNamesOfSockets(t *testing.T) {
	for want, s := range map[string]Socket{
		"unix stream":                  {unix.AF_UNIX, unix.SOCK_STREAM, 0},
		"unix dgram":                   {unix.AF_UNIX, unix.SOCK_DGRAM, 9},
		"inet stream":                  {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP},
		"inet stream mptcp":            {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"inet6 dgram":                  {unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP},
		"inet raw icmp":                {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		"family 4000000000 type 12":    {4000000000, 12, 1},
		"inet type 77 protocol 999999": {unix.AF_INET, 77, 999999},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
