package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// step is one call of a process that changes the world: the n-th of its kind.
// So named, it is the same step in every run, though threads overtake one
// another.
type step struct {
	what string // the call and what it is made on
	n    int
}

// moment is when a process is killed: as it begins a step, which is not made
// then, or right after it.
type moment struct {
	step
	after bool
}

func (m moment) String() string {
	word := "before"
	if m.after {
		word = "after"
	}
	return fmt.Sprintf("%s %s (%d)", word, m.what, m.n)
}

// Where a call names what it is made on: the first of two arguments that are a
// directory and a name, or one of these.
const (
	descriptor = -1 - iota // its first argument
	path                   // its second argument
	nowhere
)

// kind is a kind of call that changes the world.
type kind struct {
	name string
	on   int
}

var serverCalls = map[uint64]kind{
	unix.SYS_OPENAT:            {"openat", 0},
	unix.SYS_MKDIRAT:           {"mkdirat", 0},
	unix.SYS_MKNODAT:           {"mknodat", 0},
	unix.SYS_SYMLINKAT:         {"symlinkat", 1},
	unix.SYS_LINKAT:            {"linkat", 2},
	unix.SYS_RENAMEAT:          {"renameat", 2},
	unix.SYS_RENAMEAT2:         {"renameat2", 2},
	unix.SYS_UNLINKAT:          {"unlinkat", 0},
	unix.SYS_FCHMODAT:          {"fchmodat", 0},
	unix.SYS_FCHOWNAT:          {"fchownat", 0},
	unix.SYS_UTIMENSAT:         {"utimensat", 0},
	unix.SYS_WRITE:             {"write", descriptor},
	unix.SYS_PWRITE64:          {"pwrite64", descriptor},
	unix.SYS_WRITEV:            {"writev", descriptor},
	unix.SYS_SENDMSG:           {"sendmsg", descriptor},
	unix.SYS_FSYNC:             {"fsync", descriptor},
	unix.SYS_FDATASYNC:         {"fdatasync", descriptor},
	unix.SYS_FTRUNCATE:         {"ftruncate", descriptor},
	unix.SYS_FCHMOD:            {"fchmod", descriptor},
	unix.SYS_FCHOWN:            {"fchown", descriptor},
	unix.SYS_FLOCK:             {"flock", descriptor},
	unix.SYS_INOTIFY_ADD_WATCH: {"inotify_add_watch", path},
	unix.SYS_SOCKETPAIR:        {"socketpair", nowhere},
	unix.SYS_CLONE:             {"clone", nowhere},
	unix.SYS_CLONE3:            {"clone3", nowhere},
	unix.SYS_KILL:              {"kill", nowhere},
	unix.SYS_PIDFD_SEND_SIGNAL: {"pidfd_send_signal", nowhere},
	unix.SYS_WAITID:            {"waitid", nowhere},
}

// serverStep names what a call of the server changes; "" for nothing.
func (h *house) serverStep(c systemCall) string {
	k, ok := serverCalls[c.nr]
	if !ok ||
		c.nr == unix.SYS_OPENAT && c.args[2]&(unix.O_CREAT|unix.O_TRUNC) == 0 ||
		c.nr == unix.SYS_CLONE && c.args[0]&unix.CLONE_THREAD != 0 {
		return ""
	}
	var on string
	switch k.on {
	case nowhere:
		return k.name
	case descriptor:
		on = h.place(c.file(c.args[0]))
	case path:
		on = h.place(c.text(c.args[1]))
	default:
		on = h.place(c.at(c.args[k.on], c.args[k.on+1]))
	}
	if on == "" {
		return ""
	}
	return k.name + " " + on
}

// varying is what differs from run to run in a path.
var varying = regexp.MustCompile(`\d{8}T\d{6}\.\d{3}Z-\d+|[0-9A-Z]{20,}|sunaba-\d+-[0-9A-Z]+|\.new-\d+|[0-9a-f]{32,}|\d{2,}`)

// place is a short name for a file that is worth a step, "" for others.
func (h *house) place(file string) string {
	for _, at := range []struct{ root, name string }{
		{filepath.Join(h.state, "agent-mcp"), "state"}, {h.ws, "workspace"}, {"/sys/fs/cgroup", "cgroup"}, {"/proc", "proc"},
	} {
		if rest, ok := strings.CutPrefix(file, at.root); ok {
			return at.name + varying.ReplaceAllString(rest, "*")
		}
	}
	if inode, ok := strings.CutPrefix(file, "socket:["); ok { // not those of the model
		table, err := os.ReadFile("/proc/net/unix")
		if err == nil && strings.Contains(string(table), " "+strings.TrimSuffix(inode, "]")) {
			return "the Worker's socket"
		}
	}
	return ""
}

