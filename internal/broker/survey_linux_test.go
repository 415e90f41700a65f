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
		for path, text := range map[string]string{"old/.envrc": "x", "old/.vscode/tasks.json": "{}", "sub/main.go": "x",
			"stays/.git/hooks/pre-push": "x", "stays/.git/config": "x", "stays/.vscode/tasks.json": "x",
			"put/hooks/post-checkout": "x", "put/config": "x", "put/other": "x", "put2/tasks.json": "x", "put3/pre-commit": "x", "put4/.git/config": "x",
		} {
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
echo x > stays/file
mkdir new deep/hid && mv put new/.git && mv put2 new/.vscode && mkdir new/third.git && mv put3 new/third.git/hooks && mv put4 new/fourth
mkdir -p stays/.git/modules/lib/hooks bare/objects bare/refs bare/hooks && : > bare/HEAD
echo x > stays/.git/modules/lib/config
echo x > stays/.git/modules/lib/hooks/update
echo x > bare/hooks/update
echo x > stays/.vscode/other.json
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
		"bare/hooks/update", "new/.git/config", "new/.git/hooks/post-checkout", "new/.vscode/tasks.json", "new/third.git/hooks/pre-commit",
		// A hook that was there before: git's directory has changed.
		"stays/.git/hooks/pre-push", "stays/.git/modules/lib/config", "stays/.git/modules/lib/hooks/update", "stays/.vscode/other.json",
		"deep/.git", "deep/er/up -> ../../..", "deep/out -> /etc/passwd", "old/.vscode/tasks.json",
		"sub/.envrc", "sub/.git/config", "sub/.git/hooks/pre-commit", "sub/.vscode/tasks.json",
	}
	slices.Sort(want)
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

// A directory that a command has closed is told as not looked at; one that was
// closed before is not a command's. A program that acts as its owner is named
// where a command changed it.
// Covers: C-85
func TestSurveyOfWhatIsHidden(t *testing.T) {
	f := newFixture(t, func(e *policy.Effective) {
		root := e.Workspace.Root
		if err := os.MkdirAll(filepath.Join(root, "before"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "tool"), []byte("old"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(root, "tool"), 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(root, "before"), 0o311); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, dir := range []string{"before", "hid"} {
				_ = os.Chmod(filepath.Join(root, dir), 0o755)
			}
		})
	})
	f.box.began = time.Now()
	survey := func() (names []string, whole bool) {
		left, whole, err := f.box.Survey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range left {
			names = append(names, filepath.Base(l.Path))
		}
		return names, whole
	}
	if names, whole := survey(); len(names) > 0 || !whole {
		t.Errorf("before: %q %t", names, whole)
	}
	f.write(f.root+"/work", "#!/bin/sh\nmkdir -p hid/.git/hooks && echo x > hid/.git/hooks/pre-commit && chmod 311 hid && touch tool\n")
	if r, err := f.call(tool.RunCommand, map[string]any{"argv": []string{"./work"}}); err != nil || !r.OK || r.Effects[0].ExitCode != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	names, whole := survey()
	if !slices.Contains(names, "tool") {
		t.Errorf("a program that acts as its owner: %q", names)
	}
	if seen := slices.Contains(names, "pre-commit"); seen == !whole {
		t.Errorf("a closed directory: %q %t", names, whole)
	}
}
