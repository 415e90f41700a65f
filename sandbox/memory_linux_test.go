package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sunaba/policy"
	"sunaba/scope"
)

// groupsOf lists the control groups that a broker made and that are there now.
func groupsOf(pid int) (groups []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error { // others' come and go
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("sunaba-%d-", pid)) {
			groups = append(groups, path)
		}
		return nil
	})
	return groups
}

// memoryGroup is the folder of the group that limits f's memory.
func memoryGroup(t *testing.T, f *fixture) string {
	t.Helper()
	if f.s.groups.Memory() == "" {
		t.Skip("needs a memory controller that this user can make groups of")
	}
	var found string
	for _, path := range groupsOf(os.Getpid()) {
		if _, err := os.Stat(path + "/" + f.s.groups.Memory()); err == nil {
			found = path
		}
	}
	if found == "" {
		t.Fatal("no group")
	}
	return found
}

// TestMemoryGroup: where the kernel limits memory, nothing is ever beyond the
// limit, not for a moment, and who wants more is stopped by name; also after the
// launcher got a fresh thread. The same is well within a wider limit.
//
// Covers: S1-177, C-46, SD-28
func TestMemoryGroup(t *testing.T) {
	const hog = "dd if=/dev/zero bs=200M count=1 status=none | head -c 1; echo end"
	f := newFixture(t, func(f *fixture) {
		f.p.Resources.MemoryMiB = 64
		f.write("flat/file", "")
		f.p.Scope = &policy.Narrowing{Allow: f.rules(
			scope.Rule{Target: ".", Permission: scope.Read},
			scope.Rule{Target: "flat", Permission: scope.Write},
		)}
		f.p.Scope.Allow[0].Recursive = true
	})
	group := memoryGroup(t, f)
	number := func(file string) int64 {
		text, err := os.ReadFile(group + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	limit := number(f.s.groups.Memory())
	for _, name := range []string{"flat/one", "flat/two"} {
		if r := f.sh(hog); r.Stopped != "memory" || r.Ended {
			t.Errorf("%+v", r)
		}
		// Another file under the rule without recursion: a fresh thread.
		f.write(name, "")
		if r := f.sh("echo usable"); r.Out != "usable\n" || r.Stopped != "" {
			t.Errorf("afterwards: %+v", r)
		}
	}
	for _, peak := range []string{"memory.max_usage_in_bytes", "memory.peak"} {
		const batch = 1 << 20 // the kernel counts by single pages, and charges by more
		if _, err := os.Stat(group + "/" + peak); err == nil && number(peak) > limit+batch {
			t.Errorf("%s is %d, the limit %d", peak, number(peak), limit)
		}
	}
	// In version 1 only the thread that starts commands is inside.
	if text, err := os.ReadFile(group + "/tasks"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n == f.s.cmd.Process.Pid {
			t.Errorf("inside, of Worker %d: %q, %v", f.s.cmd.Process.Pid, text, err)
		}
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(group); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", group, err)
	}

	f = newFixture(t, func(f *fixture) { f.p.Resources.MemoryMiB = 512 })
	if r := f.sh(hog); r.Stopped != "" || r.Out != "\x00end\n" {
		t.Errorf("the twin: %+v", r)
	}
}
