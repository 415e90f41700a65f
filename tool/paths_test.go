package tool

import (
	"os"
	"path/filepath"
	"testing"

	"sunaba/policy"
	"sunaba/scope"
)

// Every path of every tool is judged: outside it is refused without telling
// whether anything is there, inside the same call succeeds.
// Covers: S3-20, S3-60, S3-61, S3-62, S3-63, S3-64, S3-65, S3-66, S3-67, S3-68, S3-69, S3-70, S3-81, S3-82, S3-30, S3-31, S3-32
func TestEveryToolJudgesItsPaths(t *testing.T) {
	calls := []struct {
		name string
		args func(path string) args
	}{
		{ReadFile, func(p string) args { return args{"path": p + "/a"} }},
		{InspectFile, func(p string) args { return args{"path": p + "/a"} }},
		{ListFiles, func(p string) args { return args{"path": p} }},
		{FindFiles, func(p string) args { return args{"path": p, "pattern": "*"} }},
		{SearchFile, func(p string) args { return args{"path": p, "pattern": "x"} }},
		{SearchFile, func(p string) args { return args{"path": p + "/a", "pattern": "x"} }},
		{EditFile, func(p string) args { return args{"path": p + "/a", "old_string": "x", "new_string": "y"} }},
		{WriteFile, func(p string) args { return args{"path": p + "/new", "content": "y"} }},
		{MakeDirectory, func(p string) args { return args{"path": p + "/made"} }},
		{MoveFile, func(p string) args { return args{"from": p + "/new", "to": "new"} }},
		{MoveFile, func(p string) args { return args{"from": "keep", "to": p + "/kept"} }},
		{RemovePath, func(p string) args { return args{"path": p + "/made"} }},
		{RunCommand, func(p string) args { return args{"argv": []string{"x"}, "working_dir": p} }},
	}
	b := newBox(t, map[string]string{"in/a": "x", "keep": "x", "link": "-> ../away"}, func(e *Env) {
		e.Runner = &recorder{outcome: ended(0)}
		e.Policy.Entries = []policy.Entry{entry(t, "x", program(t, "x", "x"))}
	})
	away := filepath.Join(filepath.Dir(b.root), "away")
	if err := os.MkdirAll(away, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(away, "a"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		for _, outside := range []string{away, "../away", "link", "in/../../away", away + "/none", "/"} {
			if r := b.refused(c.name, c.args(outside), "fs.outside_workspace"); r.Scope != OutsideWorkspace {
				t.Errorf("%s %s: scope %s", c.name, outside, r.Scope)
			}
		}
		if r := b.ok(c.name, c.args("in")); r.Scope != InWorkspace {
			t.Errorf("%s: scope %s", c.name, r.Scope)
		}
	}
	if left, err := os.ReadDir(away); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: something was done outside", left, err)
	}
}

// A mount is worked in like the workspace, but nothing is started from it.
// Covers: FS-09b
func TestMountsAreNoPlaceForPrograms(t *testing.T) {
	mount := filepath.Dir(program(t, "run", "x"))
	run := &recorder{outcome: ended(0)}
	b := newBox(t, map[string]string{"run": "x"}, func(e *Env) {
		e.Runner = run
		e.Policy.Roots = append(e.Policy.Roots, policy.Root{Path: mount, Logical: mount, Kind: policy.RootMount, Capability: scope.R | scope.W, Source: "agent.yaml:7"})
	})
	if err := os.Chmod(filepath.Join(b.root, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.refused(RunCommand, args{"argv": []string{mount + "/run"}}, "fs.no_execute")
	b.ok(RunCommand, args{"argv": []string{"./run"}})
	if r := b.ok(ReadFile, args{"path": mount + "/run"}); r.Scope != InWorkspace {
		t.Errorf("scope %s", r.Scope)
	}
}
