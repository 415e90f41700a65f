package scopedfs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// Covers: FS-06a
func TestMkdirAll(t *testing.T) {
	w := build(t, "w/f = F", "w/d/", "w/l -> d", "w/ro/", "w/in/no/deep = X")
	f := w.open(w.deny(scope.Write, "w/ro"), w.deny(scope.Read, "w/new/denied"))
	for _, c := range []struct {
		path    string
		code    fault.Code
		created bool
	}{
		{"a/b/c", "", true},
		{"a/b/c", "", false},
		{"a/b/d/", "", true},
		{"l/x", "", true},
		{"d", "", false},
		{"f", fault.FSExists, false},
		{"f/", fault.FSNotDirectory, false},
		{"f/x", fault.FSNotDirectory, false},
		{"ro", fault.FSReadOnly, false},
		{"ro/x", fault.FSReadOnly, false},
		{"new/denied", unruled, false},
		{"new/denied/x", unruled, false},
		{"../x", outside, false},
		{"none/../x", fault.FSNotFound, false},
	} {
		out, err := f.MkdirAll(c.path)
		wants(t, c.path, err, c.code)
		if out.Created != c.created || out.Changed != c.created {
			t.Errorf("%s: %+v", c.path, out)
		}
	}
	for name, gone := range map[string]bool{"w/a/b/d": false, "w/d/x": false, "w/new": true, "w/x": true, "x": true, "w/none": true} {
		if w.missing(name) != gone {
			t.Errorf("%s: missing is %v", name, !gone)
		}
	}
}

// A directory on the way is made only where a rule allows it.
func TestParentsAreJudged(t *testing.T) {
	w := build(t, "w/read/there/deep/")
	f := w.open(w.allow(scope.Read, "w/read"), w.allow(scope.Write, "w/read/new/deep"), w.allow(scope.Write, "w/read/there/deep"), w.allow(scope.Write, "w/dark/new"))
	for path, code := range map[string]fault.Code{"read/new/deep/f": fault.FSReadOnly, "read/there/deep/x/f": "", "dark/new/f": unruled} {
		_, err := w.write(f, path, "x")
		wants(t, "write "+path, err, code)
		_, err = f.MkdirAll(path + "dir")
		wants(t, "make "+path, err, code)
	}
	if !w.missing("w/read/new") || !w.missing("w/dark") {
		t.Error("a refused act made a directory")
	}
}

// Covers: FS-04, FS-06b, SD-18
func TestRemove(t *testing.T) {
	w := build(t, "w/f = F", "w/full/x = X", "w/empty/", "w/l -> f", "w/ld -> full", "w/dead -> none", "w/out -> $/o", "o = O",
		"w/p |", "w/keep/sub/", "w/conf = C", "rw/f = F", "rw/d/", "ro/f = F", "w/only/")
	f := w.open(w.mount("rw", scope.R|scope.W), w.mount("ro", scope.R), w.mount("w/only", scope.All),
		w.deny(scope.Write, "w/keep/sub/later"), w.protect("w/conf"), w.protect("w/pre/agent.local.yaml"))
	w.add("w/pre/")
	for _, c := range []struct {
		path string
		code fault.Code
	}{
		{"f", ""},
		{"f", fault.FSNotFound},
		{"l", ""},
		{"ld/", ""}, // the link itself, whatever the spelling
		{"dead", ""},
		{"out", ""},
		{"p", ""},
		{"empty", ""},
		{"full", fault.FSNotEmpty},
		{"full/x/", ""},
		{"full", ""},
		{"keep/sub", fault.FSDeniedBeneath},
		{"keep", fault.FSDeniedBeneath},
		{"pre", fault.FSDeniedBeneath},
		{"conf", fault.FSReadOnly},
		{"only", fault.FSDeniedBeneath}, // a root
		{".", fault.FSDeniedBeneath},
		{"..", outside},
		{"../o", outside},
		{w.path("rw/f"), fault.FSNoDelete},
		{w.path("rw/d"), fault.FSNoDelete},
		{w.path("rw/none"), fault.FSNoDelete},
		{w.path("ro/f"), fault.FSReadOnly},
	} {
		out, err := f.Remove(c.path)
		wants(t, c.path, err, c.code)
		if out.Changed != (c.code == "") {
			t.Errorf("%s: %+v", c.path, out)
		}
	}
	for name, gone := range map[string]bool{"w/f": true, "w/l": true, "w/ld": true, "w/out": true, "w/full": true, "o": false, "w/conf": false, "rw/f": false, "w/keep/sub": false} {
		if w.missing(name) != gone {
			t.Errorf("%s: missing is %v", name, !gone)
		}
	}
	// The twins, without the rules.
	f = w.open()
	for _, path := range []string{"keep/sub", "keep", "pre", "conf", "only"} {
		_, err := f.Remove(path)
		wants(t, "without rules: "+path, err, "")
	}
}

