package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the order of the packages, lowest first. A package imports only
// what stands on an earlier line; * matches one path element. A new package
// needs a place here.
const layers = `
fault internal/pattern
internal/screen internal/gitignore internal/spelling internal/suggest
scope
policy
sandbox/internal/ablation sandbox/internal/thread
sandbox/internal/*
sandbox scopedfs
workspace
plan skill tool
internal/prompt internal/session
internal/agent pod
internal/audit internal/journal internal/locale
internal/ollama internal/config internal/approve internal/mcpserver texts
internal/broker pod/ollama
internal/cli
internal/ollamatest
internal/attack/act
internal/attack internal/demo internal/bench
cmd/* examples/*
`

// apart are packages that no program holds: tests and their doubles may import
// everything, only tests import them.
const apart = `internal/house internal/blackbox`

// pure packages do no I/O. They import these packages of the standard library
// and nothing else from outside the module.
const (
	purePackages = `fault scope plan`
	pureImports  = `bytes cmp encoding/json errors fmt maps math path/filepath slices strconv strings unicode unicode/utf8`
	impureCalls  = `filepath.Abs filepath.EvalSymlinks filepath.Glob filepath.Walk filepath.WalkDir fmt.Print fmt.Printf fmt.Println`
)

// rank returns the line of a package in layers, -1 if it has none.
func rank(pkg string) int {
	for i, line := range strings.Split(layers, "\n") {
		for _, pattern := range strings.Fields(line) {
			if ok, _ := path.Match(pattern, pkg); ok {
				return i
			}
		}
	}
	return -1
}

func importDirections(t *tree) []string {
	var found []string
	for _, f := range t.files {
		if !f.goCode() || slices.Contains(strings.Fields(apart), f.dir()) {
			continue
		}
		own := rank(f.dir())
		if own < 0 {
			found = append(found, f.path+": its package has no place in the layers")
			continue
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			to, inside := strings.CutPrefix(name, "sunaba/")
			if !inside {
				continue
			}
			if r := rank(to); r < 0 || r >= own {
				found = append(found, fmt.Sprintf("%s imports %s, which is not below it", t.at(spec), to))
			}
		}
	}
	return found
}

func purity(t *tree) []string {
	var found []string
	for _, f := range t.files {
		if !f.goCode() || !slices.Contains(strings.Fields(purePackages), f.dir()) {
			continue
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if !strings.HasPrefix(name, "sunaba/") && !slices.Contains(strings.Fields(pureImports), name) {
				found = append(found, fmt.Sprintf("%s imports %s in a pure package", t.at(spec), name))
			}
		}
		eachCall(f, func(n ast.Node, call string) {
			if slices.Contains(strings.Fields(impureCalls), call) {
				found = append(found, fmt.Sprintf("%s uses %s in a pure package", t.at(n), call))
			}
		})
	}
	return found
}

// eachCall visits every use of a name of another package: "os.Exit".
func eachCall(f file, visit func(n ast.Node, name string)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				visit(s, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
}

func TestImportsPointDownwards(t *testing.T) {
	hold(t, importDirections, map[string]string{
		"internal/agent/a.go":      "package agent\nimport (\n\"os\"\n\"sunaba/plan\"\n\"sunaba/internal/ollama\"\n)",
		"internal/agent/a_test.go": "package agent\nimport \"sunaba/internal/ollama\"",
		"internal/new/a.go":        "package new",
		"policy/a.go":              "package policy\nimport (\n\"sunaba/policy/sub\"\n\"sunaba/scope\"\n)",
		"sandbox/a.go":             "package sandbox\nimport \"sunaba/scopedfs\"",
	},
		"internal/agent/a.go:5 imports internal/ollama, which is not below it",
		"internal/new/a.go: its package has no place in the layers",
		"policy/a.go:3 imports policy/sub, which is not below it",
		"sandbox/a.go:2 imports scopedfs, which is not below it",
	)
}

func TestPurePackagesDoNoIO(t *testing.T) {
	hold(t, purity, map[string]string{
		"scope/a.go":      "package scope\nimport (\n\"os\"\n\"path/filepath\"\n\"sunaba/fault\"\n)\nvar a = filepath.Abs\nvar b = filepath.Clean",
		"scope/a_test.go": "package scope\nimport \"os\"",
		"policy/a.go":     "package policy\nimport \"os\"",
	},
		"scope/a.go:3 imports os in a pure package",
		"scope/a.go:7 uses filepath.Abs in a pure package",
	)
}
