package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"regexp"
	"strings"
	"testing"
)

// The words are written in pieces, for this file is part of the tree.
var (
	// A path of the machine that someone worked on, or a tool found there. Root's
	// dot files may be named: tests of escapes reach for them.
	machine = regexp.MustCompile(`(^|[^A-Za-z0-9_.~}*/-])(/wo` + `rk/|/ro` + `ot/([^.]|\.(cache|local)))|\bfa` + `rm-|\.lib` + `rary\b|\bdupli` + `cates --`)
	// A place that is not finished.
	unfinished = regexp.MustCompile(`\bTO` + `DO\b|\bFIX` + `ME\b|pan` + `ic\("(?i:to` + `do|unimpl|not impl)`)
)

func foreignWords(t *tree) []string {
	return grep(t, func(f file) []byte { return f.data }, machine)
}

// unfinishedPlaces looks at comments of Go files, for their strings may hold
// such words as examples, and at whole files of other kinds but documents.
func unfinishedPlaces(t *tree) []string {
	return grep(t, func(f file) []byte {
		switch {
		case strings.HasSuffix(f.path, ".md") || strings.Contains(f.path, "testdata/"):
			return nil
		case f.ast == nil:
			return f.data
		}
		kept := blank(f.data)
		mark := func(n ast.Node) {
			from, to := t.fset.Position(n.Pos()).Offset, t.fset.Position(n.End()).Offset
			copy(kept[from:to], f.data[from:to])
		}
		for _, c := range f.ast.Comments {
			mark(c)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fun, ok := call.Fun.(*ast.Ident); ok && fun.Name == "panic" {
					mark(call)
				}
			}
			return true
		})
		return kept
	}, unfinished)
}

// blank keeps only the line breaks of data.
func blank(data []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, bytes.ToValidUTF8(data, nil))
}

// grep returns a line for every match of re in what text gives of a file.
// Files that hold a NUL are not text.
func grep(t *tree, text func(file) []byte, re *regexp.Regexp) []string {
	var found []string
	for _, f := range t.files {
		if bytes.IndexByte(f.data, 0) >= 0 {
			continue
		}
		for i, line := range strings.Split(string(text(f)), "\n") {
			if m := re.FindString(line); m != "" {
				found = append(found, fmt.Sprintf("%s:%d holds %q", f.path, i+1, strings.TrimSpace(m)))
			}
		}
	}
	return found
}

func formatting(t *tree) []string {
	var found []string
	for _, f := range t.files {
		if f.ast == nil {
			continue
		}
		if formatted, err := format.Source(f.data); err != nil || !bytes.Equal(formatted, f.data) {
			found = append(found, f.path+" is not gofmt'ed")
		}
	}
	return found
}

// osFile matches files whose name says which system they are for.
var osFile = regexp.MustCompile(`_(linux|windows|other)(_[a-z0-9]+)?\.go$`)

func bannedUses(t *tree) []string {
	var found []string
	for _, f := range t.files {
		if !f.goCode() {
			continue
		}
		eachCall(f, func(n ast.Node, name string) {
			switch {
			case name == "runtime.GOOS" && !osFile.MatchString(f.path):
				found = append(found, t.at(n)+" asks for the system; use a file of that system")
			case name == "os.Exit" && !strings.HasPrefix(f.path, "cmd/") && !strings.HasPrefix(f.path, "examples/"):
				found = append(found, t.at(n)+" exits outside of main")
			case name == "regexp.MustCompile" && f.dir() != "internal/pattern":
				found = append(found, t.at(n)+" compiles a pattern; use pattern.Lazy")
			}
		})
	}
	return found
}

func TestNoForeignWords(t *testing.T) {
	path := "/wo" + "rk/main"
	hold(t, foreignWords, map[string]string{
		"a.md":   "one\nsee " + path + "\nand fa" + "rm-tool",
		"b.go":   "package b\nconst tool = \"/ro" + "ot/go/bin\"\nconst key = \"/ro" + "ot/.ssh/id\"",
		"c.go":   "package c // frame" + path + " and ~" + path + " are other paths",
		"d.yaml": "run: ls ." + "library",
		"e.bin":  "\x00 " + path,
	},
		`a.md:2 holds "/wo`+`rk/"`,
		`a.md:3 holds "fa`+`rm-"`,
		`b.go:2 holds "\"/ro`+`ot/g"`,
		`d.yaml:1 holds ".lib`+`rary"`,
	)
}

func TestNothingIsLeftUnfinished(t *testing.T) {
	word := "TO" + "DO"
	hold(t, unfinishedPlaces, map[string]string{
		"a.go":     "package a\n// " + word + ": later\nvar s = \"" + word + "\"\nfunc f() { panic(\"to" + "do\") }",
		"b.md":     "no " + word + " here",
		"Makefile": "# FIX" + "ME",
		"c.go":     "package c // TO" + "DOS and mastodon",
	},
		"Makefile:1 holds \"FIX"+"ME\"",
		"a.go:2 holds \""+word+"\"",
		"a.go:4 holds \"pan"+"ic(\\\"to"+"do\"",
	)
}

func TestEveryGoFileIsFormatted(t *testing.T) {
	hold(t, formatting, map[string]string{"a.go": "package a\n", "b.go": "package  b\n"}, "b.go is not gofmt'ed")
}

func TestBannedUses(t *testing.T) {
	code := "package a\nvar x = runtime.GOOS\nfunc f() { os.Exit(1) }"
	hold(t, bannedUses, map[string]string{"b.go": "package b\nvar x = regexp.MustCompile(``)", "a/a.go": code, "a/a_linux.go": code, "a/a_test.go": code, "cmd/a/main.go": code, "a/a_linux_amd64.go": "package a\nvar y = runtime.GOOS"},
		"a/a.go:2 asks for the system; use a file of that system",
		"a/a.go:3 exits outside of main",
		"a/a_linux.go:3 exits outside of main",
		"b.go:2 compiles a pattern; use pattern.Lazy",
		"cmd/a/main.go:2 asks for the system; use a file of that system",
	)
}
