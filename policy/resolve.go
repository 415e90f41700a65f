package policy

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sunaba/fault"
	"sunaba/scope"
)

// Resolution is an Effective Sandbox Policy with what a person should know
// before agreeing to it.
type Resolution struct {
	Effective Effective
	Warnings  []Problem
}

// Resolve turns in into the Effective Sandbox Policy: it follows every link,
// hashes every entry executable and checks that the parts fit together. It
// reads the file system and changes nothing. The error is a *Problems that
// lists all that is wrong. (S1-082, S1-158, S1-159, FS-01, FS-02)
func Resolve(in Input) (*Resolution, error) {
	r := &resolver{in: in, names: maxSearched}
	r.all()
	if len(r.problems) > 0 {
		return nil, &Problems{List: r.problems}
	}
	return &Resolution{Effective: r.e, Warnings: r.warnings}, nil
}

func (r *resolver) all() {
	in := r.in
	r.e = Effective{
		Profile:         in.Profile,
		Network:         in.Network,
		Resources:       in.Resources,
		AllowedCommands: in.AllowedCommands,
		MaxFileBytes:    lower(in.MaxFileBytes, in.Resources.FileSizeBytes),
		MaxFiles:        in.MaxFiles,
		AllowHardLinks:  in.AllowHardLinks,
	}
	r.e.Resources.FileSizeBytes = r.e.MaxFileBytes // C-26: the lower one holds for both
	r.workspace()
	r.mounts()
	r.scope()
	r.entries()
	r.nesting()
	r.protect()
	r.otherNames()
	r.environment()
	r.network()
}

// resolver holds one run of Resolve.
type resolver struct {
	in       Input
	e        Effective
	problems []Problem
	warnings []Problem
	names    int // how many are looked at for hard links, on either side
}

func (r *resolver) problem(code fault.Code, reason, source string, pairs ...string) {
	r.problems = append(r.problems, newProblem(code, reason, source, pairs))
}

func (r *resolver) warn(code fault.Code, reason, source string, pairs ...string) {
	r.warnings = append(r.warnings, newProblem(code, reason, source, pairs))
}

func newProblem(code fault.Code, reason, source string, pairs []string) Problem {
	args := fault.Args{"source": source}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return Problem{Code: code, Reason: reason, Source: source, Args: args}
}

// lower returns the smaller limit; 0 is no limit.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (r *resolver) unresolvable(path, source string, err *linkError) {
	r.problem(fault.PolicyUnresolvable, "unresolvable_"+err.Reason, source, "path", legible(path), "at", legible(err.At))
}

// legible returns path, quoted where it is no UTF-8.
func legible(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return strconv.QuoteToASCII(path)
}

// directory resolves path to a directory that may be a root.
func (r *resolver) directory(path, source string, c scope.Capability) (string, bool) {
	resolved, err := resolve(path)
	if err != nil {
		r.unresolvable(path, source, err)
		return "", false
	}
	if !isDirectory(resolved) {
		r.problem(fault.PolicyUnresolvable, "unresolvable_not_directory", source, "path", path, "at", resolved)
		return "", false
	}
	if reason, other := r.unfit(resolved, c); reason != "" {
		r.problem(fault.PolicyRoot, reason, source, "path", resolved, "other", other)
		return "", false
	}
	return resolved, true
}

// unfit says why path may not be a root with capability c.
func (r *resolver) unfit(path string, c scope.Capability) (reason, other string) {
	for _, tree := range kernelTrees() {
		if beneath(path, tree) {
			return "root_kernel", tree
		}
	}
	state := r.in.Own.StateDir
	if s, err := resolveExisting(state); state != "" && err == nil {
		state = s
	}
	if state != "" && beneath(path, state) {
		return "root_in_state", state
	}
	if !c.Has(scope.W) {
		return "", ""
	}
	switch {
	case filepath.Dir(path) == path:
		return "root_top", path
	case state != "" && beneath(state, path):
		return "root_holds_state", state
	}
	for _, home := range homes() {
		switch {
		case home == path:
			return "root_home", home
		case beneath(home, path):
			return "root_holds_home", home
		}
	}
	return "", ""
}

// beneath reports whether path is dir or lies beneath it; both clean.
func beneath(path, dir string) bool {
	if path == dir {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(dir, separator)+separator)
}

func (r *resolver) workspace() {
	w := r.in.Workspace
	c := scope.R // FS-08
	if r.in.Profile == "development" {
		c = scope.All
	}
	r.e.Workspace = Workspace{Logical: w.Root, Name: w.Name, Policy: w.Policy}
	path, ok := r.directory(w.Root, w.Source, c)
	if !ok {
		return
	}
	r.e.Workspace.Root = path
	r.e.Roots = append(r.e.Roots, Root{path, w.Root, RootWorkspace, c, w.Source})
}

func (r *resolver) mounts() {
	for _, m := range r.in.Mounts {
		c := scope.R // FS-09: never execute
		switch m.Access {
		case "read_write":
			c |= scope.W
		case "read_write_delete":
			c |= scope.W | scope.D
		}
		if path, ok := r.directory(m.Path, m.Source, c); ok {
			if filepath.Dir(path) == path { // the sandbox has a top of its own
				r.problem(fault.PolicyRoot, "mount_whole", m.Source, "path", path)
				continue
			}
			r.e.Roots = append(r.e.Roots, Root{path, m.Path, RootMount, c, m.Source})
		}
	}
}

// nesting refuses what cannot be enforced of areas in areas. The kernel's rules
// add up along a path (SANDBOX-LINUX §3.3), so that an inner area with fewer
// rights is held by its mount alone: that takes write with delete, and execute,
// but never delete alone.
func (r *resolver) nesting() {
	roots := slices.DeleteFunc(slices.Clone(r.e.Roots), func(x Root) bool { return x.Kind == RootExecutable })
	for i, a := range roots {
		for _, b := range roots[i+1:] {
			outer, inner := a, b
			if beneath(a.Path, b.Path) && a.Path != b.Path {
				outer, inner = b, a
			}
			switch {
			case !beneath(inner.Path, outer.Path):
			case inner.Kind == RootRuntime && outer.Capability.Has(scope.W),
				outer.Kind == RootRuntime && inner.Capability.Has(scope.W): // runtimes says it better
			case inner.Path == outer.Path && inner.Kind != RootRuntime && outer.Kind != RootRuntime:
				r.problem(fault.PolicyRoot, "root_twice", inner.Source, "path", inner.Path, "other", outer.Source)
			case inner.Capability.Has(outer.Capability):
			case inner.Kind == RootRuntime || outer.Kind == RootRuntime,
				inner.Capability.Has(scope.W) && outer.Capability&^inner.Capability&scope.D != 0:
				r.problem(fault.PolicyNested, "nested", inner.Source, "path", inner.Path,
					"rights", inner.Capability.String(), "other", outer.Path, "other_rights", outer.Capability.String())
			}
		}
	}
}

func (r *resolver) environment() {
	for _, v := range r.in.Environment {
		if reason := judgeVariable(v); reason != "" {
			r.problem(fault.PolicyEnvironment, reason, v.Source, "name", v.Name)
			continue
		}
		if r.e.Environment == nil {
			r.e.Environment = map[string]string{}
		}
		r.e.Environment[v.Name] = v.Value
	}
}
