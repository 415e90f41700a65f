package blackbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCasesSearch: what is not shown is counted, and nothing is missed in
// silence.
//
// Covers: SD-16, S1-112
func TestCasesSearch(t *testing.T) {
	t.Parallel()
	b := open(t, "", "", func(h *house) {
		for i := range 441 {
			h.write(fmt.Sprintf("many/f%03d.txt", i), "x TODO_X\n")
		}
		for i := range 1200 {
			h.write(fmt.Sprintf("app/node_modules/m%d.py", i), "def x\n")
		}
		h.write("app/src/app.py", "def main\n")
		h.write("app/.gitignore", "node_modules/\n")
		h.write("gh/.github/workflows/ci.yml", "on: x")
		h.write("gh/.eslintrc.json", "{}")
		h.write("gh/x.yml", "a: 1")
		for _, name := range []string{"a.ts", "b.tsx", "c.py", "src/d.ts"} {
			h.write("br/"+name, "x")
		}
		h.write("long/bundle.js", strings.Repeat("日日x", 214285)+"needle"+strings.Repeat("y日日", 214285))
		h.write("long/a.json", strings.Repeat("a", 70000))
		h.write("long/z.txt", "hit\n")
		h.write("re/t.txt", "colour\ncolor\nfile\n")
	})

	b.run(t, "SRCH-001", func(t *testing.T) {
		for _, mode := range []string{"content", "files", "count"} {
			got := b.must("search_file", args{"pattern": "TODO_X", "path": "many", "mode": mode})
			shown := strings.Count(got.text, "\n")
			if got.head["matches"] != 441.0 && mode == "content" || shown < 441 && (got.head["truncated"] != true || got.head["shown"] != float64(shown)) || shown == 441 && got.head["truncated"] == true {
				t.Errorf("%s, %d shown: %v", mode, shown, got.head)
			}
			if mode == "content" && (shown != 250 || got.head["hint"] == nil) {
				t.Errorf("%d shown: %v", shown, got.head)
			}
		}
		got := b.must("find_files", args{"pattern": "**/*.py", "path": "app", "no_ignore": true})
		if got.head["matches"] != 1201.0 || got.head["shown"] != 1000.0 || got.head["truncated"] != true {
			t.Errorf("find: %v", got.head)
		}
		if got := b.must("list_files", args{"path": "app/node_modules"}); strings.Count(got.text, "\n") >= 1200 || got.head["truncated"] != true {
			t.Errorf("list: %v", got.head)
		}
	})

	b.run(t, "SRCH-003", func(t *testing.T) {
		got := b.must("find_files", args{"pattern": "**/*.py", "path": "app"})
		b.has("find", got.text, "app/src/app.py")
		got = b.must("search_file", args{"pattern": "def", "path": "app", "include": "src/*.py"})
		b.has("search", got.text, "app/src/app.py:1:def main")
		got = b.must("search_file", args{"pattern": "def", "path": "app", "include": "src/*.py", "no_ignore": true})
		b.has("search", got.text, "app/src/app.py:1:def main")
		got = b.must("search_file", args{"pattern": "def x", "path": "app"})
		if got.head["matches"] != 0.0 || got.head["ignored"] == nil || got.head["hint"] == nil {
			t.Errorf("only ignored: %s", got.raw)
		}
	})

	b.run(t, "SRCH-005", func(t *testing.T) {
		for pattern, want := range map[string][]string{
			".github/**/*.yml": {".github/workflows/ci.yml"}, "**/.eslintrc.json": {".eslintrc.json"},
			"**/*.yml": {".github/workflows/ci.yml", "x.yml"}, ".*": {".eslintrc.json"},
		} {
			got := b.must("find_files", args{"pattern": pattern, "path": "gh"})
			for i := range want {
				want[i] = "gh/" + want[i]
			}
			b.has(pattern, got.text, want...)
			if got.head["matches"] != float64(len(want)) {
				t.Errorf("%s: %s", pattern, got.raw)
			}
		}
	})

	b.run(t, "SRCH-007", func(t *testing.T) {
		for pattern, want := range map[string]float64{"*.{ts,tsx}": 2, "**/*.{ts}": 2, "{src,lib}/**/*.ts": 1, "**/{a,{b,d}}.ts*": 3, "[ab].ts*": 2, "?.py": 1} {
			if got := b.must("find_files", args{"pattern": pattern, "path": "br"}); got.head["matches"] != want {
				t.Errorf("%s: %s", pattern, got.raw)
			}
		}
		for _, pattern := range []string{"a.{ts", "a.{ts,{x}", "[a", ""} {
			got := b.refuse("find_files", args{"pattern": pattern, "path": "br"}, "tool.glob", "tool.arguments")
			if strings.Contains(pattern, "{") {
				b.has("the refusal", got.message+got.hint, "{", "}")
			}
		}
		b.refuse("search_file", args{"pattern": "x", "path": "br", "include": "a.{ts"}, "tool.glob")
	})

	b.run(t, "SRCH-009", func(t *testing.T) {
		got := b.must("search_file", args{"pattern": "needle", "path": "long"})
		b.has("search", got.text, "needle", "column 642856", " bytes]")
		if len(got.raw) > 4000 || !utf8.ValidString(got.raw) || strings.ContainsRune(got.raw, utf8.RuneError) {
			t.Errorf("%d bytes: %s", len(got.raw), clip(got.raw))
		}
		got = b.must("search_file", args{"pattern": "日", "path": "long", "context": 3})
		if len(got.raw) > 4000 {
			t.Errorf("%d bytes with context", len(got.raw))
		}
		got = b.must("read_file", args{"path": "long/bundle.js"})
		if len(got.raw) > 20<<10 {
			t.Errorf("read_file: %d bytes", len(got.raw))
		}
	})

	b.run(t, "SRCH-011", func(t *testing.T) {
		got := b.must("search_file", args{"pattern": "hit", "path": "long"})
		b.has("search", got.text, "long/z.txt:1:hit")
		b.must("read_file", args{"path": "long/a.json"})
		if got := b.must("search_file", args{"pattern": "a$", "path": "long/a.json", "mode": "count"}); got.head["matches"] != 1.0 {
			t.Errorf("the end of the long line: %s", got.raw)
		}
	})

	b.run(t, "SRCH-013", func(t *testing.T) {
		for pattern, want := range map[string]float64{"colou?r|file": 3, "^(colour|color)$": 2, `\bfil+e\b`: 1, "c.l.{1,2}r": 2, "[[:alpha:]]{6,}": 1, "(?i)COLOR": 1} {
			if got := b.must("search_file", args{"pattern": pattern, "path": "re"}); got.head["matches"] != want {
				t.Errorf("%s: %s", pattern, got.raw)
			}
		}
		for _, pattern := range []string{"(?=x)", "(?<!x)y", `(a)\1`, "a++", "(", "[z-a]"} {
			got := b.refuse("search_file", args{"pattern": pattern, "path": "re"}, "tool.regex")
			if got.hint == "" && !strings.Contains(got.message, pattern) {
				t.Errorf("no reason: %s", got.raw)
			}
		}
	})

	b.run(t, "SRCH-015", func(t *testing.T) {
		b.write("walk/a/real.txt", "x marks\n")
		b.write(b.dir+"/secretdir/hidden.txt", "x outside\n")
		b.link("..", "walk/a/b")
		b.link("/", "walk/a/c")
		b.link(b.dir+"/secretdir", "walk/a/d")
		b.link(b.dir+"/secretdir/hidden.txt", "walk/a/e")
		b.link("loop", "walk/a/loop")
		deep := b.ws + "/walk/deep"
		for range 300 {
			deep += "/d"
		}
		b.mkdir(deep)
		if err := exec.Command("mkfifo", b.ws+"/walk/fifo").Run(); err != nil {
			t.Fatal(err)
		}
		b.mkdir(b.path("walk/closed"))
		b.write("walk/closed/f", "x")
		if err := os.Chmod(b.path("walk/closed"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(filepath.Join(b.ws, "walk/closed"), 0o755) })
		got := b.tries(do("find_files", args{"pattern": "**/*.txt", "path": "walk"}), do("search_file", args{"pattern": "x", "path": "walk"}),
			do("find_files", args{"pattern": "**/*", "path": "walk"}), do("read_file", args{"path": "walk/fifo"}), do("list_files", args{"path": "walk"}))
		if got[0].text != "walk/a/real.txt\n" || got[1].text != "walk/a/real.txt:1:x marks\n" || strings.Contains(got[2].raw, "hidden") {
			t.Errorf("%s\n%s\n%s", got[0].raw, got[1].raw, got[2].raw)
		}
		for _, i := range []int{0, 1, 2} {
			if got[i].head["unreadable"] != 1.0 || got[i].head["special"] != 1.0 {
				t.Errorf("not counted: %v", got[i].head)
			}
		}
		b.refused("a pipe", got[3], "fs.special_file")
		b.has("list", got[4].text, "fifo")
	})
}
