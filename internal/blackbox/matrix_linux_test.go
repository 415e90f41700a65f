package blackbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is all that a Task may leave behind, as lines: the workspace with modes
// and contents, mounts of the host, control groups of every server that was
// started, dead or alive, and our processes.
func (h *house) world() []string {
	h.t.Helper()
	var out []string
	err := filepath.WalkDir(h.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", path, info.Mode())
		if info.Mode().IsRegular() {
			line += fmt.Sprintf(" %d %q", info.Size(), h.read(path))
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, h.dir) {
			out = append(out, "mount "+line)
		}
	}
	for pid := range h.family() {
		out = append(out, "process "+strconv.Itoa(pid))
	}
	for _, pid := range h.servers { // the dead ones too: it is they that leave groups
		groups, err := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/sunaba-%d-*", pid))
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, groups...)
	}
	return out
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
		ours := err == nil && exe == program || err2 == nil && strings.HasPrefix(cwd, h.ws) && pid != os.Getpid()
		if stat, err := os.ReadFile("/proc/" + e.Name() + "/stat"); ours && err == nil {
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if parent, err := strconv.Atoi(fields[1]); err == nil && fields[0] != "Z" {
				out[pid] = parent
			}
		}
	}
	return out
}

// victim finds whom to kill: the server, the Worker beneath it, or a command
// beneath that; 0 when there is none at this moment.
func (h *house) victim(who string, server int) int {
	if who == "server" {
		return server
	}
	family := h.family()
	for worker, parent := range family {
		if parent != server {
			continue
		}
		if who == "worker" {
			return worker
		}
		for command, parent := range family {
			if parent == worker {
				return command
			}
		}
	}
	return 0
}

// TestCrashMatrix kills the server, its Worker or the command at moments all
// along a Task, then starts the server twice: each time the host is as it was
// at the beginning, in files and in the kernel.
//
// Covers: AT-13, REC-03, REC-06, SEC-INV-10, UC-09
func TestCrashMatrix(t *testing.T) {
	h := newHouse(t, "")
	h.write("kept", "kept")
	h.apply()
	begin := h.world()
	inTheMiddle := map[string]int{}
	moments := map[string]int{"server": 12, "worker": 5, "command": 5}
	for _, who := range []string{"server", "worker", "command"} {
		for moment := range moments[who] {
			c := h.serve()
			h.model.play("execute", do("run_command", map[string]any{"command": "sleep 0.1; sleep 0.1"}))
			c.tool("agent_run", map[string]any{"request": "wait"})
			if who == "server" {
				time.Sleep(time.Duration(moment) * 16 * time.Millisecond)
			}
			pid := h.victim(who, c.cmd.Process.Pid)
			for range 200 { // for it to come; it may have gone already
				if pid != 0 || moment == 0 {
					break
				}
				time.Sleep(5 * time.Millisecond)
				pid = h.victim(who, c.cmd.Process.Pid)
			}
			if who != "server" {
				time.Sleep(time.Duration(moment) * 20 * time.Millisecond)
			}
			if pid != 0 {
				if len(h.hidden()) > 0 {
					inTheMiddle[who]++
				}
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
			}
			if who == "server" {
				for range c.lines {
				}
				_ = c.cmd.Wait()
			} else if code := c.stop(); code != 0 {
				t.Errorf("%s killed at %d: the server ends with %d\n%s", who, moment, code, c.stderr)
			}
			for again := range 2 {
				if again > 0 || who == "server" {
					if code := h.serve().stop(); code != 0 {
						t.Fatalf("%s killed at %d, start %d: exit %d", who, moment, again, code)
					}
				}
				if left := h.settled(begin); left != "" {
					t.Fatalf("%s killed at %d, after start %d:\n%s", who, moment, again, left)
				}
			}
		}
	}
	for _, who := range []string{"server", "worker", "command"} {
		if inTheMiddle[who] == 0 {
			t.Errorf("the %s was never killed in the middle of a Task: the test shows nothing", who)
		}
	}
}

// settled waits until the world is as at the beginning, and says how it differs.
func (h *house) settled(begin []string) string {
	var now []string
	for range 100 { // the kernel takes its time with processes
		if now = h.world(); slices.Equal(now, begin) {
			return ""
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "began as\n" + strings.Join(begin, "\n") + "\nis now\n" + strings.Join(now, "\n")
}
