package tool

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSearchFile(t *testing.T) {
	b := newBox(t, map[string]string{
		"t.txt":    "colour\ncolor\nfile\nCOLOR\n",
		"crlf.txt": "one end\r\ntwo end\r\n",
		"sub/u.go": "package u\n\nfunc F() {}\n",
		"bin":      "color\x00",
		"wide.txt": string(encode([]byte("hi 日本\r\n"), utf16LE)),
		"fold.txt": "\u212aelvin\n",
		"bad.txt":  "caf\xe9 color\n",
		"pre.txt":  "a\nb\nc\nhit 1\nd\ne\nf\nhit 2\nhit 3\ng\n",
	})
	tests := []struct {
		name, want, fields string
		args               args
	}{
		{"SRCH-013: one dialect", "t.txt:1:colour\nt.txt:2:color\nt.txt:3:file\n", "matches=3 files=1 truncated=<nil>", args{"pattern": "colou?r|file", "path": "t.txt"}},
		{"case", "t.txt:1:colour\nt.txt:2:color\nt.txt:4:COLOR\n", "matches=3", args{"pattern": "COLOU?R", "case_insensitive": true, "include": "t.*"}},
		{"binary is counted", "bad.txt:1:caf\uFFFD color\nt.txt:2:color\n", "matches=2 files=2 binary=1 searched=7", args{"pattern": "color"}},
		{"ends of a line in CRLF", "crlf.txt:1:one end\ncrlf.txt:2:two end\n", "matches=2", args{"pattern": "end$"}},
		{"start of a line", "sub/u.go:3:func F() {}\n", "matches=1", args{"pattern": `^func \w+\(`}},
		{"start of the text means a line's", "sub/u.go:1:package u\nsub/u.go:3:func F() {}\n", "matches=2", args{"pattern": `\A[pf]\w+\s[uF]`, "path": "sub"}},
		{"never across lines", "", "matches=0", args{"pattern": `u\s+func`, "path": "sub/u.go"}},
		{"EDIT-004: UTF-16", "wide.txt:1:hi 日本\n", "matches=1", args{"pattern": "日本"}},
		{"letters that fold from beyond ASCII", "fold.txt:1:\u212aelvin\n", "matches=1", args{"pattern": "kelvin", "case_insensitive": true}},
		{"files", "crlf.txt\nt.txt\n", "matches=2 files=2", args{"pattern": "end|color", "mode": "files", "include": "{t,crlf}.txt"}},
		{"count", "crlf.txt:2\nt.txt:1\n", "matches=3", args{"pattern": "end|color", "mode": "count", "include": "{t,crlf}.txt"}},
		{"context", "pre.txt-3-c\npre.txt:4:hit 1\npre.txt-5-d\n--\npre.txt-7-f\npre.txt:8:hit 2\npre.txt:9:hit 3\npre.txt-10-g\n", "matches=3", args{"pattern": "hit", "context": 1}},
		{"wide context", "pre.txt-1-a\npre.txt-2-b\npre.txt-3-c\npre.txt:4:hit 1\npre.txt-5-d\npre.txt-6-e\npre.txt-7-f\npre.txt:8:hit 2\npre.txt:9:hit 3\npre.txt-10-g\n", "matches=3", args{"pattern": "hit", "context": 9}},
		{"include by name at any depth", "sub/u.go:1:package u\n", "matches=1", args{"pattern": "package", "include": "*.go"}},
		{"include by path", "", "matches=0", args{"pattern": "package", "include": "other/*.go"}},
		{"every line", "t.txt:4\n", "matches=4", args{"pattern": "", "mode": "count", "path": "t.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := b.ok(SearchFile, tt.args)
			if field(r, "matches") != 0 && r.Text != tt.want {
				t.Errorf("%q, want %q", r.Text, tt.want)
			}
			if field(r, "matches") == 0 && !strings.HasPrefix(r.Text, "searched: ") {
				t.Errorf("no hit, but %q", r.Text)
			}
			hasFields(t, r, tt.fields)
		})
	}
	for pattern, reason := range map[string]string{
		`a(?=b)`: "look_around", `(?<!x)y`: "look_around", `(a)\1`: "backreference", `foo(`: "syntax", `[`: "syntax", `a{5000}`: "too_large", `*a`: "syntax",
	} {
		b.refused(SearchFile, args{"pattern": pattern}, "tool.regex", reason)
	}
	b.refused(SearchFile, args{"pattern": "x", "include": "{a"}, "tool.glob", "brace")
	b.refused(SearchFile, args{"pattern": "x", "path": "../"}, "fs.outside_workspace")
	b.refused(SearchFile, args{"pattern": "x", "path": "none"}, "fs.not_found")
}

