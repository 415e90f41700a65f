package sandbox

import (
	"fmt"
	"os"
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
	if left := groupsOf(os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
