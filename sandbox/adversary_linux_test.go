package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/internal/attack/act"
	"sunaba/policy"
	"sunaba/scope"
)

func init() {
	attacks["chmod-same"] = func(args []string) error {
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		return os.Chmod(args[0], info.Mode().Perm())
	}
	for name, act := range map[string]func(path string, mode uint32) error{
		"chmod": unix.Chmod,
		"fchmod": func(path string, mode uint32) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return unix.Fchmod(int(f.Fd()), mode)
		},
		"fchmodat": func(path string, mode uint32) error { return unix.Fchmodat(unix.AT_FDCWD, path, mode, 0) },
		"fchmodat2": func(path string, mode uint32) error {
			return unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW)
		},
		"open": func(path string, mode uint32) error { // made with the bit, then given a content
			f, err := os.Create(path + ".new")
			if err != nil {
				return err
			}
			f.Close()
			if err := os.Remove(path + ".new"); err != nil {
				return err
			}
			fd, err := unix.Open(path+".new", unix.O_CREAT|unix.O_RDWR|unix.O_EXCL, mode)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if _, err := unix.Write(fd, act.ExitZero()); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		attacks["setuid-"+name] = func(args []string) error {
			if err := act(args[0], 0o4755); err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Stat(args[0], &st); err != nil {
				return err
			}
			if st.Mode&unix.S_ISUID == 0 {
				return errors.New("the bit is not there")
			}
			return nil
		}
	}
	attacks["set-attribute"] = func(args []string) error { return unix.Setxattr(args[0], "user.sunaba", []byte("x"), 0) }
	attacks["touch"] = func(args []string) error { return os.Chtimes(args[0], time.Unix(1, 0), time.Unix(1, 0)) }
	attacks["fork-storm"] = func([]string) error { // has no twin: nothing would end it
		for {
			unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		}
	}
	attacks["send-output-away"] = func([]string) error {
		for range 50 {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(1, pair[0], pair[1]), nil, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestProtectedLinks: a link that leads to what is protected stays where it
// is, be its end there or not; so does one on the way to what a rule denies.
//
// Covers: S1-162, SEC-INV-02
func TestProtectedLinks(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("dots/envrc", "good")
		f.write("real/secret", "good")
		for name, target := range map[string]string{".envrc": "dots/envrc", ".git": "gone", "way": "real"} {
			if err := os.Symlink(target, filepath.Join(f.root, name)); err != nil {
				f.t.Fatal(err)
			}
		}
		for _, p := range []policy.Protected{
			{Path: ".envrc"}, {Path: "dots/envrc"}, {Path: ".git"}, {Path: "gone", Dir: true}, {Path: ".git/hooks", Dir: true},
			{Path: "way/secret"}, {Path: "real/secret"},
		} {
			p.Path = filepath.Join(f.root, p.Path)
			f.p.Protected = append(f.p.Protected, p)
		}
	})
	scripts := []string{
		"rm .envrc", "mv .envrc x", "echo bad > x && mv -f x .envrc", "ln -sfn x .envrc", "echo bad > .envrc",
		"rm .git", "mkdir -p .git/hooks", "mkdir gone/hooks", "rm -d gone",
		"rm way", "mv way weg",
	}
	for _, script := range scripts {
		if r := f.sh(script); r.ExitCode == 0 {
			t.Errorf("%s: succeeded\n%s", script, r.Out)
		}
	}
	if r := f.sh("cat .envrc"); r.Out != "good" {
		t.Errorf("the link is not followed: %+v", r)
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	twin := exec.Command("/bin/sh", "-c", "rm .envrc && echo bad > .envrc && rm .git && mkdir -p .git/hooks && rm way && mkdir way")
	twin.Dir = f.root
	if out, err := twin.CombinedOutput(); err != nil {
		t.Errorf("the twin outside failed too: %v\n%s", err, out)
	}
}

// TestProtectedBeneathFile: what cannot come into being needs no placeholder: a
// work tree whose .git is a file starts all the same.
func TestProtectedBeneathFile(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write(".git", "gitdir: elsewhere")
		for _, p := range []policy.Protected{{Path: ".git"}, {Path: ".git/hooks", Dir: true}, {Path: ".git/config"}} {
			p.Path = filepath.Join(f.root, p.Path)
			f.p.Protected = append(f.p.Protected, p)
		}
	})
	if r := f.sh("rm .git || mv .git x || echo bad > .git"); r.ExitCode == 0 || f.read(".git") != "gitdir: elsewhere" {
		t.Errorf("the gitfile was changed: %+v", r)
	}
}

