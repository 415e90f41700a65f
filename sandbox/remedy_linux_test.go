package sandbox

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// What forbids user namespaces is told by what the kernel says and how it is
// set, whichever is the better witness.
// Covers: SD-27
func TestNamespaceRemedies(t *testing.T) {
	for name, tt := range map[string]struct {
		said     error
		settings map[string]string
		want     string
	}{
		"Ubuntu 24.04":       {unix.EACCES, map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1", "user/max_user_namespaces": "63000"}, "apparmor"},
		"Debian 10":          {unix.EPERM, map[string]string{"kernel/unprivileged_userns_clone": "0"}, "userns_clone"},
		"switched off":       {unix.ENOSPC, map[string]string{"user/max_user_namespaces": "0"}, "max_userns"},
		"too many":           {fmt.Errorf("start: %w", unix.ENOSPC), map[string]string{"user/max_user_namespaces": "4"}, "max_userns"},
		"kernel without":     {unix.EINVAL, nil, "kernel_userns"},
		"Docker":             {unix.EPERM, map[string]string{"user/max_user_namespaces": "63000"}, "container"},
		"nothing to be seen": {nil, nil, "container"},
	} {
		got := namespaceRemedy(tt.said, func(path string) string { return tt.settings[path] })
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// They are used, not only made.
func TestNamespacesAreThere(t *testing.T) {
	if err := tryNamespaces(t.Context()); err != nil {
		t.Error(err)
	}
}
