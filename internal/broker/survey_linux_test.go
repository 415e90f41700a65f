package broker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sunaba/policy"
	"sunaba/scope"
	"sunaba/tool"
)

// What commands left and host tools will execute or follow is named, wherever
// it lies; what was there before, what is harmless and what stays inside is not.
// Covers: C-85
func TestSurvey(t *testing.T) {
	f := newFixture(t, func(e *policy.Effective) {
		root := e.Workspace.Root
		for path, text := range map[string]string{"old/.envrc": "x", "old/.vscode/tasks.json": "{}", "sub/main.go": "x"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc", filepath.Join(root, "old/out")); err != nil {
			t.Fatal(err)
		}
		e.Scope = &policy.Narrowing{Deny: []scope.Rule{}}
	})
	f.write(f.root+"/work", `#!/bin/sh
mkdir -p sub/.git/hooks sub/.vscode deep/er
echo x > sub/.envrc
echo x > sub/.vscode/tasks.json
echo x > sub/.git/hooks/pre-commit
echo x > sub/.git/hooks/pre-commit.sample
echo x > sub/.git/config
echo "gitdir: elsewhere" > deep/.git
ln -s /etc/passwd deep/out
ln -s ../../.. deep/er/up
ln -s ../sub deep/in
echo changed >> old/.vscode/tasks.json
echo x > sub/main.go
`)
	f.box.began = time.Now() // what was there before was so only just
	if r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./work"}}); err != nil || !r.OK || r.Effects[0].ExitCode != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	left, whole, err := f.box.Survey(t.Context())
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	var got []string
	for _, l := range left {
		rel, err := filepath.Rel(f.root, l.Path)
		if err != nil {
			t.Fatal(err)
		}
		if l.Target != "" {
			rel += " -> " + l.Target
		}
		got = append(got, rel)
	}
	want := []string{
		"deep/.git", "deep/er/up -> ../../..", "deep/out -> /etc/passwd", "old/.vscode/tasks.json",
		"sub/.envrc", "sub/.git/config", "sub/.git/hooks/pre-commit", "sub/.vscode/tasks.json",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	told := 0
	for _, r := range f.audit.records {
		if (r.Event == "task.host_tool" || r.Event == "task.link_outside") && r.Reported && r.TaskID == "task" {
			told++
		}
	}
	if told != len(want) {
		t.Errorf("%d in the audit", told)
	}
}
