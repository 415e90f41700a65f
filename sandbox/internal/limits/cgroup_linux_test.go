package limits

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sunaba/policy"
)

// hostTree is a machine's control groups, as files in a temporary folder.
type hostTree struct {
	t    *testing.T
	root string
}

func newHostTree(t *testing.T, mounts, own string) *hostTree {
	h := &hostTree{t, t.TempDir()}
	h.write("/proc/self/mountinfo", mounts)
	h.write("/proc/self/cgroup", own)
	return h
}

func (h *hostTree) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.root+path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.root+path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// group makes a control group whose children get the given controllers.
func (h *hostTree) group(dir, controllers string) {
	h.write(dir+"/cgroup.procs", "")
	h.write(dir+"/cgroup.subtree_control", controllers)
	h.write(dir+"/cgroup.type", "domain\n")
}

const (
	mounts1 = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
34 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
38 30 0:35 / /sys/fs/cgroup/pids rw,relatime shared:9 master:1 - cgroup cgroup rw,pids
40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	mounts2 = "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
)

// TestPlaces: groups are made beneath our own, where the host lets us.
func TestPlaces(t *testing.T) {
	v1 := newHostTree(t, mounts1, "8:pids:/\n4:memory:/system/a:b\n0::/\n")
	for _, dir := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/system/a:b", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"} {
		v1.group(dir, "")
	}
	container := newHostTree(t, strings.ReplaceAll(mounts1, "0:31 / ", "0:31 /docker/1 "), "4:memory:/docker/1/inner\n")
	container.group("/sys/fs/cgroup/memory/inner", "")
	elsewhere := newHostTree(t, strings.ReplaceAll(mounts1, "0:31 / ", "0:31 /docker/1 "), "4:memory:/docker/11\n")
	elsewhere.group("/sys/fs/cgroup/memory", "")

	const slice = "/user.slice/user-1000.slice/user@1000.service"
	v2 := newHostTree(t, mounts2, "0::"+slice+"/app.slice/run-1.scope\n")
	v2.write("/sys/fs/cgroup/cgroup.procs", "")
	v2.write("/sys/fs/cgroup/cgroup.subtree_control", "cpu io memory pids")
	v2.group("/sys/fs/cgroup"+slice, "memory pids")
	v2.group("/sys/fs/cgroup"+slice+"/app.slice", "pids")
	v2.group("/sys/fs/cgroup"+slice+"/app.slice/run-1.scope", "memory pids")
	top := newHostTree(t, mounts2, "0::/\n") // the root of all may hold processes
	top.write("/sys/fs/cgroup/cgroup.procs", "")
	top.write("/sys/fs/cgroup/cgroup.subtree_control", "memory")
	box := newHostTree(t, mounts2, "0::/\n") // the root of a container may not
	box.group("/sys/fs/cgroup", "memory")
	closed := newHostTree(t, mounts2, "0::/a\n") // no cgroup.procs that could be written
	closed.write("/sys/fs/cgroup/cgroup.subtree_control", "memory")

	for name, row := range map[string]struct {
		host        *hostTree
		controllers string
		want        string
		unified     bool
	}{
		"version 1, own group":                    {v1, "memory", "/sys/fs/cgroup/memory/system/a:b", false},
		"version 1, own group is the root":        {v1, "pids", "/sys/fs/cgroup/pids", false},
		"version 1, not in one hierarchy":         {v1, "memory pids", "", false},
		"version 1, a controller nobody has":      {v1, "hugetlb", "", false},
		"version 1, seen from a container":        {container, "memory", "/sys/fs/cgroup/memory/inner", false},
		"version 1, own group is not to be seen":  {elsewhere, "memory", "/sys/fs/cgroup/memory", false},
		"version 2, the nearest":                  {v2, "pids", "/sys/fs/cgroup" + slice + "/app.slice", true},
		"version 2, the nearest with memory":      {v2, "memory", "/sys/fs/cgroup" + slice, true},
		"version 2, with both":                    {v2, "pids memory", "/sys/fs/cgroup" + slice, true},
		"version 2, only the root has it":         {v2, "io", "/sys/fs/cgroup", true},
		"version 2, nobody has it":                {v2, "rdma", "", false},
		"version 2, the root of all":              {top, "memory", "/sys/fs/cgroup", true},
		"version 2, the root of a container":      {box, "memory", "", false},
		"version 2, nothing that this user holds": {closed, "memory", "", false},
	} {
		got, ok := findPlace(row.host.root, strings.Fields(row.controllers)...)
		if ok != (row.want != "") || got.dir != row.want || got.unified != row.unified {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
}

// notes is a journal that remembers.
type notes []string

func (n *notes) Add(path string) error {
	*n = append(*n, "add "+filepath.Base(filepath.Dir(path)))
	return nil
}
func (n *notes) Retire(path string) error {
	*n = append(*n, "retire "+filepath.Base(filepath.Dir(path)))
	return nil
}

// TestGroups: what is made and written under each version, and that all of it is
// journalled before and removed after. The kernel is not asked: here groups are
// plain folders.
//
// Covers: SD-28
func TestGroups(t *testing.T) {
	r := policy.Resources{MemoryMiB: 64, Processes: 4}
	v1 := newHostTree(t, mounts1, "8:pids:/\n4:memory:/\n0::/\n")
	v1.group("/sys/fs/cgroup/memory", "")
	v1.group("/sys/fs/cgroup/pids", "")
	v2 := newHostTree(t, mounts2, "0::/a/b\n")
	v2.group("/sys/fs/cgroup/a", "memory pids")
	apart := newHostTree(t, mounts2, "0::/a/b/c\n")
	apart.group("/sys/fs/cgroup/a/b", "pids")
	apart.write("/sys/fs/cgroup/a/cgroup.subtree_control", "memory") // not ours
	for name, row := range map[string]struct {
		host    *hostTree
		fenced  bool
		journal notes
		wrote   map[string]string
		memory  string
	}{
		"version 1, fenced": {
			v1, true,
			notes{"add pids", "add memory", "retire pids", "retire memory"},
			map[string]string{"pids/n/pids.max": "152", "memory/n/memory.limit_in_bytes": "67108864"},
			"memory.limit_in_bytes",
		},
		"version 1": {
			v1, false,
			notes{"add memory", "retire memory"},
			map[string]string{"memory/n/memory.limit_in_bytes": "67108864"},
			"memory.limit_in_bytes",
		},
		"version 2, fenced": {
			v2, true,
			notes{"add a", "retire a"},
			map[string]string{"a/n/pids.max": "152", "a/n/memory.max": "134217728"},
			"memory.max",
		},
		"version 2": {
			v2, false,
			notes{"add a", "retire a"},
			map[string]string{"a/n/memory.max": "134217728"},
			"memory.max",
		},
		"version 2, fenced where memory is not ours": {
			apart, true,
			notes{"add b", "retire b"},
			map[string]string{"a/b/n/pids.max": "152"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var journal notes
			g, err := newGroups(row.host.root, &journal, "n", r, row.fenced)
			if err != nil {
				t.Fatal(err)
			}
			if g.Fenced() != row.fenced || g.Memory() != row.memory {
				t.Errorf("%+v", g)
			}
			for file, want := range row.wrote {
				path := row.host.root + "/sys/fs/cgroup/" + file
				if got, err := os.ReadFile(path); string(got) != want {
					t.Errorf("%s: %q, %v", file, got, err)
				}
				if err := os.Remove(path); err != nil { // the kernel's go with their folder
					t.Error(err)
				}
			}
			if err := g.Remove(); err != nil || !slices.Equal(journal, row.journal) {
				t.Errorf("%q, %v", journal, err)
			}
			if err := g.Remove(); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
	if _, err := newGroups(newHostTree(t, "", "").root, nil, "n", r, true); err == nil {
		t.Error("a fence out of nothing")
	}
	if g, err := newGroups(newHostTree(t, "", "").root, nil, "n", r, false); err != nil || g.Memory() != "" || g.Fenced() {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestStarting: what is started inherits the highest score, and the Worker has
// its own back afterwards, also when nothing was started.
func TestStarting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oom_score_adj")
	if err := os.WriteFile(path, []byte("200\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	adjust, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer adjust.Close()
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		started := false
		err := (&MemoryGroup{adjust: adjust, given: []byte("200\n")}).Starting(func() error {
			text, err := os.ReadFile(path)
			started = err == nil && string(text) == "1000"
			return want
		})
		if text, rerr := os.ReadFile(path); err != want || !started || rerr != nil || string(text) != "200\n" {
			t.Errorf("%v, %t, %q, %v", err, started, text, rerr)
		}
		if err := (*MemoryGroup)(nil).Starting(func() error { return want }); err != want {
			t.Error(err)
		}
	}
}

// TestReached: each kill is told once; what cannot be understood counts as one.
func TestReached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.events")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	events, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &MemoryGroup{events: events}
	for _, step := range []struct {
		text string
		want bool
	}{
		{"low 0\nmax 3\noom 1\noom_kill 0\noom_group_kill 0\n", false},
		{"low 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n", true},
		{"low 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n", false},
		{"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", true},
		{"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", false},
		{"oom_kill many\n", true},
		{"", true},
	} {
		if write(step.text); m.Reached() != step.want {
			t.Errorf("%q: not %t", step.text, step.want)
		}
	}
	if err := errors.Join(events.Close(), os.Remove(path)); err != nil || !m.Reached() {
		t.Errorf("a file that is gone: %v", err)
	}
	if (*MemoryGroup)(nil).Reached() || (*MemoryGroup)(nil).Join() != nil {
		t.Error("no group was reached")
	}
}
