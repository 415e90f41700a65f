package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/scope"
)

func init() {
	attacks["unix-serve-self"] = func(args []string) error { // listens at a path, and connects to itself
		l, err := net.Listen("unix", args[0])
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.Dial("unix", args[0])
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// hostSocket listens at path, a file or "@" and an abstract name.
func hostSocket(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// TestUnixSockets: with unix_sockets: own a command may connect to sockets of its
// own Task, and to none that the host had when it started, wherever they lie;
// datagram sockets, which need no connection, stay refused.
func TestUnixSockets(t *testing.T) {
	// Names of sockets are short.
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	if short, err = filepath.EvalSymlinks(short); err != nil {
		t.Fatal(err)
	}
	var sockets []string
	f := newFixture(t, func(f *fixture) {
		for _, dir := range []string{"ws/deep/er", "mount", "ws/shut"} {
			if err := os.MkdirAll(filepath.Join(short, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f.root = short + "/ws"
		mount := short + "/mount"
		f.p.Workspace.Root, f.p.Workspace.Logical = f.root, f.root
		f.p.Roots[0].Path, f.p.Roots[0].Logical = f.root, f.root
		f.p.Roots = append(f.p.Roots, policy.Root{Path: mount, Logical: mount, Kind: policy.RootMount, Capability: scope.R})
		sockets = []string{
			hostSocket(t, f.root+"/docker.sock"), hostSocket(t, f.root+"/deep/er/s"), hostSocket(t, f.root+"/shut/s"),
			hostSocket(t, mount+"/s"), hostSocket(t, fmt.Sprintf("@sunaba-test-%d", os.Getpid())),
		}
		for _, s := range sockets {
			if out, err := exec.Command(self(), attackWord, "unix-connect", s).CombinedOutput(); err != nil {
				t.Errorf("the twin outside failed: %s: %v\n%s", s, err, out)
			}
		}
		if err := os.Chmod(f.root+"/shut", 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(f.root+"/shut", 0o755) })
		f.p.Network.UnixSockets = "own"
	})
	f.sh("chmod 755 shut; mv deep deeper")
	for _, s := range append(sockets, f.root+"/deeper/er/s") {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "unix-connect", s}}); r.ExitCode != 1 {
			t.Errorf("%s: %+v", s, r)
		}
	}
	for _, own := range []string{f.root + "/own", "/tmp/.scratch/own", "@own"} {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "unix-serve-self", own}}); r.ExitCode != 0 {
			t.Errorf("%s: %+v", own, r)
		}
	}
	for kind, want := range map[int]int{unix.SOCK_STREAM: 0, unix.SOCK_SEQPACKET: 0, unix.SOCK_DGRAM: 1, unix.SOCK_RAW: 1} {
		r := f.call("run", order{Argv: []string{self(), attackWord, "socket", fmt.Sprint(unix.AF_UNIX), fmt.Sprint(kind), "0", "1"}})
		if r.ExitCode != want {
			t.Errorf("type %d: %+v", kind, r)
		}
	}
	if r := f.call("run", order{Argv: []string{self(), attackWord, "socket-inet"}}); r.ExitCode != 1 {
		t.Errorf("inet: %+v", r)
	}
	if r := f.sh("ls -l docker.sock"); !strings.HasPrefix(r.Out, "----------") {
		t.Errorf("%s", r.Out)
	}
}