// Covers: FS-07a, FS-07b, SD-18
func TestRename(t *testing.T) {
	w := build(t, "w/f = F", "w/g = G", "w/d/x = X", "w/l -> f", "w/ld -> d", "w/ro/r = R", "w/conf/a = C",
		"w/secret/k = K", "w/s2/a/b/denied = D", "rw/f = W", "ro/f = O", "w/evil/hooks/run = H", "w/dead -> none")
	f := w.open(w.mount("rw", scope.R|scope.W), w.mount("ro", scope.R), w.deny(scope.Write, "w/ro"), w.deny(scope.Read, "w/secret"),
		w.deny(scope.Read, "w/s2/a/b/denied"), w.protect("w/.git/hooks"), w.protect("w/conf/a"))
	for _, c := range []struct {
		from, to string
		code     fault.Code
	}{
		{"f", "g", fault.FSExists},
		{"f", "dead", fault.FSExists},
		{"f", "l", fault.FSExists},
		{"f", "d", fault.FSExists},
		{"none", "x", fault.FSNotFound},
		{"f", "none/x", fault.FSNotFound},
		{"f", "f/x", fault.FSNotDirectory},
		{"f", "ro/x", fault.FSReadOnly},
		{"ro/r", "x", fault.FSReadOnly},
		{"secret/k", "x", unruled},
		{"f", "secret/x", unruled},
		{"f", "../x", outside},
		{"../x", "x", outside},
		{"none", "../x", outside},
		{"secret/k", "../x", outside},
		{"secret", "../x", outside},
		{"s2", "s3", fault.FSDeniedBeneath},
		{"s2/a", "a", fault.FSDeniedBeneath},
		{"s2/a/b", "b", fault.FSDeniedBeneath},
		{"conf", "conf2", fault.FSDeniedBeneath},
		{"evil", ".git", fault.FSDeniedBeneath}, // would become what is protected
		{"evil/hooks", ".git/hooks", fault.FSReadOnly},
		{"conf/a", "x", fault.FSReadOnly},
		{"d", "d/x/y", fault.FSNotDirectory},
		{"d", "d/y", fault.FSFailed},
		{".", "x", fault.FSDeniedBeneath},
		{w.path("ro/f"), "x", fault.FSReadOnly},

		{"f", "f2", ""},
		{"l", "d/l2", ""},
		{"d", "d2", ""},
		{"ld", "ld2/", ""},
		{"s2/a/b", "s2/a/b", fault.FSDeniedBeneath},
		{"evil", "good", ""},
	} {
		out, err := f.Rename(c.from, c.to)
		wants(t, c.from+" → "+c.to, err, c.code)
		if c.code == "" && (out.From == "" || !out.Changed || out.Path.Canonical == "") {
			t.Errorf("%s → %s: %+v", c.from, c.to, out)
		}
	}
	if got := w.content("w/f2") + w.content("w/g") + w.content("w/d2/x") + w.content("w/good/hooks/run") + w.content("w/secret/k"); got != "FGXHK" {
		t.Errorf("the tree holds %q", got)
	}
	if target, err := os.Readlink(w.path("w/d2/l2")); err != nil || target != "f" {
		t.Errorf("the moved link says %q, %v", target, err)
	}
	f = w.open()
	for _, c := range [][2]string{{"s2", "s3"}, {"conf", "conf2"}, {"good", ".git"}} {
		_, err := f.Rename(c[0], c[1])
		wants(t, "without rules: "+c[0], err, "")
	}
}

