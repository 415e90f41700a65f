package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/internal/attack/act"
	"sunaba/policy"
	"sunaba/scope"
)

// TestForeignArchitecture: the i386 gate would bypass every rule by number
// (trap 1). The attack is killed, not merely refused.
func TestForeignArchitecture(t *testing.T) {
	f := newFixture(t, nil)
	program := filepath.Join(f.root, "int80")
	if err := os.WriteFile(program, act.UnshareByInt80(), 0o755); err != nil {
		t.Fatal(err)
	}
	want := 128 + int(unix.SIGSYS)
	if err := act.Execute(program); err != nil {
		t.Logf("this kernel has no i386 gate: %v", err)
		want = 128 + int(unix.SIGSEGV) // there is nothing to refuse
	}
	if r := f.call("run", order{Argv: []string{program}}); r.ExitCode != want {
		t.Errorf("inside: exit %d, want %d (%s)", r.ExitCode, want, r.Err)
	}
}

// TestUnknownSystemCalls: numbers above the table answer ENOSYS (trap 19).
func TestUnknownSystemCalls(t *testing.T) {
	f := newFixture(t, nil)
	r := f.call("run", order{Argv: []string{self(), attackWord, "unknown-syscall"}})
	if r.ExitCode != 1 || r.Out != "failed: ENOSYS\n" {
		t.Errorf("exit %d: %s", r.ExitCode, r.Out)
	}
}

// TestInheritedDescriptors: what the launching shell left open does not reach
// a command (trap 9).
func TestInheritedDescriptors(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(secret, unix.O_RDONLY, 0) // without close-on-exec, as a shell does
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	twin := exec.Command(self(), attackWord, "inherited")
	if out, err := twin.CombinedOutput(); err != nil {
		t.Fatalf("the twin sees no descriptor either: %v\n%s", err, out)
	}
	f := newFixture(t, nil)
	if r := f.call("run", order{Argv: []string{self(), attackWord, "inherited"}}); r.ExitCode != 1 {
		t.Errorf("inside: exit %d\n%s", r.ExitCode, r.Out)
	}
}

// TestWorkerCannotBeHurt: PID 1 ends for nobody inside, and tells nothing
// (traps 10, 17).
func TestWorkerCannotBeHurt(t *testing.T) {
	f := newFixture(t, nil)
	for sig := 1; sig <= 31; sig++ {
		f.call("run", order{Argv: []string{self(), attackWord, "kill", "1", strconv.Itoa(sig)}})
	}
	f.sh("kill -9 -1; kill -9 1; for p in 2 3 4 5 6 7 8 9 10 11 12; do kill -9 $p; done")
	for _, path := range []string{"/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd/3"} {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "read", path}}); r.ExitCode != 1 {
			t.Errorf("%s is readable: %s", path, r.Out)
		}
	}
	if r := f.sh("echo alive"); r.Out != "alive\n" || r.ExitCode != 0 {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestWriteIsNotDelete compares what a command may do at every combination of
// rights (FS-04, FS-10, traps 3, 5, 6). The workspace lies beneath /tmp, whose
// scratch part grants everything.
//
// Covers: FS-04, FS-08a, FS-08b, FS-10, S1-165, S1-166, S1-167, S1-168, S1-246
func TestWriteIsNotDelete(t *testing.T) {
	type verdicts struct{ Read, Create, Overwrite, Remove, RenameAcross, Execute, Chmod bool }
	want := map[scope.Capability]verdicts{
		scope.R:                     {Read: true},
		scope.R | scope.X:           {Read: true, Execute: true},
		scope.R | scope.W:           {Read: true, Create: true, Overwrite: true, Chmod: true},
		scope.R | scope.W | scope.D: {Read: true, Create: true, Overwrite: true, Chmod: true, Remove: true, RenameAcross: true},
		scope.All:                   {Read: true, Create: true, Overwrite: true, Chmod: true, Remove: true, RenameAcross: true, Execute: true},
	}
	for c, expected := range want {
		t.Run(c.String(), func(t *testing.T) {
			f := newFixture(t, func(f *fixture) {
				f.p.Roots[0].Capability = c
				f.write("old", "o")
				f.write("gone", "g")
				f.write("a/x", "x")
				f.write("b/y", "y")
				program := f.write("program", "#!/bin/sh\nexit 0\n")
				if err := os.Chmod(program, 0o755); err != nil {
					f.t.Fatal(err)
				}
			})
			ok := func(script string) bool { return f.sh(script).ExitCode == 0 }
			got := verdicts{
				Read:         ok("cat old"),
				Create:       ok("echo n > new"),
				Overwrite:    ok("echo n > old"),
				Chmod:        ok("chmod 700 old"),
				Remove:       ok("rm gone"),
				RenameAcross: ok("mv a/x b/x"),
				Execute:      ok("./program"),
			}
			if got != expected {
				t.Errorf("verdicts\n got %+v\nwant %+v", got, expected)
			}
		})
	}
}

// TestProtectedPaths: what must not be changed holds for commands too, made or
// not made yet, by name, by rename of a parent, by hard link (traps 12, C-71).
//
// Covers: S1-162, SEC-INV-02, SD-19
func TestProtectedPaths(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("agent.yaml", "schema_version: 2")
		f.write("deep/er/skill.md", "s")
		f.write("deep/er/free.md", "s")
		for _, p := range []policy.Protected{
			{Path: "agent.yaml"}, {Path: "agent.local.yaml"}, {Path: "deep/er/skill.md"},
			{Path: ".git/hooks", Dir: true}, {Path: "store", Hidden: true}, {Path: "key", Hidden: true},
		} {
			p.Path = filepath.Join(f.root, p.Path)
			f.p.Protected = append(f.p.Protected, p)
		}
		f.write("store/state", "hidden")
		f.write("key", "hidden")
	})
	must := func(script string) {
		t.Helper()
		if r := f.sh(script); r.ExitCode != 0 {
			t.Errorf("%s: exit %d\n%s", script, r.ExitCode, r.Out)
		}
	}
	mustNot := func(script string) {
		t.Helper()
		if r := f.sh(script); r.ExitCode == 0 {
			t.Errorf("%s: succeeded\n%s", script, r.Out)
		}
	}
	must("cat agent.yaml")
	mustNot("echo x > agent.yaml")
	mustNot("rm -f agent.yaml")
	mustNot("mv agent.yaml b.yaml")
	mustNot("ln agent.yaml b.yaml && echo x > b.yaml")
	mustNot("chmod 777 agent.yaml")
	mustNot("echo x > n && mv n agent.yaml")
	mustNot("echo x > agent.local.yaml")
	mustNot("echo x > n && mv n agent.local.yaml")
	mustNot("ln -s n agent.local.yaml")
	mustNot("mkdir -p .git/hooks")
	mustNot("mv .git .git2")
	mustNot("mv deep deeper")
	mustNot("mv deep/er deep/est")
	mustNot("echo x > deep/er/skill.md")
	must("echo x > deep/er/free.md")
	mustNot("cat store/state")
	mustNot("ls store")
	mustNot("cat key")
	mustNot("echo x > key")
	mustNot("rm -rf store")
	if f.read("agent.yaml") != "schema_version: 2" || f.read("deep/er/skill.md") != "s" || f.read("store/state") != "hidden" {
		t.Error("a protected file changed")
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"agent.local.yaml", ".git"} {
		if _, err := os.Lstat(filepath.Join(f.root, p)); !os.IsNotExist(err) {
			t.Errorf("%s remains on the host", p)
		}
	}
	// The twins: without the sandbox each act succeeds.
	for _, script := range []string{"echo x > agent.local.yaml", "mkdir -p .git/hooks", "mv .git .git2", "cat key", "rm -rf store", "mv deep deeper", "echo x > agent.yaml", "mv agent.yaml b.yaml"} {
		twin := exec.Command("/bin/sh", "-c", script)
		twin.Dir = f.root
		if out, err := twin.CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %s: %v\n%s", script, err, out)
		}
	}
}

