package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// inRoot returns rules with targets in the workspace of f.
func (f *fixture) rules(rules ...scope.Rule) []scope.Rule {
	for i := range rules {
		rules[i].Target = filepath.Join(f.root, rules[i].Target)
	}
	return rules
}

// step is one script in the workspace and whether it must succeed inside.
type step struct {
	script string
	may    bool
}

// try runs each step inside, and what must fail there as its twin outside as
// well, where it must succeed; a twin acts after all the others.
func (f *fixture) try(steps []step) {
	f.t.Helper()
	for _, s := range steps {
		if r := f.sh(s.script); (r.ExitCode == 0) != s.may || r.Err != "" {
			f.t.Errorf("%s: %d %s %s", s.script, r.ExitCode, r.Out, r.Err)
		}
	}
	if err := f.s.Close(); err != nil {
		f.t.Fatal(err)
	}
	for _, s := range steps {
		if s.may {
			continue
		}
		f.twin(s.script)
	}
}

// twin runs script outside, on a copy of the workspace, where it must succeed.
func (f *fixture) twin(script string) {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", f.root, dir).CombinedOutput(); err != nil {
		f.t.Fatalf("copy: %v\n%s", err, out)
	}
	twin := exec.Command("/bin/sh", "-c", script)
	twin.Dir = dir
	if out, err := twin.CombinedOutput(); err != nil {
		f.t.Errorf("the twin outside failed too: %s: %v\n%s", script, err, out)
	}
}

// TestFlatAllow: an allow rule without recursion holds for commands as for file
// tools: the children of its target and nothing beneath them; what is not there
// when the Task starts is not made by a command (C-73).
//
// Covers: SD-07, SD-19, C-73
func TestFlatAllow(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("file", "top")
		f.write("sub/file", "deep")
		f.write("sub/part/file", "granted")
		f.write("write/file", "w")
		f.write("write/sub/file", "deep")
		f.write("read/file", "r")
		f.write("read/flat/file", "r")
		f.write("read/flat/sub/file", "r")
		f.p.Scope = &policy.Narrowing{Allow: f.rules(
			scope.Rule{Target: ".", Permission: scope.Read},
			scope.Rule{Target: "sub/part", Permission: scope.Write, Recursive: true, Delete: true},
			scope.Rule{Target: "write", Permission: scope.Write, Delete: true},
			scope.Rule{Target: "read", Permission: scope.Read, Recursive: true},
			scope.Rule{Target: "read/flat", Permission: scope.Write},
		)}
	})
	f.try([]step{
		{"ls | grep -q file", true},
		{"cat file", true},
		{"echo x > file", false},
		{"chmod 600 file", false},
		{"rm file", false},
		{"echo x > new", false},
		{"mkdir new", false},
		{"mv file file2", false},
		{"cat sub/file", false},
		{"ls sub | grep -q file", false},
		{"echo x > sub/new", false},
		{"chmod 700 sub", false},
		{"mv sub/part sub/p2", false},
		{"mv sub sub2", false},
		{"cat sub/part/file", true},
		{"echo x > sub/part/new && rm sub/part/new && mv sub/part/file sub/part/f2 && mv sub/part/f2 sub/part/file", true},
		{"cat write/file", true},
		{"echo x > write/file", true},
		{"chmod 600 write/file", true},
		{"cat write/sub/file", false},
		{"touch write/sub/file", false},
		{"ls write/sub | grep -q file", false},
		{"rm -r write/sub", false},
		{"mkdir write/new", false},
		{"mkdir -p write/new/new && echo x > write/new/new/file", false},
		{"cat read/flat/sub/file", true},
		{"echo x > read/flat/file", true},
		{"echo x > read/flat/sub/file", false},
		{"chmod 600 read/flat/sub/file", false},
		{"echo x > read/file", false},
		{"ln write/file write/hard", false},
		{"ln -s sub/file write/soft", false},
	})
}

