package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindFiles(t *testing.T) {
	b := newBox(t, map[string]string{
		"a.ts": "", "b.tsx": "", "c.py": "", "src/d.ts": "",
		".github/workflows/ci.yml": "", ".eslintrc.json": "", "deep/.eslintrc.json": "", "x.yml": "",
		".git/config.yml": "", "link.ts": "-> a.ts", "dir.ts/": "", "out.ts": "-> /etc/passwd", "{odd}.ts": "",
	})
	tests := []struct {
		name, pattern, path string
		want                []string // in any order
	}{
		{"SRCH-007: braces", "*.{ts,tsx}", "", []string{"a.ts", "b.tsx", "link.ts", "{odd}.ts"}},
		{"SRCH-007: one in braces", "**/*.{ts}", "", []string{"a.ts", "link.ts", "src/d.ts", "{odd}.ts"}},
		{"SRCH-007: directories in braces", "{src,lib}/**/*.ts", "", []string{"src/d.ts"}},
		{"SRCH-005: hidden, named", ".github/**/*.yml", "", []string{".github/workflows/ci.yml"}},
		{"SRCH-005: hidden, at any depth", "**/.eslintrc.json", "", []string{".eslintrc.json", "deep/.eslintrc.json"}},
		{"SRCH-005: hidden ones are included", "**/*.yml", "", []string{".github/workflows/ci.yml", "x.yml"}},
		{"beneath a directory", "*.ts", "src", []string{"src/d.ts"}},
		{"beneath a directory spelled oddly", "**", "./src/", []string{"src/d.ts"}},
		{"a leading ./", "./*.py", "", []string{"c.py"}},
		{"an absolute pattern", b.root + "/src/*", "", []string{"src/d.ts"}},
		{"an escaped brace", `\{odd\}.ts`, "", []string{"{odd}.ts"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := args{"pattern": tt.pattern}
			if tt.path != "" {
				a["path"] = tt.path
			}
			r := b.ok(FindFiles, a)
			sameLines(t, r.Text, tt.want)
			hasFields(t, r, fmt.Sprintf("matches=%d truncated=<nil>", len(tt.want)))
		})
	}
	for pattern, reason := range map[string]string{"a.{ts": "brace", "a.[ts": "bracket", "": "empty", "../*": "absolute", "/etc/*": "absolute", `a\`: "syntax"} {
		b.refused(FindFiles, args{"pattern": pattern}, "tool.glob", reason)
	}
	b.refused(FindFiles, args{"pattern": "*", "path": "/etc"}, "fs.outside_workspace")
	b.refused(FindFiles, args{"pattern": "*", "path": "a.ts"}, "fs.not_directory")
	b.refused(FindFiles, args{"pattern": "*", "path": "none"}, "fs.not_found")

	r := b.ok(FindFiles, args{"pattern": "*.rs"})
	if r.Text != "searched: 9, ignored: 1\n" || r.Hint != "anywhere" || field(r, "matches") != 0 {
		t.Errorf("%q %v", r.Text, r)
	}
}

func sameLines(t *testing.T, text string, want []string) {
	t.Helper()
	got := map[string]bool{}
	for line := range strings.Lines(text) {
		got[strings.TrimSuffix(line, "\n")] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("%q is missing in %q", w, text)
		}
	}
	if n := strings.Count(text, "\n"); n != len(want) {
		t.Errorf("%d lines, want %d: %q", n, len(want), text)
	}
}

func TestFindFilesNewestFirstAndCapped(t *testing.T) {
	b := newBox(t, nil, func(e *Env) { e.Limits.Entries = 3 })
	for i := range 20 {
		name := fmt.Sprintf("f%02d", i)
		b.put(name, "")
		at := time.Date(2026, 1, 1+(i*7)%20, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(b.root, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	r := b.ok(FindFiles, args{"pattern": "**"})
	if want := "f17\nf14\nf11\n"; r.Text != want {
		t.Errorf("%q, want %q", r.Text, want)
	}
	hasFields(t, r, "matches=20 shown=3 truncated=true")
	if r.Hint != "narrow" {
		t.Errorf("hint %q", r.Hint)
	}
}

// SRCH-003: what is ignored never fills the cap; ignore files of every level hold.
func TestIgnoreFilesAreHonoured(t *testing.T) {
	files := map[string]string{
		".gitignore": "node_modules/\n*.log\n", "src/.gitignore": "!keep.log\n/gen\n",
		"src/app.py": "def main\n", "src/keep.log": "def\n", "src/gen/x.py": "def\n", "a.log": "def\n",
		".git/info/exclude": "secret.py\n", "secret.py": "def\n", "src/sub/b.py": "def\n",
	}
	for i := range 1200 {
		files[fmt.Sprintf("node_modules/m%d.py", i)] = "def\n"
	}
	b := newBox(t, files)
	sameLines(t, b.ok(FindFiles, args{"pattern": "**/*.py"}).Text, []string{"src/app.py", "src/sub/b.py"})
	sameLines(t, b.ok(SearchFile, args{"pattern": "def", "mode": "files"}).Text, []string{"src/app.py", "src/keep.log", "src/sub/b.py"})
	sameLines(t, b.ok(SearchFile, args{"pattern": "def", "include": "src/*.py"}).Text, []string{"src/app.py:1:def main"})
	// The rules above the start hold beneath it.
	sameLines(t, b.ok(FindFiles, args{"pattern": "**", "path": "src"}).Text, []string{"src/app.py", "src/.gitignore", "src/keep.log", "src/sub/b.py"})
	// Asked for by name, an ignored directory is searched.
	hasFields(t, b.ok(FindFiles, args{"pattern": "*.py", "path": "node_modules"}), "matches=1200 shown=1000")
	hasFields(t, b.ok(FindFiles, args{"pattern": "**/*.py", "no_ignore": true}), "matches=1204")
	hasFields(t, b.ok(SearchFile, args{"pattern": "def", "no_ignore": true, "mode": "count"}), "files=1206")
	if r := b.ok(SearchFile, args{"pattern": "absent"}); r.Hint != "ignored" || !strings.Contains(r.Text, "ignored: 5") {
		t.Errorf("%q %v", r.Text, r)
	}
}
