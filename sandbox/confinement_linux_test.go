package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox/internal/landlock"
	"sunaba/scope"
)

// plainOwner owns the workspace of a plain fixture where the tests run as root.
const plainOwner = 61009

// plain changes the policy of f to one that needs no namespaces.
func (f *fixture) plain(profile string) {
	f.p.Profile, f.p.Confinement, f.p.AllowedCommands = profile, policy.ByLandlock, []string{}
	f.p.Roots = f.p.Roots[:1]
	f.own(f.root)
}

// own makes path somebody's who is not root.
func (f *fixture) own(path string) {
	f.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for dir := filepath.Dir(path); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := os.Chown(path, plainOwner, plainOwner); err != nil {
		f.t.Fatal(err)
	}
}

// plainTwin does an act outside as the user that the Worker has.
func plainTwin(args ...string) ([]byte, error) {
	twin := exec.Command("/proc/self/exe", append([]string{attackWord}, args...)...)
	if os.Geteuid() == 0 {
		twin.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainOwner, Gid: plainOwner}}
	}
	return twin.CombinedOutput()
}

// TestWithoutNamespaces: a Worker without namespaces, taken over, gets at nothing
// that the policy does not give: no file, no program, no process, no socket,
// nothing that a user's processes share. Each act's twin succeeds outside.
//
// Covers: S1-096, SD-19
func TestWithoutNamespaces(t *testing.T) {
	if abi, err := landlock.ABI(); err != nil || abi < landlock.MinABI {
		t.Skip("needs Landlock")
	}
	for _, profile := range []string{"readonly", "development"} {
		t.Run(profile, func(t *testing.T) {
			f := policyOnly(t)
			outside := filepath.Join(filepath.Dir(f.root), "outside")
			for _, dir := range []string{outside, outside + "/dir"} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				f.own(dir)
			}
			for _, name := range []string{"ws/file", "ws/other", "outside/file", "outside/other"} {
				path := filepath.Join(filepath.Dir(f.root), name)
				if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
					t.Fatal(err)
				}
				f.own(path)
			}
			f.plain(profile)
			f.start()
			sleeper := exec.Command("/bin/sleep", "600") // its twins are done to somebody
			if os.Geteuid() == 0 {                       // another user's are out of reach anyway
				sleeper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainOwner, Gid: plainOwner}}
			}
			if err := sleeper.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = sleeper.Process.Kill(), sleeper.Wait() })
			other := strconv.Itoa(sleeper.Process.Pid)

			in := func(dir string) [][]string {
				return [][]string{
					{"map-write", dir + "/file"}, {"write", dir + "/file"}, {"append", dir + "/file"}, {"truncate", dir + "/file"},
					{"create", dir}, {"mkdir", dir}, {"fifo", dir}, {"symlink", dir}, {"link", dir + "/file", dir + "/linked"},
					{"rename", dir + "/other", dir + "/renamed"}, {"remove", dir + "/file"},
				}
			}
			attributes := func(path string) [][]string {
				return [][]string{{"chmod", path}, {"touch", path}, {"set-flags", path}, {"chown", path}}
			}
			socket := func(family, kind int) []string {
				return []string{"call", strconv.Itoa(unix.SYS_SOCKET), strconv.Itoa(family), strconv.Itoa(kind), "0"}
			}
			acts := [][]string{
				{"read", outside + "/file"}, {"list", outside}, {"list", "/"}, {"list", "/etc"}, {"read", "/etc/passwd"}, {"list", "/proc"},
				{"of-process", other, "environ"}, {"of-process", other, "cmdline"},
				{"execute", "/bin/true"}, {"execute-memfd"}, {"fork-many", "1"},
				{"kill", other, "0"}, {"limit-process", other}, {"slow-process", other},
				socket(unix.AF_UNIX, unix.SOCK_STREAM), socket(unix.AF_INET, unix.SOCK_STREAM), socket(unix.AF_INET6, unix.SOCK_DGRAM),
				socket(unix.AF_NETLINK, unix.SOCK_RAW), {"pair", "1", "1"},
				{"call", strconv.Itoa(unix.SYS_SHMGET), "0", "4096", "0x380"}, {"call", strconv.Itoa(unix.SYS_MSGGET), "0", "0x380"},
				{"call", strconv.Itoa(unix.SYS_SEMGET), "0", "1", "0x380"}, {"watch", outside}, {"watch", f.root},
				{"clone", strconv.Itoa(unix.CLONE_NEWUSER)}, {"signal-queue", other, "0"}, {"signal-pidfd", other, "0"},
			}
			acts = append(acts, attributes(outside+"/dir")...)
			acts = append(acts, attributes(f.root)...)
			acts = append(acts, in(outside)...)
			if profile == "readonly" {
				acts = append(acts, in(f.root)...)
			}
			for _, a := range acts {
				if r := f.call("act", order{Argv: a}); r.ExitCode != 1 {
					t.Errorf("%q: %d %s", a, r.ExitCode, r.Out)
				}
			}
			// What it is there for goes on.
			if r := f.call("read", order{Argv: []string{f.root + "/file"}}); r.Out != "secret" {
				t.Errorf("reading: %+v", r)
			}
			for _, a := range append([][]string{{"list", f.root}}, in(f.root)...) {
				want := 0
				if profile == "readonly" && a[0] != "list" {
					want = 1
				}
				if r := f.call("act", order{Argv: a}); r.ExitCode != want {
					t.Errorf("%q: %d %s", a, r.ExitCode, r.Out)
				}
			}
			worker := f.s.cmd.Process.Pid
			if err := f.s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := unix.Kill(worker, 0); !errors.Is(err, unix.ESRCH) {
				t.Errorf("the Worker is left: %v", err)
			}
			if profile == "development" { // its own acts have changed it
				return
			}
			for _, a := range acts {
				if out, err := plainTwin(a...); err != nil {
					t.Errorf("the twin outside failed too: %q: %v\n%s", a, err, out)
				}
			}
		})
	}
}

