package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// TestNestedAreas: in an area inside another one its own rights hold, however
// much the outer one grants: the kernel's rules add up along a path, its mount
// does not (trap 3).
//
// Covers: FS-09, FS-09a, FS-09b, FS-10
func TestNestedAreas(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		mount := func(rel string, c scope.Capability) {
			p := filepath.Join(f.root, rel)
			f.p.Roots = append(f.p.Roots, policy.Root{Path: p, Logical: p, Kind: policy.RootMount, Capability: c})
		}
		for _, dir := range []string{"free", "a/shown", "a/given", "../out", "../out/shown", "../kept", "../kept/given"} {
			program := f.write(filepath.Join(f.root, dir, "program"), "#!/bin/sh\nexit 0\n")
			if err := os.Chmod(program, 0o755); err != nil {
				f.t.Fatal(err)
			}
			f.write(filepath.Join(f.root, dir, "file"), "x")
			f.write(filepath.Join(f.root, dir, "inner/file"), "x")
			copied, err := os.ReadFile("/usr/bin/true") // linked dynamically
			if err != nil {
				f.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(f.root, dir, "elf"), copied, 0o755); err != nil {
				f.t.Fatal(err)
			}
		}
		mount("a/shown", scope.R)
		mount("a/given", scope.R|scope.W|scope.D)
		mount("../out", scope.R|scope.W|scope.D)
		mount("../out/shown", scope.R)
		mount("../kept", scope.R|scope.W)
		mount("../kept/given", scope.R|scope.W|scope.D)
	})
	type verdicts struct{ Read, List, Write, Create, Truncate, Remove, Rename, Chmod, Execute, Loader, Moved, Deep bool }
	loader := loaderOf(t)
	for dir, want := range map[string]verdicts{
		"free":          {true, true, true, true, true, true, true, true, true, true, true, true},
		"a/shown":       {Read: true, List: true},
		"a/given":       {Read: true, List: true, Write: true, Create: true, Truncate: true, Remove: true, Rename: true, Chmod: true, Deep: true},
		"../out":        {Read: true, List: true, Write: true, Create: true, Truncate: true, Remove: true, Rename: true, Chmod: true, Deep: true},
		"../out/shown":  {Read: true, List: true},
		"../kept":       {Read: true, List: true, Write: true, Create: true, Truncate: true, Chmod: true, Deep: true},
		"../kept/given": {Read: true, List: true, Write: true, Create: true, Truncate: true, Remove: true, Rename: true, Chmod: true, Deep: true},
	} {
		ok := func(script string) bool { return f.sh("cd "+dir+" && "+script).ExitCode == 0 }
		got := verdicts{
			Read:     ok("cat file"),
			List:     ok("ls | grep -q file"),
			Write:    ok("echo x >> file"),
			Create:   ok("echo x > new"),
			Truncate: ok(": > file"),
			Chmod:    ok("chmod 600 file"),
			Execute:  ok("./program"),
			Loader:   ok(loader + " ./elf"),
			Remove:   ok("rm inner/file"),
			Rename:   ok("mv file file2 && mv file2 file"),
			Moved:    ok("cd .. && mv " + filepath.Base(dir) + " gone"),
			Deep:     ok("echo x > inner/new"),
		}
		if dir == "free" {
			got.Deep = true // it is gone
		}
		if got != want {
			t.Errorf("%s\n got %+v\nwant %+v", dir, got, want)
		}
	}
	// A parent is not moved away either: the next Task would look elsewhere.
	if r := f.sh("mv a b"); r.ExitCode == 0 {
		t.Error("the parent of an area was renamed")
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"cd a/shown && cat file && ls && echo x >> file && : > file && chmod 600 file && ./program && rm inner/file && mv file f", "mv a b"} {
		f.twin(script)
	}
}

// TestNestedRefused: what neither kernel rules nor a mount can express is
// refused before anything runs.
func TestNestedRefused(t *testing.T) {
	f := policyOnly(t)
	inner := filepath.Join(f.root, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	f.p.Roots = append(f.p.Roots, policy.Root{Path: inner, Logical: inner, Kind: policy.RootMount, Capability: scope.R | scope.W, Source: "agent.yaml:9:5"})
	s, err := Start(t.Context(), Options{Policy: f.p})
	if err == nil {
		t.Fatal("started", s.Close())
	}
	if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.PolicyNested || e.Args["source"] != "agent.yaml:9:5" || e.Args["path"] != inner || e.Args["other"] != f.root {
		t.Errorf("%v", err)
	}
	f.p.Roots[len(f.p.Roots)-1].Capability = scope.R // the remedy
	f.start()
}

// loaderOf returns the program interpreter of this machine.
func loaderOf(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skip("no dynamic loader on this machine")
	return ""
}
