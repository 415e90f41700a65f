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
27 20 8:4 / /deep/er rw - ext4 /dev/d rw
28 20 8:2 / /deep rw - ext4 /dev/b rw
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
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"/opt/rt", "/srv/ws", true}, {"/opt/other", "/data", true}, {"/opt/other/bin", "/data", false}, {"/data", "/opt/other/lib", true},
		{"/srv/ws", "/data", false}, {"/data/x", "/data/y", true}, {"/", "/data", true}, {"/over", "/srv", true}, {"/over", "/data", false},
		{"/deep/er", "/data", true}, {"/deep/er", "/srv", false},
	} {
		if table.together(row.a, row.b) != row.want {
			t.Errorf("%s and %s: not %v", row.a, row.b, row.want)
		}
	}
	if !mountTable(nil).together("/a", "/b") {
		t.Error("what is not known keeps from looking")
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
		bind := func(from, to string) {
			if err := unix.Mount(filepath.Join(root, from), filepath.Join(root, to), "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range []struct {
			name, from, to, denied, elsewhere string
			want                              []string
		}{
			{"an entry", "opt/tool", "project/file", "", "project/free", []string{"policy.root scope_mounted"}},
			{"an entry's directory", "opt", "project/free", "", "elsewhere", []string{"policy.root scope_mounted"}},
			{"what holds that", ".", "project/free", "", "elsewhere", []string{"policy.root scope_mounted"}},
			{"where it is denied", "opt", "project/free", "free", "elsewhere", nil},
			{"where it is denied, and not", "opt", "project/free", "free", "project/tools", []string{"policy.root scope_mounted"}},
			{"where some is allowed", "opt", "project/tools", "narrow", "elsewhere", []string{"policy.root scope_mounted"}},
			{"where nothing is", "opt", "project/free", "narrow", "elsewhere", nil},
		} {
			in := basic(root)
			in.Entries = []EntryInput{{"tool", filepath.Join(root, "opt/tool"), "", "e0"}, {"deep", filepath.Join(root, "opt/deep/tool"), "", "e1"}}
			in.Scope = &ScopeInput{Source: "s"}
			switch row.denied {
			case "":
			case "narrow":
				in.Scope.AllowGiven = true
				in.Scope.Allow = []RuleInput{
					{Target: ".", Permission: "read", Recursive: true, Source: "a"}, {Target: "tools/deep", Permission: "write", Recursive: true, Source: "a"},
				}
			default:
				in.Scope.Deny = []RuleInput{{Target: row.denied, Permission: "write", Recursive: true, Source: "d"}}
			}
			if got := verdict(t, in); got != nil { // the twin
				t.Errorf("%s: before the mount: %v", row.name, got)
			}
			bind(row.from, row.to)
			if row.name == "where it is denied, and not" {
				bind(row.from, row.elsewhere)
			}
			got := verdict(t, in)
			if !slices.Equal(slices.Compact(got), row.want) {
				t.Errorf("%s: %v", row.name, got)
			}
			for _, at := range []string{row.to, row.elsewhere} {
				_ = unix.Unmount(filepath.Join(root, at), unix.MNT_DETACH)
			}
		}
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
	root := grow(t, "project/deep/", "project/secret/deeper/", "project/free/deeper/", "project/open/", "project/file", "project/tools/", "elsewhere/",
		"opt/tool*", "opt/deep/tool*", "rt/bin/py*", "state/agent-mcp/", "agent.yaml")
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