// workerCalls are the calls by which a Worker makes what it lives in and gives
// up what it may, and those of its work.
var workerCalls = map[uint64]string{
	unix.SYS_SETSID:                  "setsid",
	unix.SYS_SETGROUPS:               "setgroups",
	unix.SYS_SETGID:                  "setgid",
	unix.SYS_SETUID:                  "setuid",
	unix.SYS_CAPSET:                  "capset",
	unix.SYS_PRCTL:                   "prctl",
	unix.SYS_EXECVE:                  "execve",
	unix.SYS_CLOSE_RANGE:             "close_range",
	unix.SYS_MOUNT:                   "mount",
	unix.SYS_OPENAT2:                 "openat2",
	unix.SYS_FSOPEN:                  "fsopen",
	unix.SYS_FSCONFIG:                "fsconfig",
	unix.SYS_FSMOUNT:                 "fsmount",
	unix.SYS_OPEN_TREE:               "open_tree",
	unix.SYS_MOUNT_SETATTR:           "mount_setattr",
	unix.SYS_MOVE_MOUNT:              "move_mount",
	unix.SYS_MKDIRAT:                 "mkdirat",
	unix.SYS_SYMLINKAT:               "symlinkat",
	unix.SYS_FCHMODAT:                "fchmodat",
	unix.SYS_FCHDIR:                  "fchdir",
	unix.SYS_PIVOT_ROOT:              "pivot_root",
	unix.SYS_UMOUNT2:                 "umount2",
	unix.SYS_CHDIR:                   "chdir",
	unix.SYS_SETHOSTNAME:             "sethostname",
	unix.SYS_PRLIMIT64:               "prlimit64",
	unix.SYS_LANDLOCK_CREATE_RULESET: "landlock_create_ruleset",
	unix.SYS_LANDLOCK_ADD_RULE:       "landlock_add_rule",
	unix.SYS_LANDLOCK_RESTRICT_SELF:  "landlock_restrict_self",
	unix.SYS_SECCOMP:                 "seccomp",
	unix.SYS_STATFS:                  "statfs",
	unix.SYS_WRITE:                   "write to the broker",
	unix.SYS_CLONE:                   "clone of a command",
	unix.SYS_PIPE2:                   "pipe2",
	unix.SYS_WAIT4:                   "wait4",
	unix.SYS_KILL:                    "kill",
}

// workerStep names a call of the Worker; "" for one of no interest.
func (*house) workerStep(c systemCall) string {
	const broker = 3 // the descriptor of its socket
	name := workerCalls[c.nr]
	switch {
	case c.nr == unix.SYS_PRCTL:
		return fmt.Sprintf("%s of %d", name, c.args[0])
	case c.nr == unix.SYS_WRITE && c.args[0] != broker, c.nr == unix.SYS_CLONE && c.args[0]&unix.CLONE_THREAD != 0:
		return ""
	}
	return name
}

// often are steps of the server that are much alike: the first and the last of
// a kind stand for all.
var often = regexp.MustCompile(`/log/|/\.lock|waitid|pidfd|inotify| proc/`)

// serverMoments are the moments to kill a server that makes the given steps:
// before each one, which is after the one before it. Where one is left out, the
// server is killed after the one before it.
func serverMoments(steps []step) []moment {
	last := map[string]int{}
	for _, s := range steps {
		last[s.what] = s.n
	}
	var out []moment
	var before step
	for _, s := range steps {
		if !often.MatchString(s.what) || s.n == 1 || s.n == last[s.what] {
			out = append(out, moment{s, false})
			before = s
		} else if before.n != 0 {
			out = append(out, moment{before, true})
			before = step{}
		}
	}
	return append(out, moment{before, true})
}

// workerMoments are those to kill a Worker: before the first call of each kind,
// in the middle of those that are many, and after the last call of all.
func workerMoments(steps []step) []moment {
	total := map[string]int{}
	for _, s := range steps {
		total[s.what]++
	}
	var out []moment
	for _, s := range steps {
		if s.n == 1 || total[s.what] >= 20 && s.n == total[s.what]/2 {
			out = append(out, moment{s, false})
		}
	}
	return append(out, moment{steps[len(steps)-1], true})
}