// TestHostFilesKeepTheirModes: as the owner of a device or of a file of /proc
// one could change its mode for the whole machine.
func TestHostFilesKeepTheirModes(t *testing.T) {
	f := newFixture(t, nil)
	for _, path := range []string{"/dev/null", "/dev/zero", "/proc/meminfo", "/proc", "/usr"} {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "chmod-same", path}}); r.ExitCode != 1 {
			t.Errorf("%s: %+v", path, r)
		}
		if os.Geteuid() != 0 {
			continue // the twin needs root
		}
		if out, err := exec.Command(self(), attackWord, "chmod-same", path).CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %s: %v\n%s", path, err, out)
		}
	}
	if r := f.sh("echo x > /dev/null && head -c 1 /dev/zero > /dev/null"); r.ExitCode != 0 {
		t.Errorf("the devices do not work: %+v", r)
	}
	for _, path := range []string{"/proc/kpageflags", "/proc/slabinfo", "/proc/vmallocinfo"} {
		if r := f.call("run", order{Argv: []string{self(), attackWord, "read", path}}); r.ExitCode != 1 {
			t.Errorf("%s is readable", path)
		}
	}
}

// TestNarrowedPartsKeepTheirModes: what sandbox.scope lets be read only keeps
// its mode, times and attributes as well, which no kernel rule but a read-only
// mount keeps (trap 6).
//
// Covers: SD-03
func TestNarrowedPartsKeepTheirModes(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("read/file", "r")
		f.write("write/file", "w")
		f.write("write/inner/file", "i")
		at := func(p string) string { return filepath.Join(f.root, p) }
		f.p.Scope = &policy.Narrowing{
			Allow: []scope.Rule{
				{Target: f.root, Permission: scope.Read, Recursive: true},
				{Target: at("write"), Permission: scope.Write, Recursive: true, Delete: true},
				{Target: at("absent"), Permission: scope.Write, Recursive: true},
				{Target: at("shut/part"), Permission: scope.Write, Recursive: true},
			},
			Deny: []scope.Rule{
				{Target: at("write/inner"), Permission: scope.Write, Recursive: true},
				{Target: at("shut"), Permission: scope.Write, Recursive: true},
			},
		}
		f.write("shut/part/file", "s")
	})
	for path, may := range map[string]bool{"read/file": false, "write/file": true, "write/inner/file": false, "shut/part/file": false} {
		for _, act := range []string{"chmod", "touch", "set-attribute", "write"} {
			args := []string{self(), attackWord, act, filepath.Join(f.root, path)}
			r := f.call("run", order{Argv: args})
			if (r.ExitCode == 0) != may {
				t.Errorf("%s %s: %+v", act, path, r)
			}
			if may || act == "set-attribute" { // not every file system has attributes
				continue
			}
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Errorf("the twin outside failed too: %s %s: %v\n%s", act, path, err, out)
			}
		}
	}
}

// TestFilesInMemoryAreCounted: empty files have no size, and take memory.
func TestFilesInMemoryAreCounted(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.p.Resources.ScratchBytes = 1 << 20 })
	for dir, limit := range map[string]uint64{"/dev/shm": 1 << 14, "$TMPDIR": 1 << 10} {
		r := f.sh("stat -f -c %c " + dir)
		if n, err := strconv.ParseUint(strings.TrimSpace(r.Out), 10, 64); err != nil || n > limit || n < 1000 {
			t.Errorf("%s has room for %s files: %v", dir, r.Out, err)
		}
	}
}

