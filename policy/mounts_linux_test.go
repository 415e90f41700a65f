package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAliases(t *testing.T) {
	table := parseMounts(`20 1 8:1 / / rw - ext4 /dev/a rw
21 20 8:1 /opt/rt /srv/ws/rt rw - ext4 /dev/a rw
22 20 8:2 / /data rw - ext4 /dev/b rw
23 20 8:2 /deep/er /opt/other/lib rw - ext4 /dev/b rw
24 20 8:1 /home/x\040y /mnt rw - ext4 /dev/a rw
25 20 8:3 / /over rw - ext4 /dev/c rw
26 20 8:1 /opt /over rw - ext4 /dev/a rw
`)
	for _, row := range []struct{ dir, where, want string }{
		{"/opt/rt", "/srv/ws", "/srv/ws/rt"},
		{"/opt/rt/lib", "/srv/ws", "/srv/ws/rt/lib"},
		{"/opt/rt", "/srv/ws/rt/lib", "/srv/ws/rt/lib"},
		{"/opt/rt", "/srv/ws/src", ""},
		{"/opt/other", "/data", "/data/deep/er"},
		{"/opt/other", "/data/deep/er/est", "/data/deep/er/est"},
		{"/opt/other", "/data/shallow", ""},
		{"/home/x y", "/mnt", "/mnt"},
		{"/opt/rt", "/over", "/over/rt"},
		{"/opt/rt", "/data", ""},
	} {
		if got, _ := table.alias(row.dir, row.where, func(a, b string) bool { return true }); got != row.want {
			t.Errorf("%s in %s: %q, want %q", row.dir, row.where, got, row.want)
		}
	}
}

// mountedWord makes the test binary look at a tree with a bind mount in it.
const mountedWord = "SUNABA_TEST_MOUNTED"

// TestMountedRuntime: a runtime root that is writable under another name by a
// bind mount is refused; without the mount it is taken.
//
// Covers: C-82
func TestMountedRuntime(t *testing.T) {
	if root := os.Getenv(mountedWord); root != "" {
		in := basic(root)
		in.Entries = []EntryInput{{"py", filepath.Join(root, "rt/bin/py"), filepath.Join(root, "rt"), "e0"}}
		if got := verdict(t, in); got != nil { // the twin
			t.Fatalf("before the mount: %v", got)
		}
		if err := unix.Mount(filepath.Join(root, "rt"), filepath.Join(root, "project/deep"), "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if got := verdict(t, in); !slices.Equal(got, []string{"policy.runtime_writable runtime_writable"}) {
			t.Errorf("with the mount: %v", got)
		}
		in = basic(root) // and what is denied
		in.Scope = &ScopeInput{Source: "s", Deny: []RuleInput{{Target: "secret/deeper", Permission: "read", Recursive: true, Source: "d"}}}
		if got := verdict(t, in); got != nil {
			t.Fatalf("before the mount: %v", got)
		}
		if err := unix.Mount(filepath.Join(root, "project/secret"), filepath.Join(root, "project/open"), "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if got := verdict(t, in); !slices.Equal(got, []string{"policy.root scope_mounted"}) {
			t.Errorf("with the mount: %v", got)
		}
		in.Scope.Deny = append(in.Scope.Deny, RuleInput{Target: "open/deeper", Permission: "read", Recursive: true, Source: "d"})
		if got := verdict(t, in); got != nil { // the remedy
			t.Errorf("denied as well: %v", got)
		}
		if err := unix.Mount(filepath.Join(root, "project/free"), filepath.Join(root, "project/free"), "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		in.Scope.Deny = append(in.Scope.Deny, RuleInput{Target: "free/deeper", Permission: "read", Recursive: true, Source: "d"})
		if got := verdict(t, in); got != nil {
			t.Errorf("bound onto itself: %v", got)
		}
		return
	}
	root := grow(t, "project/deep/", "project/secret/deeper/", "project/free/deeper/", "project/open/", "rt/bin/py*", "state/agent-mcp/", "agent.yaml")
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestMountedRuntime$", "-test.v")
	cmd.Env = append(os.Environ(), mountedWord+"="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestMountedRuntime") {
		t.Errorf("%v\n%s", err, out)
	}
}