// SRCH-001: a cut answer says how much there is, and that it is not complete.
// Covers: S1-112
func TestSearchFileSaysWhatIsMissing(t *testing.T) {
	files := map[string]string{}
	for i := range 441 {
		files[fmt.Sprintf("f%03d", i)] = "TODO_X\n"
	}
	b := newBox(t, files, func(e *Env) { e.Limits.Matches, e.Limits.Entries = 50, 60 })
	r := b.ok(SearchFile, args{"pattern": "TODO_X"})
	hasFields(t, r, "matches=441 files=441 shown=50 truncated=true searched=441")
	if n := strings.Count(r.Text, "\n"); n != 50 || r.Hint != "narrow" {
		t.Errorf("%d lines, hint %q", n, r.Hint)
	}
	hasFields(t, b.ok(SearchFile, args{"pattern": "TODO_X", "mode": "files"}), "files=441 shown=60 truncated=true")
}

// SRCH-009, SRCH-011: long lines neither flood the answer nor end the search.
func TestSearchFileBearsLongLines(t *testing.T) {
	long := strings.Repeat("あ", 500_000) + "needle" + strings.Repeat("い", 500_000)
	b := newBox(t, map[string]string{
		"bundle.js": long,
		"a.json":    strings.Repeat("x", 70_000),
		"z.txt":     "hit\n",
		"blocks":    strings.Repeat("0123456789abcde\n", searchBlock/16-1) + "yyyyyyyyyyyyyyy\nhit at the seam\nafter\n",
		"last":      strings.Repeat("0123456789abcde\n", searchBlock/16-1) + "hit at the end \nafter\n",
	})
	r := b.ok(SearchFile, args{"pattern": "needle"})
	if len(r.Text) > 4*shownChars || !strings.Contains(r.Text, "needle") || !strings.Contains(r.Text, "column 500001") || !utf8.ValidString(r.Text) {
		t.Errorf("%d bytes: %.200q", len(r.Text), r.Text)
	}
	r = b.ok(SearchFile, args{"pattern": "hit", "context": 1})
	n := searchBlock / 16 // lines of a block
	want := fmt.Sprintf("blocks-%d-yyyyyyyyyyyyyyy\nblocks:%d:hit at the seam\nblocks-%d-after\n", n, n+1, n+2) +
		fmt.Sprintf("last-%d-0123456789abcde\nlast:%d:hit at the end \nlast-%d-after\nz.txt:1:hit\n", n-1, n, n+1)
	if r.Text != want {
		t.Errorf("%q, want %q", r.Text, want)
	}
	// One that is searched in pieces is no context for its own rest, and is not
	// kept as such: matches in every piece, lines counted all the same.
	endless := newBox(t, map[string]string{"f": "first\n" + strings.Repeat("a", 2*searchLine+3*searchBlock) + "\nb\n"})
	r = endless.ok(SearchFile, args{"pattern": "a|b", "context": 3})
	if !strings.Contains(r.Text, "f-1-first\nf:2:aaa") || !strings.HasSuffix(r.Text, "f:3:b\n") || len(r.Text) > DefaultLimits().ReadBytes {
		t.Errorf("%d bytes: %.80q … %q", len(r.Text), r.Text, r.Text[max(0, len(r.Text)-80):])
	}
	if c := (&search{context: 3}).keep([]byte("x\n"+strings.Repeat("y", 2*searchBlock)+"\n"), false); c != 2*searchBlock+3 {
		t.Errorf("keeps from %d", c)
	}
	many := newBox(t, map[string]string{"f": strings.Repeat(strings.Repeat("m", 250)+"\n", 1000)})
	r = many.ok(SearchFile, args{"pattern": "m+", "context": 20})
	if len(r.Text) > DefaultLimits().ReadBytes || field(r, "truncated") != true || field(r, "matches") != 1000 {
		t.Errorf("%d bytes, %v", len(r.Text), r.Fields)
	}
}

// The prefilter, the blocks and the search over many lines at once find
// exactly the lines that the expression matches one by one.
func TestSearchFindsWhatTheExpressionMatches(t *testing.T) {
	patterns := []string{"ab", "a+b", "^a", "b$", `\bab\b`, "(a|b)c", "[^a]", `a\s*b`, `\s+$`, "", "c*", `\Aa`, `b\z`, "(?-m)^c$", `\B`, "(ab){2}", "ab|ac", "ab|ca|日", "ab|c*", "Kb|sa|ca", "k", "K", "ask", "aſ", "日", "(?s)a.b", `[\s\S]*c`}
	line := rapid.StringOfN(rapid.SampledFrom([]rune("aabbcck \tKsſ日")), 0, 10, -1)
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		fold := rapid.Bool().Draw(t, "fold")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		text := strings.Join(lines, end)
		m, err := newMatcher(pattern, fold)
		if err != nil {
			t.Fatal(err)
		}
		s := newSearch(t.Context(), m, searchArgs{}, DefaultLimits())
		if err := s.file("f", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		flags := "(?m)"
		if fold {
			flags = "(?im)"
		}
		re := regexp.MustCompile(flags + pattern)
		want := ""
		for i, l := range lines {
			if i == len(lines)-1 && l == "" {
				break // nothing follows the last line end
			}
			if re.MatchString(l) {
				want += fmt.Sprintf("f:%d:%s\n", i+1, l)
			}
		}
		if got := s.out.String(); got != want {
			t.Fatalf("%q (fold %v) in %q: %q, want %q", pattern, fold, text, got, want)
		}
	})
}
