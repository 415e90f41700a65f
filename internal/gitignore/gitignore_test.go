package gitignore

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A path with a trailing slash is a directory.
func ignored(s *Set, path string) bool {
	return s.Ignored(strings.TrimSuffix(path, "/"), strings.HasSuffix(path, "/"))
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		name, file string
		yes, no    []string
	}{
		{"a plain name holds at every depth", "node_modules\n", []string{"node_modules/", "a/node_modules/", "node_modules/x/y.js"}, []string{"node_modules2"}},
		{"a leading slash anchors", "/dist\n", []string{"dist", "dist/a"}, []string{"a/dist"}},
		{"a slash inside anchors", "a/b\n", []string{"a/b"}, []string{"x/a/b"}},
		{"a trailing slash means directories", "build/\n", []string{"build/", "x/build/y"}, []string{"build"}},
		{"a star stays in its component", "/a/*.o\n", []string{"a/x.o"}, []string{"a/b/x.o"}},
		{"two stars cross components", "a/**/z\n", []string{"a/z", "a/b/z", "a/b/c/z"}, []string{"z", "az"}},
		{"two stars twice", "a/**/**/z\n", []string{"a/z", "a/b/z"}, []string{"b/a/z"}},
		{"the last line wins", "*.log\n!keep.log\n", []string{"a.log"}, []string{"keep.log", "d/keep.log"}},
		{"nothing returns beneath an ignored directory", "d/\n!d/keep\n", []string{"d/keep"}, nil},
		{"comments, blanks, carriage returns, a BOM", "\xef\xbb\xbf# x\n\n*.tmp\r\n", []string{"a.tmp"}, []string{"x", "# x"}},
		{"escapes", "\\#a\n\\!b\nc\\ \nd \n", []string{"#a", "!b", "c ", "d"}, []string{"a", "b", "c", "d "}},
		{"classes", "[a-c]x\n[!0-9]y\n[[:digit:]]z\n[]]w\n", []string{"bx", "ay", "7z", "]w"}, []string{"dx", "0y", "az", "[w"}},
		{"malformed lines match nothing", "[a\nb\\\n", nil, []string{"a", "[a", "b", "b\\"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Set
			s.Add("", []byte(tt.file))
			for _, p := range tt.yes {
				if !ignored(&s, p) {
					t.Errorf("%q is not ignored", p)
				}
			}
			for _, p := range tt.no {
				if ignored(&s, p) {
					t.Errorf("%q is ignored", p)
				}
			}
		})
	}
}

func TestDeeperFilesOutrank(t *testing.T) {
	var s Set
	s.Exclude([]byte("*.x\n*.q\n"))
	s.Add("", []byte("*.log\n!c.x\n"))
	s.Add("a", []byte("!b.log\n/only\n"))
	for path, want := range map[string]bool{
		"b.log": true, "a/b.log": false, "a/c.log": true, "a/only": true, "only": false,
		"a/d/only": false, "b.x": true, "c.x": false, "deep/er/z.q": true,
	} {
		if got := ignored(&s, path); got != want {
			t.Errorf("%q: ignored = %v, want %v", path, got, want)
		}
	}
}

func TestNoPatternBlowsUp(t *testing.T) {
	var s Set
	s.Add("", []byte("x/"+strings.Repeat("*a", 200)+"b\n"+strings.Repeat("**/", 200)+"c\n"))
	if ignored(&s, "x/"+strings.Repeat("a", 2000)) {
		t.Error("matched")
	}
}

func TestAgreesWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing: the oracle of the ignore rules")
	}
	root := t.TempDir()
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = root
		cmd.Env = []string{"HOME=" + root, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: nothing is ignored
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("", "init", "-q")

	// Names are few, so that patterns meet them; the tree exists, so that Git
	// knows directories from files.
	var paths []string
	names := []string{"a", "b", "ab", "a.b", "x y", "]", "a-c", "#a", "!b"}
	for _, d1 := range names {
		for _, d2 := range names[:5] {
			dir := "d" + d1 + "/" + d2
			if err := os.MkdirAll(filepath.Join(root, dir, "ab"), 0o777); err != nil {
				t.Fatal(err)
			}
			for _, f := range names {
				if f != "ab" {
					if err := os.WriteFile(filepath.Join(root, dir, f), nil, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := os.WriteFile(filepath.Join(root, dir, "ab", "b"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		if rel, _ := filepath.Rel(root, p); rel != "." {
			if d.IsDir() {
				rel += "/"
			}
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	atom := rapid.SampledFrom([]string{
		"a", "b", "ab", "d", "da", "x y", ".", "*", "**", "***", "?", "/", "/", "**/", "/**", "[a-b]", "[!a]", "[^b/]", "[]]", "[a",
		"[[:alpha:]]", "[[:nope:]]", "[[:a]", "[a-]", `\`, `\*`, `\ `, " ", "!", "#", "-c", `[\]]`, `[a-\c]`, "*.b", "\t",
	})
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "!", "/", "#"}).Draw(t, "head") +
			strings.Join(rapid.SliceOfN(atom, 1, 5).Draw(t, "atoms"), "") +
			rapid.SampledFrom([]string{"", "", "/", " ", "\r", `\ `}).Draw(t, "tail")
	})
	file := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 1, 6).Draw(t, "lines"), "\n") + "\n"
	})
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		texts := map[string]string{"": file.Draw(t, "root"), "da": file.Draw(t, "da"), "da/b": file.Draw(t, "da/b")}
		for dir, text := range texts {
			if err := os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			s.Add(dir, []byte(text))
		}
		exclude := file.Draw(t, "exclude")
		if err := os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte(exclude), 0o666); err != nil {
			t.Fatal(err)
		}
		s.Exclude([]byte(exclude))

		var want, got bytes.Buffer
		// Asked with a trailing slash Git would look into the directory's own file.
		bare := strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00")
		want.WriteString(run(bare, "check-ignore", "-z", "--stdin", "--no-index"))
		for _, p := range paths {
			if ignored(&s, p) {
				fmt.Fprintf(&got, "%s\x00", strings.TrimSuffix(p, "/"))
			}
		}
		checked += len(paths)
		if diff := cmp.Diff(strings.Split(want.String(), "\x00"), strings.Split(got.String(), "\x00")); diff != "" {
			t.Fatalf("files %q exclude %q (-git +ours):\n%s", texts, exclude, diff)
		}
	})
	t.Logf("%d verdicts compared", checked)
}

func FuzzPatterns(f *testing.F) {
	f.Add([]byte("a/**/b\n!c\n[x-"), "a/x/b")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		var s Set
		s.Add("", text)
		s.Ignored(path, false)
	})
}