// TestPlantedLink: a root that became a link since it was resolved is not
// followed (trap 11).
//
// Covers: FS-03, AT-08
func TestPlantedLink(t *testing.T) {
	f := policyOnly(t)
	elsewhere := filepath.Join(filepath.Dir(f.root), "elsewhere")
	if err := os.Rename(f.root, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, f.root); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{Policy: f.p})
	if err == nil {
		t.Error("started over a planted link", s.Close())
	}
}

// TestNoExecuteTask: with no execute granted, code cannot come in by other
// doors either (trap 7).
//
// Covers: FS-10
func TestNoExecuteTask(t *testing.T) {
	for name, change := range map[string]func(e *policy.Effective){
		"readonly":               func(e *policy.Effective) { e.Profile = "readonly" },
		"development, but for X": func(e *policy.Effective) { e.Roots[0].Capability &^= scope.X },
		"nothing but reading":    func(e *policy.Effective) { e.Roots[0].Capability = scope.R },
	} {
		t.Run(name, func(t *testing.T) { noExecuteTask(t, change) })
	}
}

func noExecuteTask(t *testing.T, change func(e *policy.Effective)) {
	f := newFixture(t, func(f *fixture) {
		change(&f.p)
		if err := os.WriteFile(filepath.Join(f.root, "program"), act.ExitZero(), 0o755); err != nil {
			f.t.Fatal(err)
		}
	})
	program := filepath.Join(f.root, "program")
	if r := f.call("run", order{Argv: []string{program}}); r.Err == "" {
		t.Errorf("executed: %+v", r)
	}
	if r := f.sh("cp program $TMPDIR/p && $TMPDIR/p"); r.ExitCode == 0 {
		t.Error("executed from scratch")
	}
	if r := f.call("run", order{Argv: []string{self(), attackWord, "execute-memfd"}}); r.ExitCode != 1 {
		t.Errorf("executed from a memfd: %s", r.Out)
	}
	if err := act.Execute(program); err != nil {
		t.Errorf("the twin outside failed too: %v", err)
	}
}

// TestSignalsFromOutside: no signal that a process of the same user outside
// sends by mistake ends the Worker, but for the two that nothing can catch.
func TestSignalsFromOutside(t *testing.T) {
	f := policyOnly(t)
	f.start()
	for sig := unix.Signal(1); sig <= 64; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP:
			continue
		}
		if err := unix.Kill(f.s.cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		if r := f.call("run", order{Argv: []string{"/usr/bin/true"}}); r.Err != "" || r.ExitCode != 0 {
			t.Fatalf("after signal %d: %+v", sig, r)
		}
	}
	if err := unix.Kill(f.s.cmd.Process.Pid, unix.SIGKILL); err != nil { // the twin
		t.Fatal(err)
	}
	if _, err := f.s.Call(t.Context(), "run", nil); err == nil {
		t.Error("the Worker lives after SIGKILL")
	}
}
