package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFence shows that a Worker of root's stands in a control group of its
// own, and that neither the broker nor the group stays there.
//
// Covers: C-78
func TestFence(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: everybody else is fenced by RLIMIT_NPROC")
	}
	name := fmt.Sprintf("/sunaba-%d-", os.Getpid())
	groups := func(pid int) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	f := policyOnly(t)
	f.start()
	if got := groups(f.s.cmd.Process.Pid); !strings.Contains(got, name) {
		t.Errorf("the Worker is in\n%s", got)
	}
	if got := groups(os.Getpid()); strings.Contains(got, name) {
		t.Errorf("the broker is in\n%s", got)
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		left, err := filepath.Glob(root + name + "*")
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