// What a rule does not reach must not come into its reach by moving the
// directory above it.
func TestRenameDoesNotWiden(t *testing.T) {
	w := build(t, "w/flat/sub/hidden = H", "w/rec/", "w/half/sub/readonly = R")
	allow := []scope.Rule{
		{Target: w.path("w/flat"), Permission: scope.Write},
		{Target: w.path("w/half"), Permission: scope.Write},
		{Target: w.path("w/half"), Permission: scope.Read, Recursive: true},
		{Target: w.path("w/rec"), Permission: scope.Write, Recursive: true},
	}
	s, err := scope.New(allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(FromScope(s), Options{Pwd: w.path("w")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, from := range []string{"flat/sub", "half/sub"} {
		_, err = f.Rename(from, "rec/sub")
		wants(t, from, err, fault.FSDeniedBeneath)
	}
	_, err = f.Rename("flat/sub", "flat/other")
	wants(t, "within the same reach", err, "")
	_, _, err = f.ReadFile("flat/other/hidden", 0)
	wants(t, "still out of reach", err, unruled)
}

// Covers: FS-07c
func TestRenameAcrossVolumes(t *testing.T) {
	w := build(t, "w/f = F")
	other, err := os.MkdirTemp("/dev/shm", "scopedfs")
	if err != nil {
		t.Skip("needs a second volume at /dev/shm")
	}
	defer os.RemoveAll(other)
	var here, there unix.Stat_t
	if unix.Stat(w.top, &here) != nil || unix.Stat(other, &there) != nil || here.Dev == there.Dev {
		t.Skip("needs /dev/shm to be another volume than the temporary directory")
	}
	f := w.open(func(e *policy.Effective) {
		e.Roots = append(e.Roots, policy.Root{Path: other, Kind: policy.RootMount, Capability: scope.R | scope.W})
	})
	_, err = f.Rename("f", other+"/f")
	wants(t, "to another volume", err, fault.FSCrossVolume)
	if w.content("w/f") != "F" {
		t.Error("the file is gone")
	}
}

// Covers: FS-04, S1-166, S1-168, C-77
func TestWriteDoesNotDelete(t *testing.T) {
	w := build(t, "rw/f = F", "rw/d/")
	f := w.open(w.mount("rw", scope.R|scope.W))
	for _, path := range []string{"rw/f", "rw/d"} {
		_, err := f.Remove(w.path(path))
		wants(t, path, err, fault.FSNoDelete)
	}
	_, err := w.write(f, w.path("rw/f"), "new")
	wants(t, "overwrite", err, "")
	_, err = f.Rename(w.path("rw/f"), w.path("rw/g"))
	wants(t, "rename", err, "")
	if w.content("rw/g") != "new" || w.leftovers() != nil {
		t.Errorf("content %q, left over %q", w.content("rw/g"), w.leftovers())
	}
	f = w.open(w.mount("rw", scope.R|scope.W|scope.D))
	for _, path := range []string{"rw/g", "rw/d"} {
		_, err := f.Remove(w.path(path))
		wants(t, "the twin with delete: "+path, err, "")
	}
}

// Allows gives the verdict an act would meet, existing or not, and does nothing.
func TestAllows(t *testing.T) {
	w := build(t, "w/f = F", "w/sec/f = S", "rw/f = G")
	f := w.open(w.deny(scope.Read, "w/sec"), w.mount("rw", scope.R|scope.W))
	for _, c := range []struct {
		path string
		need scope.Capability
		code fault.Code
	}{
		{"f", scope.R | scope.W | scope.D, ""},
		{"new/deep", scope.R | scope.W, ""},
		{"sec/f", scope.R, unruled},
		{"sec/new", scope.R | scope.W, unruled},
		{w.path("rw/f"), scope.R | scope.W, ""},
		{w.path("rw/f"), scope.R | scope.D, fault.FSNoDelete},
		{w.path("rw/new"), scope.R | scope.X, fault.FSNoExecute},
		{"../beside", scope.R, fault.FSOutsideWorkspace},
	} {
		wants(t, c.path+" "+c.need.String(), f.Allows(c.path, c.need), c.code)
	}
	if _, _, err := f.Stat("new"); err == nil {
		t.Error("it made something")
	}
}

// On a volume that folds names, denies hold for every case; allows never do.
func TestFoldingVolume(t *testing.T) {
	w := build(t, "w/cfg/.secret = S", "w/CFG/.Secret = T", "w/cfg/open = O", "w/Out/f = F")
	rules := []func(*policy.Effective){w.deny(scope.Read, "w/cfg/.secret"), w.protect("w/agent.yaml")}
	for _, folds := range []bool{true, false} {
		f := w.open(rules...)
		f.folds = func(handle) bool { return folds }
		code := func(folded fault.Code) fault.Code {
			if folds {
				return folded
			}
			return ""
		}
		for _, path := range []string{"CFG/.Secret", "CFG"} {
			_, _, err := f.Stat(path)
			if path == "CFG" {
				wants(t, path, err, "")
				continue
			}
			wants(t, path, err, code(unruled))
		}
		_, err := w.write(f, "cfg/.SECRET", "x")
		wants(t, "write another case", err, code(unruled))
		_, err = w.write(f, "Agent.YAML", "x")
		wants(t, "write a protected name in another case", err, code(fault.FSReadOnly))
		_, err = w.write(f, "agent\u200b.yaml.", "x")
		wants(t, "write a protected name with what a volume drops", err, code(fault.FSReadOnly))
		_, err = w.write(f, "AGENT~1.YAM", "x")
		wants(t, "write what may be its short name", err, code(unruled))
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Args["rule"] == "" {
			t.Errorf("no rule is named: %v", err)
		}
		_, _, err = f.ReadFile("cfg/.secret", 0)
		wants(t, "the exact name", err, unruled)
		_, _, err = f.ReadFile("cfg/open", 0)
		wants(t, "another file", err, "")
	}
	// An allow rule names one spelling.
	f := w.open(w.allow(scope.Read, "w/."), w.allow(scope.Read, "w/out"))
	f.folds = func(handle) bool { return true }
	_, _, err := f.ReadFile("Out/f", 0)
	wants(t, "an allow rule in another case", err, unruled)
	// The real volume is asked.
	top, err := openTop()
	if err != nil {
		t.Fatal(err)
	}
	defer top.close()
	dir, err := top.descend(w.top[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	w.add("case = x")
	_, err = os.Lstat(w.path("CASE"))
	if got, real := foldsNames(dir), err == nil; got != real {
		t.Errorf("the volume is said to fold: %v; it does: %v", got, real)
	}
}
