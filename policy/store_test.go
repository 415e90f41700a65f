package policy

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sunaba/fault"
	"sunaba/scope"
)

func snapshot(configPath, mark string) Snapshot {
	e := Effective{Profile: mark, Workspace: Workspace{Root: "/w", Logical: "/w"},
		AllowedCommands: []string{}, Scope: &Narrowing{Deny: []scope.Rule{{Target: "/w/x", Permission: scope.Write, Recursive: true}}},
		Entries: []Entry{{Alias: "a", Path: "/x", Identity: Identity{SHA256: "ab", MTime: time.Unix(5, 7).UTC()}}}}
	return NewSnapshot(configPath, "f-"+mark, map[string]string{"k": mark}, e, time.Unix(1000, 0))
}

func reason(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.PolicyNotApplied {
		return fmt.Sprint(err)
	}
	return e.Args["reason"]
}

// Covers: S1-084, S1-219, S1-220
func TestStoreKeepsOneSnapshotForEachConfiguration(t *testing.T) {
	state := filepath.Join(t.TempDir(), "deep", "agent-mcp")
	s := NewStore(state)
	if _, err := s.Load("/a.yaml"); reason(err) != "never" {
		t.Errorf("before apply: %v", err)
	}
	for _, snap := range []Snapshot{snapshot("/a.yaml", "old"), snapshot("/b.yaml", "other"), snapshot("/a.yaml", "new")} {
		if err := s.Save(snap); err != nil {
			t.Fatal(err)
		}
	}
	for path, mark := range map[string]string{"/a.yaml": "new", "/b.yaml": "other"} {
		got, err := s.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(snapshot(path, mark), *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if names := list(t, state+"/applied"); len(names) != 3 { // two snapshots and the lock
		t.Errorf("files left: %q", names)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A snapshot that cannot be trusted counts as not applied, by name, and is
// kept when the next one is stored.
func TestUnusableSnapshots(t *testing.T) {
	const path = "/a.yaml"
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, file string)
		want  string
	}{
		"cut":   {func(t *testing.T, f string) { edit(t, f, func(b string) string { return b[:len(b)/2] }) }, "torn"},
		"empty": {func(t *testing.T, f string) { edit(t, f, func(string) string { return "" }) }, "torn"},
		"edited": {func(t *testing.T, f string) {
			edit(t, f, func(b string) string { return strings.Replace(b, "/w/x", "/w/y", 1) })
		}, "torn"},
		"a value": {func(t *testing.T, f string) { edit(t, f, func(string) string { return "null" }) }, "torn"},
		"of another path": {func(t *testing.T, f string) {
			data, err := seal(snapshot("/b.yaml", "x"))
			if err != nil {
				t.Fatal(err)
			}
			edit(t, f, func(string) string { return string(data) })
		}, "foreign"},
		"of another version": {func(t *testing.T, f string) {
			snap := snapshot(path, "x")
			snap.SchemaVersion = 99
			data, err := seal(snap)
			if err != nil {
				t.Fatal(err)
			}
			edit(t, f, func(string) string { return string(data) })
		}, "foreign"},
		"a directory": {func(t *testing.T, f string) {
			if err := errors.Join(os.Remove(f), os.Mkdir(f, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "unreadable"},
		"a link": {func(t *testing.T, f string) {
			if err := errors.Join(os.Rename(f, f+".real"), os.Symlink(f+".real", f)); err != nil {
				t.Fatal(err)
			}
		}, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(filepath.Join(t.TempDir(), "agent-mcp"))
			if err := s.Save(snapshot(path, "old")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Load(path); err != nil {
				t.Fatalf("unspoiled: %v", err)
			}
			tt.spoil(t, s.path(path))
			if _, err := s.Load(path); reason(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if err := s.Save(snapshot(path, "new")); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Load(path); err != nil || got.Fingerprint != "f-new" {
				t.Errorf("after the next apply: %v %v", got, err)
			}
			if !slices.ContainsFunc(list(t, s.dir), func(n string) bool { return strings.Contains(n, ".aside-") }) {
				t.Errorf("the unusable file is gone: %q", list(t, s.dir))
			}
		})
	}
}

func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(change(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Covers: S1-084, S1-085
//
// A process that stores one snapshot after the other is killed in the midst of
// it, again and again: what is found is always whole, and stale files go.
func TestKilledWhileSaving(t *testing.T) {
	const variable = "SUNABA_TEST_SAVE_FOREVER"
	if dir := os.Getenv(variable); dir != "" {
		for i := 0; ; i++ {
			snap := snapshot("/a.yaml", strings.Repeat("x", 1<<18))
			snap.Fingerprint = fmt.Sprint(i)
			if err := NewStore(dir).Save(snap); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println(i)
		}
	}
	dir := filepath.Join(t.TempDir(), "agent-mcp")
	s := NewStore(dir)
	if err := s.Save(snapshot("/a.yaml", "first")); err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileSaving$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, last := bufio.NewScanner(out), ""
		for range round + 1 {
			if !lines.Scan() {
				t.Fatal("the writer ended by itself")
			}
			last = lines.Text()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		got, err := s.Load("/a.yaml")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var stored, told int
		if _, err := fmt.Sscan(got.Fingerprint+" "+last, &stored, &told); err != nil || stored < told {
			t.Fatalf("round %d: %q was told to be stored, %q is", round, last, got.Fingerprint)
		}
	}
	if err := s.Save(snapshot("/a.yaml", "last")); err != nil {
		t.Fatal(err)
	}
	if names := list(t, s.dir); len(names) != 2 {
		t.Errorf("left behind: %q", names)
	}
}

// Covers: S1-221
func TestCompare(t *testing.T) {
	base := func() Snapshot {
		s := snapshot("/a.yaml", "m")
		s.Settings = map[string]string{"ollama.model": "a", "sandbox.mounts[0].path": "/m"}
		s.Effective = Effective{
			Profile: "development", Workspace: Workspace{Root: "/real", Logical: "/w", Policy: "deny_outside"},
			Roots: []Root{{"/real", "/w", RootWorkspace, scope.All, "f:1"}, {"/rt", "/rt", RootRuntime, scope.R | scope.X, "f:2"}},
			Entries: []Entry{{Alias: "py", Logical: "/py", Path: "/rt/py", RuntimeRoot: "/rt", Source: "f:3",
				Identity: Identity{SHA256: "aa", Inode: 1, MTime: time.Unix(1, 0)}}},
			Protected: []Protected{{Path: "/p"}},
		}
		return s
	}
	tests := []struct {
		name   string
		change func(s *Snapshot)
		want   []Difference
	}{
		{"nothing", func(*Snapshot) {}, nil},
		{"places, inodes, times, protected paths", func(s *Snapshot) {
			s.Effective.Roots[0].Source = "f:9"
			s.Effective.Entries[0].Identity.Inode, s.Effective.Entries[0].Identity.MTime = 2, time.Unix(2, 0)
			s.Effective.Protected, s.AppliedAt = nil, time.Unix(9, 0)
		}, nil},
		{"setting", func(s *Snapshot) { s.Settings["ollama.model"] = "b" }, []Difference{{"setting", "ollama.model", "a", "b"}}},
		{"setting gone", func(s *Snapshot) { delete(s.Settings, "ollama.model") }, []Difference{{"setting", "ollama.model", "a", ""}}},
		{"setting new", func(s *Snapshot) { s.Settings["x"] = "1" }, []Difference{{"setting", "x", "", "1"}}},
		{"hash", func(s *Snapshot) { s.Effective.Entries[0].Identity.SHA256 = "bb" }, []Difference{{"hash", "py", "aa", "bb"}}},
		{"link of an entry", func(s *Snapshot) { s.Effective.Entries[0].Path = "/rt/py2" }, []Difference{{"entry", "py", "/rt/py /rt", "/rt/py2 /rt"}}},
		{"became a shell", func(s *Snapshot) { s.Effective.Entries[0].Shell = true }, []Difference{{"entry", "py", "/rt/py /rt", "/rt/py /rt (shell)"}}},
		{"runtime root", func(s *Snapshot) { s.Effective.Entries[0].RuntimeRoot = "/rt2" }, []Difference{{"entry", "py", "/rt/py /rt", "/rt/py /rt2"}}},
		{"link of the workspace", func(s *Snapshot) { s.Effective.Workspace.Root = "/other" }, []Difference{{"workspace", "/w", "/real", "/other"}}},
		{"rights", func(s *Snapshot) { s.Effective.Roots[0].Capability = scope.R }, []Difference{{"root", "workspace /w", "/real RWDX", "/real R"}}},
		{"scope", func(s *Snapshot) {
			s.Effective.Scope = &Narrowing{Deny: []scope.Rule{{Target: "/d", Permission: scope.Read}}}
		},
			[]Difference{{"scope", "deny[0]", "", "/d read recursive=false delete=false"}}},
		{"memory", func(s *Snapshot) { s.Effective.Resources.MemoryMiB = 1 }, []Difference{{"limit", "memory_mib", "0", "1"}}},
		{"environment", func(s *Snapshot) { s.Effective.Environment = map[string]string{"A": "1"} }, []Difference{{"limit", "environment A", "", "1"}}},
		{"prompt only", func(s *Snapshot) { s.Fingerprint = "g" }, []Difference{{"fingerprint", "/a.yaml", "f-m", "g"}}},
	}
	for _, tt := range tests {
		now := base()
		tt.change(&now)
		if diff := cmp.Diff(tt.want, Compare(now, base())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCompareLaws(t *testing.T) {
	settings := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.StringN(1, 3, 3))
	rapid.Check(t, func(t *rapid.T) {
		a, b := snapshot("/a", "m"), snapshot("/a", "m")
		a.Settings, b.Settings = settings.Draw(t, "a"), settings.Draw(t, "b")
		if len(Compare(a, a)) != 0 {
			t.Fatal("differs from itself")
		}
		there, back := Compare(a, b), Compare(b, a)
		if len(there) != len(back) {
			t.Fatalf("%v against %v", there, back)
		}
		for i := range there {
			if there[i].Old != back[i].New || there[i].New != back[i].Old {
				t.Fatalf("%v against %v", there[i], back[i])
			}
		}
	})
}

// Covers: PRC-02, SD-34
func TestIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tool")
	stamp := time.Unix(1700000000, 0)
	look := func(content string) Identity {
		t.Helper()
		next := path + ".next"
		if err := errors.Join(os.WriteFile(next, []byte(content), 0o700), os.Chtimes(next, stamp, stamp), os.Rename(next, path)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		id, err := Identify(f)
		if err != nil {
			t.Fatal(err)
		}
		quick, err := Look(f)
		if err != nil || !quick.SameState(id) || quick.SHA256 != "" {
			t.Errorf("Look %+v, Identify %+v, %v", quick, id, err)
		}
		return id
	}
	first := look("one")
	if first.SHA256 != "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" { // sha256sum of "one"
		t.Errorf("hash %s", first.SHA256)
	}
	second := look("two") // APPLY-001: same name, size and modification time
	if second.SHA256 == first.SHA256 || !second.MTime.Equal(first.MTime) || second.Size != first.Size {
		t.Errorf("%+v and %+v", first, second)
	}
	if second.Inode != 0 && second.SameState(first) {
		t.Error("another file counts as the same state")
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Identify(d); !errors.Is(err, errNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}
