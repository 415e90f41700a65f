package policy

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/fault"
)

// Covers: S1-220
func TestStateDir(t *testing.T) {
	base := t.TempDir()
	t.Setenv("HOME", filepath.Join(base, "home"))
	for name, tt := range map[string]struct{ variable, want string }{
		"absolute": {filepath.Join(base, "xdg"), filepath.Join(base, "xdg", "agent-mcp")},
		"relative": {"xdg", filepath.Join(base, "home/.local/state/agent-mcp")},
		"unset":    {"", filepath.Join(base, "home/.local/state/agent-mcp")},
	} {
		t.Setenv("XDG_STATE_HOME", tt.variable)
		if got, err := StateDir(); err != nil || got != tt.want {
			t.Errorf("%s: %s %v", name, got, err)
		}
		if _, err := os.Lstat(tt.want); err == nil {
			t.Errorf("%s: StateDir created it", name)
		}
		got, err := MakeStateDir()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(got); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", name, info, err)
		}
		if err := os.Remove(got); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", "")
	if got, err := StateDir(); err == nil && !filepath.IsAbs(got) { // home from the user database
		t.Errorf("without HOME: %s", got)
	}
}

func TestStateDirIsRefused(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_STATE_HOME", base)
	dir := filepath.Join(base, "agent-mcp")
	for name, prepare := range map[string]func() error{
		"a file":           func() error { return os.WriteFile(dir, nil, 0o600) },
		"a link":           func() error { return os.Symlink(t.TempDir(), dir) },
		"a dangling link":  func() error { return os.Symlink("gone", dir) },
		"open to others":   func() error { return mkdir(dir, 0o755) },
		"open to a group":  func() error { return mkdir(dir, 0o710) },
		"owned by another": func() error { return mkdirOf(dir, 12345) },
	} {
		if name == "owned by another" && os.Geteuid() != 0 {
			continue // only root can prepare it
		}
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := StateDir(); fault.CodeOf(err) != fault.PlatformState {
			t.Errorf("%s: StateDir %v", name, err)
		}
		if _, err := MakeStateDir(); fault.CodeOf(err) != fault.PlatformState {
			t.Errorf("%s: MakeStateDir %v", name, err)
		}
		if _, err := NewStore(dir).Load("/a"); err == nil {
			t.Errorf("%s: Load succeeds", name)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := MakeStateDir(); err != nil {
		t.Errorf("a clean one: %v", err)
	}
}

func mkdir(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

func mkdirOf(dir string, uid int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chown(dir, uid, uid)
}

// What lies in the kernel's own trees is no place to work in.
func TestKernelTreesAreNoRoots(t *testing.T) {
	root := grow(t, "project/", "state/agent-mcp/", "innocent -> /proc/self")
	for _, path := range []string{"/proc", "/sys", "/dev", filepath.Join(root, "innocent")} {
		in := basic(root)
		in.Mounts = []MountInput{{path, "read_only", "m"}}
		if got := verdict(t, in); len(got) != 1 || got[0] != "policy.root root_kernel" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