// TestFlatLater: what comes to lie under such a rule after the Task began is
// granted to the next command when it is a file, and never beneath a directory.
//
// Covers: C-73
func TestFlatLater(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("dir/file", "old")
		f.p.Scope = &policy.Narrowing{Allow: f.rules(
			scope.Rule{Target: ".", Permission: scope.Read},
			scope.Rule{Target: "dir", Permission: scope.Write},
		)}
	})
	if r := f.sh("ls dir && echo x > dir/file"); r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	// As the file tools save: a new file takes the place of the old one.
	if r := f.call("write", order{Argv: []string{filepath.Join(f.root, "dir/new"), "saved"}}); r.Err != "" {
		t.Fatalf("%+v", r)
	}
	if err := os.Rename(filepath.Join(f.root, "dir/new"), filepath.Join(f.root, "dir/file")); err != nil {
		t.Fatal(err)
	}
	if r := f.sh("cat dir/file"); r.Out != "saved" {
		t.Errorf("a saved file: %+v", r)
	}
	f.write("dir/sub/file", "later")
	f.write("dir/link.txt", "x")
	if err := os.Symlink("sub/file", filepath.Join(f.root, "dir/link")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"cat dir/sub/file", "ls dir/sub", "echo x > dir/sub/file", "echo x > dir/sub/new", "rm dir/sub/file", "cat dir/link", "ls dir"} {
		if r := f.sh(script); r.ExitCode == 0 {
			t.Errorf("%s: %s", script, r.Out)
		}
		if script != "rm dir/sub/file" {
			defer f.twin(script)
		}
	}
	if r := f.sh("cat dir/file dir/link.txt && grep CapBnd /proc/self/status"); r.Out != "savedxCapBnd:\t0000000000000000\n" {
		t.Errorf("what lies there already: %+v", r)
	}
	// The new thread is as confined as the first one.
	for _, a := range []string{"socket-unix", "ptrace", "clone-newuser", "keyctl"} {
		if r := f.call("run", order{Argv: []string{self(), attackWord, a}}); r.ExitCode != 1 {
			t.Errorf("%s: %+v", a, r)
		}
	}
	if err := os.RemoveAll(filepath.Join(f.root, "dir/sub")); err != nil {
		t.Fatal(err)
	}
	if r := f.sh("ls dir"); r.ExitCode != 0 {
		t.Errorf("the directory is gone again: %+v", r)
	}
	f.write("dir/sub/file", "later")
}

// TestFlatReplaced: a directory that the host puts in the place of one that was
// covered is not, and so is not listed.
//
// Covers: C-73
func TestFlatReplaced(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("dir/sub/file", "old")
		f.p.Scope = &policy.Narrowing{Allow: f.rules(
			scope.Rule{Target: ".", Permission: scope.Read},
			scope.Rule{Target: "dir", Permission: scope.Read},
		)}
	})
	if r := f.sh("ls dir && ! ls dir/sub | grep file"); r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	if err := os.RemoveAll(filepath.Join(f.root, "dir/sub")); err != nil {
		t.Fatal(err)
	}
	f.write("dir/sub/file", "new")
	f.write("dir/sub/other", "new")
	for _, script := range []string{"ls dir/sub | grep file", "cat dir/sub/file"} {
		if r := f.sh(script); r.ExitCode == 0 || r.Err != "" {
			t.Errorf("%s: %+v", script, r)
		}
		f.twin(script)
	}
}

// TestFlatDeny: a deny rule without recursion freezes or hides what lies
// directly in its target; directories beneath stay as the other rules say.
//
// Covers: SD-19
func TestFlatDeny(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.write("file", "top")
		f.write("sub/file", "deep")
		f.write("sub/frozen/file", "deep")
		f.write("sub/frozen/open/file", "deep")
		f.write("sub/shut/file", "deep")
		f.write("secret/file", "hidden")
		f.p.Scope = &policy.Narrowing{Deny: f.rules(
			scope.Rule{Target: ".", Permission: scope.Write},
			scope.Rule{Target: "sub/frozen", Permission: scope.Write},
			scope.Rule{Target: "sub/shut", Permission: scope.Write, Recursive: true},
			scope.Rule{Target: "secret", Permission: scope.Read},
			scope.Rule{Target: "sub/absent", Permission: scope.Write},
		)}
	})
	f.try([]step{
		{"cat file", true},
		{"echo x > file", false},
		{"rm file", false},
		{"mv file sub/", false},
		{"chmod 600 file", false},
		{"echo x > new", false},
		{"mkdir new", false},
		{"echo x > sub/file && rm sub/file && echo x > sub/file", true},
		{"mv sub sub2", false},
		{"mkdir sub/new && mv sub/new sub/newer", true},
		{"echo x > sub/frozen/file", false},
		{"chmod 600 sub/frozen/file", false},
		{"echo x > sub/frozen/open/file", true},
		{"echo x > sub/shut/file", false},
		{"mkdir -p sub/absent/dir", false},
		{"cat secret/file", false},
		{"ls secret | grep -q file", false},
		{"ls secret", false},
	})
}

// TestFlatDenyRefused: what no mount expresses is refused before anything runs.
//
// Covers: SD-19, C-34
func TestFlatDenyRefused(t *testing.T) {
	f := policyOnly(t)
	f.write("dir/sub/file", "x")
	f.p.Scope = &policy.Narrowing{Deny: f.rules(scope.Rule{Target: "dir", Permission: scope.Read, Source: "agent.yaml:7:5"})}
	s, err := Start(t.Context(), Options{Policy: f.p})
	if err == nil {
		t.Fatal("started", s.Close())
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.PlatformUnsupported || e.Args["source"] != "agent.yaml:7:5" || e.Args["what"] != "sandbox.scope.deny[0]" ||
		e.Args["path"] != filepath.Join(f.root, "dir") || e.Args["other"] != filepath.Join(f.root, "dir/sub") {
		t.Errorf("%v", err)
	}
	f.p.Scope.Deny[0].Recursive = true // the remedy
	f.start()
}