// TestWithoutNamespacesRefuses: what Landlock alone cannot express is refused by
// name and place; what it can is not.
//
// Covers: SD-19
func TestWithoutNamespacesRefuses(t *testing.T) {
	const place = "agent.yaml:7:5"
	for name, row := range map[string]struct {
		change func(f *fixture)
		what   string // "" for what is not refused
	}{
		"read-only":          {func(*fixture) {}, ""},
		"written":            {func(f *fixture) { f.p.Profile = "development" }, ""},
		"programs":           {func(f *fixture) { f.p.AllowedCommands, f.p.Profile = nil, "development" }, "sandbox.execution"},
		"a program by name":  {func(f *fixture) { f.p.AllowedCommands = []string{"git"} }, "sandbox.execution"},
		"read-only, nothing": {func(f *fixture) { f.p.AllowedCommands, f.p.Profile = nil, "readonly" }, ""},
		"network":            {func(f *fixture) { f.p.Network = policy.Network{Mode: "local", UnixSockets: "none", Source: place} }, "sandbox.network.mode"},
		"sockets":            {func(f *fixture) { f.p.Network.UnixSockets = "own" }, "sandbox.network.unix_sockets"},
		"a protected name": {func(f *fixture) {
			f.p.Profile = "development"
			f.p.Protected = []policy.Protected{{Path: f.root + "/agent.yaml", Why: "config", Source: place}}
		}, "/agent.yaml"},
		"a protected name that nobody may write": {func(f *fixture) {
			f.p.Protected = []policy.Protected{{Path: f.root + "/agent.yaml", Why: "config", Source: place}}
		}, ""},
		"a hidden name": {func(f *fixture) {
			f.p.Protected = []policy.Protected{{Path: f.root + "/logs", Why: "state", Hidden: true, Source: place}}
		}, "/logs"},
		"a deny": {func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Deny: []scope.Rule{{Target: f.root + "/secret", Permission: scope.Read, Recursive: true, Source: place}}}
		}, "/secret"},
		"an allow": {func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Allow: []scope.Rule{{Target: f.root + "/docs", Permission: scope.Read, Recursive: true, Source: place}}}
		}, ""},
		"without recursion": {func(f *fixture) {
			f.p.Scope = &policy.Narrowing{Allow: []scope.Rule{{Target: f.root + "/docs", Permission: scope.Read, Source: place}}}
		}, "recursive: false"},
		"less in more": {func(f *fixture) {
			f.p.Profile = "development"
			f.p.Roots = append(f.p.Roots, policy.Root{Path: f.root + "/sub", Kind: policy.RootMount, Capability: scope.R, Source: place})
		}, "/sub"},
	} {
		t.Run(name, func(t *testing.T) {
			f := policyOnly(t)
			f.plain("readonly")
			row.change(f)
			err := Check(&f.p)
			e, ok := errors.AsType[*fault.Error](err)
			switch {
			case row.what == "" && err != nil:
				t.Error(err)
			case row.what != "" && (!ok || e.Code != fault.PlatformUnsupported || e.Args["case"] != "landlock" || !strings.Contains(e.Args["what"], row.what)):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestWithoutNamespacesEnds: the Worker ends with its broker, and with the
// socket.
func TestWithoutNamespacesEnds(t *testing.T) {
	f := policyOnly(t)
	f.plain("readonly")
	f.start()
	if err := f.s.socket.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = f.s.cmd.Process.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the Worker lives on")
	}
}

// TestConfinement: namespaces are not given up where programs may start, nor
// where they are to be had.
func TestConfinement(t *testing.T) {
	f := policyOnly(t)
	if got := Confinement(&f.p); got != policy.ByNamespaces {
		t.Errorf("with programs: %q", got)
	}
	f.plain("readonly")
	if got := Confinement(&f.p); got != policy.ByNamespaces {
		t.Errorf("here: %q", got)
	}
}
