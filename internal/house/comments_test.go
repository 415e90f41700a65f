package house

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

func packageComments(t *tree) []string {
	documented := map[string]bool{}
	var dirs []string
	for _, f := range t.files {
		if f.goCode() {
			if _, seen := documented[f.dir()]; !seen {
				dirs = append(dirs, f.dir())
			}
			documented[f.dir()] = documented[f.dir()] || f.ast.Doc != nil
		}
	}
	slices.Sort(dirs)
	var found []string
	for _, dir := range dirs {
		if !documented[dir] {
			found = append(found, dir+" has no package comment")
		}
	}
	return found
}

func exportedComments(t *tree) []string {
	var found []string
	missing := func(n ast.Node, name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g != nil }) {
			found = append(found, fmt.Sprintf("%s: %s has no comment", t.at(n), name.Name))
		}
	}
	for _, f := range t.files {
		if !f.goCode() {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if receiverExported(d) {
					missing(d, d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						missing(s, s.Name, d.Doc, s.Doc)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							missing(s, name, d.Doc, s.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
	return found
}

// receiverExported reports whether d is a function or a method of a type that
// others can name.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch v := x.(type) {
		case *ast.StarExpr:
			x = v.X
		case *ast.IndexExpr:
			x = v.X
		case *ast.IndexListExpr:
			x = v.X
		case *ast.Ident:
			return v.IsExported()
		default:
			return true
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	hold(t, packageComments, map[string]string{
		"a/a.go":      "package a",
		"a/b.go":      "// Package a is.\npackage a",
		"b/b.go":      "package b",
		"b/b_test.go": "// Package b is tested.\npackage b",
	}, "b has no package comment")
}

func TestEveryExportedNameHasAComment(t *testing.T) {
	hold(t, exportedComments, map[string]string{
		"a/a.go": strings.Join([]string{"package a",
			"func F() {}",
			"func f() {}",
			"type T struct{}",
			"func (T) M() {}",
			"func (*t) M() {}",
			"type t struct{}",
			"// V is.",
			"var V int",
			"const (",
			"C = 1",
			"D = 2 // D is.",
			"// E is.",
			"E = 3",
			")"}, "\n"),
		"a/a_test.go": "package a\nfunc G() {}",
	},
		"a/a.go:2: F has no comment",
		"a/a.go:4: T has no comment",
		"a/a.go:5: M has no comment",
		"a/a.go:11: C has no comment",
	)
}
