package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// file is one file of the tree; path is relative to the module, with slashes.
type file struct {
	path string
	data []byte
	ast  *ast.File // nil unless it is Go that parses
}

// tree is the whole repository, or the small ones that prove the rules.
type tree struct {
	fset  *token.FileSet
	files []file
}

func (f file) dir() string  { return path.Dir(f.path) }
func (f file) goCode() bool { return f.ast != nil && !f.goTest() }
func (f file) goTest() bool { return f.ast != nil && strings.HasSuffix(f.path, "_test.go") }

const root = "../.."

// repository reads everything that git would keep, once for all tests.
var repository = sync.OnceValues(func() (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // gone since it was listed
			return nil
		} else if err != nil {
			return err
		}
		name, _ = filepath.Rel(root, name)
		name = filepath.ToSlash(name)
		if ignored(name, d) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return t.add(name, data)
	})
	return t, err
})

// ignored follows .gitignore, and leaves out what failed laws leave behind.
func ignored(name string, d fs.DirEntry) bool {
	base := path.Base(name)
	if d.IsDir() {
		return name == ".git" || name == "bin" || base == "node_modules" || strings.HasSuffix(name, "testdata/rapid")
	}
	return name == ".git" || base == ".lock" || slices.Contains([]string{".test", ".out", ".tmp"}, path.Ext(base))
}

func (t *tree) add(name string, data []byte) error {
	f := file{path: name, data: data}
	if path.Ext(name) == ".go" && !strings.Contains("/"+name, "/testdata/") {
		parsed, err := parser.ParseFile(t.fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f.ast = parsed
	}
	t.files = append(t.files, f)
	return nil
}

// at names the place of a node: "scope/rule.go:12".
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// rule is one rule of the house: it returns a line for each breach.
type rule func(*tree) []string

// hold fails t for every breach of r in the repository, and demands that r
// finds the wanted breaches in a small tree, given as path → text. A rule that
// finds nothing there could not fail here either.
func hold(t *testing.T, r rule, sample map[string]string, want ...string) {
	t.Helper()
	small := &tree{fset: token.NewFileSet()}
	names := make([]string, 0, len(sample))
	for name := range sample {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := small.add(name, []byte(sample[name])); err != nil {
			t.Fatal(err)
		}
	}
	if got := r(small); !slices.Equal(got, want) {
		t.Fatalf("in the sample the rule finds\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range r(all) {
		t.Error(breach)
	}
}
