package blackbox

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// world is all that a Task may leave behind.
type world struct {
	things []string // files, mounts, control groups
	life   []string // processes, and what the state directory tells of them
}

// world looks around: the workspace with modes, contents and times, mounts of
// the host, control groups of every server that was started, dead or alive, our
// processes, and the state directory but for what is kept there on purpose.
func (h *house) world() world {
	h.t.Helper()
	var w world
	for path, info := range h.beneath(h.ws) {
		line := fmt.Sprintf("%s %v", path, info.Mode())
		if info.Mode().IsRegular() {
			line += fmt.Sprintf(" %q", h.read(path))
		}
		if !slices.Contains(h.placed, path) {
			line += info.ModTime().Format(" 15:04:05.000000000")
		}
		w.things = append(w.things, line)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, h.dir) {
			w.things = append(w.things, "mount "+line)
		}
	}
	var groups []string // beneath the group that we are in, wherever that is
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "sunaba-") {
			groups = append(groups, path)
		}
		return nil // others' come and go
	})
	for _, group := range groups { // of the dead ones too: it is they that leave groups
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(group), "sunaba-"), "-")
		if pid, err := strconv.Atoi(owner); err == nil && slices.Contains(h.servers, pid) {
			w.things = append(w.things, group)
		}
	}
	for pid := range h.family() {
		w.life = append(w.life, "process "+strconv.Itoa(pid))
	}
	for path := range h.beneath(filepath.Join(h.state, "agent-mcp")) {
		if !kept.MatchString(path) {
			w.life = append(w.life, path)
		}
	}
	return w
}

// kept is what outlives a server on purpose: logs, locks that name nothing, and
// for two days what agent_status tells of a dead server's Tasks.
var kept = regexp.MustCompile(`/log(/|$)|/workspace(/|$)|/run(/\.lock|/[^/]+(/lock|/ledger\.jsonl)?)?$`)

// beneath are all files and directories of a tree, in lexical order.
func (h *house) beneath(root string) iter.Seq2[string, fs.FileInfo] {
	h.t.Helper()
	return func(yield func(string, fs.FileInfo) bool) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && !yield(path, info) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// family are the living processes that run our program, or that it started
// under this house's sandbox, with the parent of each.
func (h *house) family() map[int]int {
	out := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, err := os.Readlink("/proc/" + e.Name() + "/exe")
		cwd, err2 := os.Readlink("/proc/" + e.Name() + "/cwd")
		ours := err == nil && exe == h.program || err2 == nil && strings.HasPrefix(cwd, h.ws) && pid != os.Getpid()
		if stat, err := os.ReadFile("/proc/" + e.Name() + "/stat"); ours && err == nil {
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if parent, err := strconv.Atoi(fields[1]); err == nil && fields[0] != "Z" {
				out[pid] = parent
			}
		}
	}
	return out
}

// settled waits until the world is as at the beginning, and says how it differs.
func (h *house) settled(begin world) string {
	h.t.Helper()
	left := ""
	for range 100 { // the kernel takes its time with processes
		if left = cmp.Diff(begin, h.world(), cmp.AllowUnexported(world{})); left == "" {
			return ""
		}
		time.Sleep(20 * time.Millisecond)
	}
	return left
}
