package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/policy"
	"sunaba/scope"
)

func init() {
	attacks["rename-exchange"] = func(args []string) error {
		return unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], unix.RENAME_EXCHANGE)
	}
	attacks["truncate"] = func(args []string) error { return unix.Truncate(args[0], 0) }
	attacks["unmount"] = func(args []string) error { return unix.Unmount(args[0], unix.MNT_DETACH) }
	attacks["mount-over"] = func(args []string) error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("none", args[0], "tmpfs", 0, "")
	}
	attacks["make-device"] = func(args []string) error {
		return unix.Mknod(args[0], unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	}
	attacks["reopen"] = func(args []string) error { // a handle without rights, opened again with them
		fd, err := unix.Open(args[0], unix.O_PATH, 0)
		if err != nil {
			return err
		}
		f, err := os.Open("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return err
	}
	attacks["read-in-root"] = func(args []string) error { // as if the directory were the root
		dir, err := unix.Open(filepath.Dir(args[0]), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.Openat2(dir, "/../"+filepath.Base(args[0]), &unix.OpenHow{Flags: unix.O_RDONLY, Resolve: unix.RESOLVE_IN_ROOT})
		if err != nil {
			return err
		}
		_, err = unix.Read(fd, make([]byte, 1))
		return err
	}
	attacks["link-nameless"] = func(args []string) error { // a file that never had a name gets one
		fd, err := unix.Open(filepath.Dir(args[0]), unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, args[0], unix.AT_SYMLINK_FOLLOW)
	}
	attacks["map-executable"] = func(args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		return err
	}
}

// filesBox is a workspace with something of every kind that a policy takes
// away: names are denied, there or not, and areas have fewer rights.
func filesBox(t *testing.T) *fixture {
	return newFixture(t, func(f *fixture) {
		f.files()
		shown := filepath.Join(f.root, "shown")
		f.p.Roots = append(f.p.Roots, policy.Root{Path: shown, Logical: shown, Kind: policy.RootMount, Capability: scope.R})
		read := func(p string) scope.Rule { return scope.Rule{Target: p, Permission: scope.Read, Recursive: true} }
		write := func(p string) scope.Rule { return scope.Rule{Target: p, Permission: scope.Write, Recursive: true} }
		f.p.Scope = &policy.Narrowing{Deny: f.rules(
			read("key"), read("secret"), read("deep/er/hidden"), read("absent"), read("none/such"), write("frozen"), write("nowhere"),
		)}
	})
}

// TestAttacksOnFiles: every way around what a policy says of files. Each row is
// a script in the workspace, or the name of an attack with a path there; inside
// it fails, and outside, on a copy of the workspace, it succeeds.
//
// Covers: SD-18, SD-19, C-34, C-67, FS-10, SEC-INV-02, AT-08
func TestAttacksOnFiles(t *testing.T) {
	f := filesBox(t)
	rows := []struct {
		script, attack string
		root           bool // the twin needs root
	}{
		// Denied, and read all the same.
		{script: "cat key"},
		{script: "cat secret/key"},
		{script: "ls secret | grep key"},
		{script: "cd secret"},
		{script: "chmod 755 secret && cat secret/key"},
		{script: "chmod 644 key && cat key"},
		{script: "ln key other && cat other"},
		{script: "ln secret/key other && cat other"},
		{script: "ln -s secret/key soft && cat soft"},
		{script: "cp key free/copy"},
		{script: "mv key free/key && cat free/key"},
		{script: "mv deep d2 && cat d2/er/hidden"},
		{script: "mv deep/er free/er && cat free/er/hidden"},
		{script: `cat "/proc/self/root$PWD/key"`},
		{script: "cat /proc/self/cwd/key"},
		{script: "exec 3<. && cat /proc/self/fd/3/key"},
		{script: "cd free && cat ../secret/../key"},
		{attack: "reopen key"},
		{attack: "read-in-root key"},
		{attack: "unmount key", root: true},
		// Denied, and replaced or made.
		{script: "echo x > key"},
		{script: "echo x > n && mv n key"},
		{script: "rm -f key && test ! -e key"},
		{script: "rm -r secret"},
		{script: "mv secret s2 && mkdir secret && echo x > secret/key"},
		{script: "mkdir absent && echo x > absent/key"},
		{script: "echo x > absent"},
		{script: "ln -s free absent"},
		{script: "mkfifo absent"},
		{script: "mkdir -p none/such"},
		{script: "echo x > n && mv n none"},
		{script: "mkdir d && mv d nowhere"},
		{script: "touch n && ln n nowhere"},
		{attack: "rename-exchange free/file key"},
		{attack: "rename-exchange free secret"},
		// Frozen, or an area that is shown only.
		{script: "echo x >> frozen/file"},
		{script: "rm frozen/file"},
		{script: "mv frozen f2"},
		{script: "mv frozen f2 && ln -s free frozen"},
		{script: "echo x > n && mv n frozen/file"},
		{script: "ln free/file frozen/l"},
		{script: "ln frozen/file l && echo x > l"},
		{script: "chmod 777 frozen/file"},
		{script: `chown "$(id -u)" frozen/file`},
		{script: "touch -d @1 frozen/file"},
		{script: "mkfifo frozen/p"},
		{script: `exec 3<frozen/file && echo x > /proc/self/fd/3`},
		{attack: "truncate frozen/file"},
		{attack: "rename-exchange free/file frozen/file"},
		{attack: "link-nameless frozen/l"},
		{attack: "mount-over frozen", root: true},
		{script: "echo x >> shown/file"},
		{script: "rm shown/file"},
		{script: "mv shown s2"},
		{script: "mv shown/file free/moved"},
		{script: "ln shown/file free/l && echo x > free/l"},
		{script: "chmod 777 shown/file"},
		{script: "shown/program"},
		{script: loaderOf(t) + " shown/program"},
		{attack: "map-executable shown/program"},
		{attack: "link-nameless shown/l"},
		{attack: "make-device free/null", root: true},
	}
	act := func(script, attack string) string {
		if attack == "" {
			return script
		}
		return "'" + self() + "' " + attackWord + " " + attack
	}
	for _, r := range rows {
		if got := f.sh(act(r.script, r.attack)); got.ExitCode == 0 || got.Err != "" {
			t.Errorf("%s%s: inside: %d %s %s", r.script, r.attack, got.ExitCode, got.Out, got.Err)
		}
	}
	for path, want := range map[string]string{"key": "s3", "secret/key": "s3", "deep/er/hidden": "s3", "frozen/file": "s3", "shown/file": "s3"} {
		if got := f.read(path); got != want {
			t.Errorf("%s holds %q", path, got)
		}
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.root && os.Geteuid() != 0 {
			continue
		}
		if r.attack == "unmount key" { // there must be one to take away
			continue
		}
		outside := policyOnly(t)
		outside.files()
		twin := exec.Command("/bin/sh", "-c", act(r.script, r.attack))
		twin.Dir = outside.root
		if out, err := twin.CombinedOutput(); err != nil {
			t.Errorf("%s%s: the twin outside failed too: %v\n%s", r.script, r.attack, err, out)
		}
	}
}

// files makes what filesBox has a policy for.
func (f *fixture) files() {
	f.t.Helper()
	for _, p := range []string{"key", "secret/key", "deep/er/hidden", "deep/er/free", "frozen/file", "shown/file", "free/file"} {
		f.write(p, "s3")
	}
	program, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.root, "shown/program"), program, 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// TestFilesOfTheHost: what the host makes where something is denied, while the
// Task runs, is denied as well.
//
// Covers: C-67, SD-19
func TestFilesOfTheHost(t *testing.T) {
	f := filesBox(t)
	f.write("secret/later", "s3")
	f.write("secret/sub/later", "s3")
	f.write("frozen/later", "s3")
	for _, script := range []string{"cat secret/later", "cat secret/sub/later", "echo x > frozen/later", "rm frozen/later"} {
		if r := f.sh(script); r.ExitCode == 0 {
			t.Errorf("%s: %s", script, r.Out)
		}
		defer f.twin(script)
	}
}

// TestPlantedTargets: a link that was planted where a mount will be placed is
// not followed, whatever the mount is for (trap 11, CVE-2026-87766).
//
// Covers: FS-03
func TestPlantedTargets(t *testing.T) {
	for name, change := range map[string]func(f *fixture, at string){
		"mount": func(f *fixture, at string) {
			f.p.Roots = append(f.p.Roots, policy.Root{Path: at, Logical: at, Kind: policy.RootMount, Capability: scope.R})
		},
		"denied": func(f *fixture, at string) {
			f.p.Scope = &policy.Narrowing{Deny: []scope.Rule{{Target: filepath.Join(at, "file"), Permission: scope.Read, Recursive: true}}}
		},
		"frozen": func(f *fixture, at string) {
			f.p.Scope = &policy.Narrowing{Deny: []scope.Rule{{Target: filepath.Join(at, "file"), Permission: scope.Write, Recursive: true}}}
		},
		"flat": func(f *fixture, at string) {
			f.p.Scope = &policy.Narrowing{Allow: []scope.Rule{
				{Target: f.root, Permission: scope.Read, Recursive: true}, {Target: at, Permission: scope.Write, Delete: true},
			}}
		},
		"part": func(f *fixture, at string) {
			f.p.Scope = &policy.Narrowing{Allow: []scope.Rule{
				{Target: f.root, Permission: scope.Read, Recursive: true}, {Target: at, Permission: scope.Write, Recursive: true, Delete: true},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := policyOnly(t)
			outside := filepath.Join(filepath.Dir(f.root), "outside")
			secret := f.write(filepath.Join(outside, "file"), "s3")
			at := filepath.Join(f.root, "planted")
			if err := os.Symlink(outside, at); err != nil {
				t.Fatal(err)
			}
			change(f, at)
			s, err := Start(t.Context(), Options{Policy: f.p, Placeholders: &plainPlaceholders{}})
			if err != nil {
				return // refused is as good
			}
			f.s = s
			for _, script := range []string{"cat planted/file", "echo x > planted/file", "cat " + secret, "rm planted/file"} {
				if r := f.sh(script); r.ExitCode == 0 {
					t.Errorf("%s: %s", script, r.Out)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if f.read(secret) != "s3" {
				t.Error("the file outside was changed")
			}
			twin := exec.Command("/bin/sh", "-c", "cat planted/file && echo x > planted/file && rm planted/file")
			twin.Dir = f.root
			if out, err := twin.CombinedOutput(); err != nil {
				t.Errorf("the twin outside failed too: %v\n%s", err, out)
			}
		})
	}
}