// TestNoSetUserID: no program is left on the host that makes whoever starts it
// the owner of the workspace.
func TestNoSetUserID(t *testing.T) {
	f := newFixture(t, nil)
	for _, way := range []string{"chmod", "fchmod", "fchmodat", "fchmodat2", "open"} {
		path := f.write("program-"+way, "x")
		args := []string{self(), attackWord, "setuid-" + way, path}
		if r := f.call("run", order{Argv: args}); r.ExitCode != 1 {
			t.Errorf("%s: %+v", way, r)
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeSetuid != 0 {
			t.Errorf("%s: %v %v", way, info.Mode(), err)
		}
		if way == "open" { // the kernel takes the bit away from those it has no reason to trust
			continue
		}
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %s: %v\n%s", way, err, out)
		}
	}
	if r := f.sh("chmod 755 program-chmod && chmod 2775 . && chmod u+w,g-s ."); r.ExitCode != 0 {
		t.Errorf("ordinary modes: %+v", r)
	}
}

// TestForgedSignals: commands stand in the Landlock domain of the launcher's
// thread, so that only the filter keeps their signals from PID 1; one that
// claims to come from the kernel ends a Go program (trap 10).
func TestForgedSignals(t *testing.T) {
	f := newFixture(t, nil)
	for _, way := range []string{"queue", "thread", "pidfd", "owner", "owner-ex", "owner-ioctl"} {
		r := f.call("run", order{Argv: []string{self(), attackWord, "signal-" + way, "1", strconv.Itoa(int(unix.SIGSEGV))}})
		if r.ExitCode != 1 && way != "owner" { // naming an owner may pass; what it gets is looked at below
			t.Errorf("%s: %+v", way, r)
		}
		if r := f.sh("echo alive"); r.Out != "alive\n" {
			t.Fatalf("%s: afterwards: %+v", way, r)
		}
		twin := exec.Command("/bin/sh", "-c", `"$@"; exit $?`, "sh", self(), attackWord, "signal-"+way, "parent", strconv.Itoa(int(unix.SIGCONT)))
		if out, err := twin.CombinedOutput(); err != nil {
			t.Errorf("the twin outside failed too: %s: %v\n%s", way, err, out)
		}
	}
}

