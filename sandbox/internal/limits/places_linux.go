package limits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a directory in which control groups can be made.
type place struct {
	dir     string
	unified bool // version 2: one group for all controllers
}

// findPlace finds where a group with all of controllers can be made: beneath
// this process's own group, so that what holds for us holds there too. root is
// before every path that is read, "" but in tests.
func findPlace(root string, controllers ...string) (place, bool) {
	mounts, err := os.ReadFile(root + "/proc/self/mountinfo")
	if err != nil {
		return place{}, false
	}
	own, err := os.ReadFile(root + "/proc/self/cgroup")
	if err != nil {
		return place{}, false
	}
	for line := range strings.Lines(string(mounts)) {
		m, ok := parseMount(line)
		if !ok {
			continue
		}
		at, inside := m.own(string(own))
		switch {
		case m.unified:
			if dir, ok := delegated(root, m.point, at, controllers); ok {
				return place{dir, true}, true
			}
		case containsAll(m.controllers, controllers):
			if inside && usable(root+at) {
				return place{at, false}, true
			}
			if usable(root + m.point) {
				return place{m.point, false}, true
			}
		}
	}
	return place{}, false
}

// mount is where a hierarchy of control groups, or a part of it, can be seen.
type mount struct {
	part, point string   // which part of the hierarchy is at which directory
	controllers []string // of version 1
	unified     bool
}

func parseMount(line string) (mount, bool) {
	fields := strings.Fields(line)
	dash := slices.Index(fields, "-")
	if dash < 5 || len(fields) < dash+4 {
		return mount{}, false
	}
	m := mount{part: fields[3], point: fields[4]}
	switch fields[dash+1] {
	case "cgroup":
		m.controllers = strings.Split(fields[dash+3], ",")
	case "cgroup2":
		m.unified = true
	default:
		return mount{}, false
	}
	return m, true
}

// own returns the directory of this process's own group, as the text of
// /proc/self/cgroup has it, or that of the mount when the group is not in it.
func (m mount) own(text string) (dir string, inside bool) {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if m.unified != (fields[0] == "0") || !m.unified && !containsAll(m.controllers, strings.Split(fields[1], ",")) {
			continue
		}
		if rest, ok := strings.CutPrefix(fields[2], strings.TrimSuffix(m.part, "/")); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(m.point, rest), true
		}
	}
	return m.point, false
}

// delegated finds the nearest directory above own, up to the mount's, in which
// groups get all of controllers and which this user may write. own itself holds
// processes: in version 2 only the root of all may hold both.
func delegated(root, top, own string, controllers []string) (string, bool) {
	for dir := own; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(root + dir + "/cgroup.type") // the root of all has none
		if dir != own || err != nil {
			text, err := os.ReadFile(root + dir + "/cgroup.subtree_control")
			if err == nil && containsAll(strings.Fields(string(text)), controllers) && usable(root+dir) {
				return dir, true
			}
		}
		if dir == top || len(dir) <= len(top) {
			return "", false
		}
	}
}

// usable reports whether this user may make groups in dir and put processes
// there.
func usable(dir string) bool {
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(dir+"/cgroup.procs", unix.W_OK) == nil
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
