package pod

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/fault"
)

// What stands in the place of a session's file is neither followed nor waited
// for.
func TestPlantedSessionFiles(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := fileStore(t, t.TempDir())
	for name, plant := range map[SessionID]func(string) error{
		"link": func(path string) error { return os.Symlink(victim, path) },
		"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"dir":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		if err := plant(s.path(name)); err != nil {
			t.Fatal(err)
		}
		is(t, "append to a "+string(name), s.Append(t.Context(), name, some...), fault.PodStore)
		_, err := s.Messages(t.Context(), name)
		is(t, "messages of a "+string(name), err, fault.PodStore)
	}
	if data, _ := os.ReadFile(victim); string(data) != "precious" {
		t.Errorf("the victim holds %q", data)
	}
}

// A pipe in a manifest's place is not waited for.
func TestManifestIsNoPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.toml")
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(file)
	is(t, "a pipe", err, fault.PodManifest)
}

// A write that the system refuses leaves the session as it was.
func TestFailedAppendKeepsNothing(t *testing.T) {
	s := fileStore(t, t.TempDir())
	if err := s.Append(t.Context(), "s", some...); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.path("s"))
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	// The limit lies within the next line: part of it arrives.
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(len(before)) + 10, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err = s.Append(t.Context(), "s", some...)
	if back := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); back != nil {
		t.Fatal(back)
	}
	is(t, "append beyond the limit", err, fault.PodStore)
	if after, _ := os.ReadFile(s.path("s")); string(after) != string(before) {
		t.Errorf("the file grew from %d to %d bytes", len(before), len(after))
	}
	if err := s.Append(t.Context(), "s", some...); err != nil {
		t.Errorf("the twin without the limit: %v", err)
	}
}