// TestFirstCommandIsABomb: the fence must not take the Worker's own threads,
// not even before it has made any use of them.
func TestFirstCommandIsABomb(t *testing.T) {
	for range 5 {
		f := newFixture(t, func(f *fixture) { f.p.Resources.Processes = 4 })
		if r := f.call("run", order{Argv: []string{self(), attackWord, "fork-storm"}}); r.Stopped != "processes" {
			t.Errorf("stopped by %q: %+v", r.Stopped, r)
		}
		if r := f.sh("echo alive"); r.Out != "alive\n" {
			t.Errorf("afterwards: %+v", r)
		}
		if err := f.s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOutputSentAway: a command whose output is held open by a socket that only
// itself holds does not keep the Worker waiting: the kernel may take its time
// to find such a circle.
func TestOutputSentAway(t *testing.T) {
	f := newFixture(t, nil)
	for range 3 {
		r := f.call("run", order{Argv: []string{self(), attackWord, "send-output-away"}})
		if !r.Ended || r.ExitCode != 0 || r.Out != "succeeded\n" {
			t.Errorf("%+v", r)
		}
	}
}

// TestUnmappedMemory: memory that no process shows as its own is limited too.
//
// Covers: S1-177
func TestUnmappedMemory(t *testing.T) {
	for _, hog := range [][]string{{"memory-file", "768"}, {"memory-shared", "768"}, {"memory-tables"}} {
		t.Run(hog[0], func(t *testing.T) {
			f := newFixture(t, func(f *fixture) { f.p.Resources.MemoryMiB = 64 })
			if r := f.call("run", order{Argv: append([]string{self(), attackWord}, hog...)}); r.Stopped != "memory" {
				t.Errorf("stopped by %q: %+v", r.Stopped, r)
			}
			if out, err := exec.Command(self(), append([]string{attackWord}, hog...)...).CombinedOutput(); err != nil {
				t.Errorf("the twin outside failed too: %v\n%s", err, out)
			}
		})
	}
}

// TestHostStaysUsable: while a command takes all it can get, programs start on
// the host and files are written there; what stopped the command is named.
//
// Covers: S1-178, SD-28
func TestHostStaysUsable(t *testing.T) {
	for name, row := range map[string]struct {
		bomb    []string
		stopped string // "": refused piece by piece instead
	}{
		"processes":   {[]string{"fork-storm"}, "processes"},
		"threads":     {[]string{"thread-many", "4000"}, ""},
		"memory":      {[]string{"memory", "600"}, "memory"},
		"descriptors": {[]string{"descriptors", "100000"}, ""},
		"output":      {nil, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(f *fixture) { f.p.Resources.MemoryMiB, f.p.Resources.Processes = 128, 8 })
			o := order{Argv: append([]string{self(), attackWord}, row.bomb...)}
			if row.bomb == nil {
				o = order{Argv: []string{"/bin/sh", "-c", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"}, Timeout: 500 * time.Millisecond}
			}
			ended := make(chan struct{})
			host := make(chan error, 1)
			go func() {
				for n := 0; ; n++ {
					select {
					case <-ended:
						if n == 0 {
							host <- errors.New("nothing was tried")
						} else {
							host <- nil
						}
						return
					default:
					}
					err := exec.Command("/bin/true").Run()
					if err == nil {
						err = os.WriteFile(filepath.Join(t.TempDir(), "file"), make([]byte, 1<<16), 0o600)
					}
					if err != nil {
						host <- err
						return
					}
				}
			}()
			r := f.call("run", o)
			close(ended)
			if err := <-host; err != nil {
				t.Errorf("the host: %v", err)
			}
			if r.Stopped != row.stopped || row.stopped == "" && r.ExitCode == 0 {
				t.Errorf("stopped by %q: %+v", r.Stopped, r)
			}
			if r := f.sh("echo usable"); r.Out != "usable\n" {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

// TestAShellGrantsNothing: what a command may not do it may not do through an
// approved shell either, and what it may is the same.
//
// Covers: PRC-06b, S1-179
func TestAShellGrantsNothing(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("file", "x")
		f.write("secret", "x")
		f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: "secret", Permission: scope.Read, Recursive: true})}
		f.p.Entries = []policy.Entry{{Alias: "sh", Path: "/bin/sh", Shell: true}}
	})
	succeeded := 0
	for _, a := range [][]string{
		{"read", f.root + "/file"}, {"write", f.root + "/file"}, {"create", f.root}, {"read", "/etc/passwd"}, {"pair", "1", "1"},
		{"read", f.root + "/secret"}, {"write", "/usr/made"}, {"list", "/root"}, {"read", "/etc/shadow"}, {"write", "/proc/sys/kernel/hostname"},
		{"call", strconv.Itoa(unix.SYS_SOCKET), "2", "1", "0"}, {"mount-tmpfs", "/tmp"}, {"clone", strconv.Itoa(unix.CLONE_NEWUSER)},
		{"kill", "1", "9"}, {"attach", "1"}, {"gain"}, {"key"},
	} {
		argv := append([]string{self(), attackWord}, a...)
		direct := f.call("run", order{Argv: argv})
		if err := os.RemoveAll(f.root + "/made"); err != nil {
			t.Fatal(err)
		}
		shell := f.call("run", order{Argv: append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, argv...)})
		if direct.ExitCode != shell.ExitCode || direct.ExitCode > 1 {
			t.Errorf("%q: directly %d %s, through a shell %d %s", a, direct.ExitCode, direct.Out, shell.ExitCode, shell.Out)
		}
		if direct.ExitCode == 0 {
			succeeded++
		}
	}
	if succeeded < 4 {
		t.Errorf("only %d acts succeeded at all", succeeded)
	}
}
