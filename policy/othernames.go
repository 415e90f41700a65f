package policy

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"sunaba/fault"
	"sunaba/scope"
)

// maxSearched bounds how many names are looked at for another one of a file, on
// either side.
const maxSearched = 200_000

// guarded is what a rule takes something from.
type guarded struct {
	path   string
	lost   scope.Capability // the right that tells whether the rule holds
	source string
	flat   bool   // from what lies beneath path only where it lies directly in it
	tree   bool   // its files are looked for one by one
	except string // but not those beneath this; "" none
}

// guards lists what sandbox.scope denies and what is protected: configuration,
// store, logs, host tools, entries and their runtime roots. What holds others
// comes before them.
func (r *resolver) guards() (out []guarded) {
	if r.e.Scope != nil {
		for _, d := range r.e.Scope.Deny {
			out = append(out, guarded{path: d.Target, lost: takes(d), source: d.Source, flat: !d.Recursive})
		}
	}
	for _, p := range r.e.Protected {
		lost := scope.W
		if p.Hidden {
			lost = scope.R
		}
		g := guarded{path: p.Path, lost: lost, source: p.Source, tree: true}
		if p.Why == "host_tool" { // whole checkouts, whose files share much with others
			g.except = filepath.Join(p.Path, "worktrees")
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b guarded) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out
}

// takes returns the right that tells whether a deny rule holds.
func takes(d scope.Rule) scope.Capability {
	if d.Permission == scope.Read {
		return scope.R
	}
	return scope.W
}

// otherNames refuses what a second name leaves: rules and mounts go by name,
// and neither a mount of this machine nor a hard link must lead around them.
// Both are looked for wherever the policy grants what the rule takes.
func (r *resolver) otherNames() {
	rules, err := r.e.Rules()
	if err != nil {
		return // told elsewhere
	}
	table := mounts()
	r.otherMounts(rules, table)
	r.otherLinks(rules, table)
}

// otherMounts refuses what a mount shows under a name that leaves it.
func (r *resolver) otherMounts(rules *Rules, table mountTable) {
	var told []guarded
	for _, g := range r.guards() {
		if slices.ContainsFunc(told, func(t guarded) bool { return beneath(g.path, t.path) && t.lost == g.lost }) {
			continue
		}
		for _, root := range r.e.Roots {
			at, _ := table.alias(g.path, root.Path, func(known, at string) bool { return sameFile(known, at) && g.left(rules, known, at) })
			if at == "" {
				continue
			}
			told = append(told, g)
			if r.isRuntime(g.path) && g.lost == scope.W { // C-82
				r.problem(fault.PolicyRuntimeWritable, "runtime_writable", g.source, "path", g.path, "root", at)
			} else {
				r.problem(fault.PolicyRoot, "scope_mounted", g.source, "path", g.path, "other", at)
			}
			break
		}
	}
}

// left reports whether at, another name of known, which is g or lies beneath it,
// leaves what g takes.
func (g guarded) left(rules *Rules, known, at string) bool {
	switch {
	case !g.flat:
		return rules.leaves(at, isDirectory(at), g.lost)
	case known == g.path:
		return rules.CapabilityAt(at).Has(g.lost) || rules.CapabilityAt(filepath.Join(at, anything)).Has(g.lost)
	}
	return filepath.Dir(known) == g.path && rules.CapabilityAt(at).Has(g.lost)
}

func (r *resolver) isRuntime(path string) bool {
	return slices.ContainsFunc(r.e.Roots, func(x Root) bool { return x.Kind == RootRuntime && x.Path == path })
}

// sameFile reports whether both paths lead to one file or directory now.
func sameFile(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// otherLinks refuses a file that has another name, a hard link, which leaves
// what a rule takes from the first. Both sides are searched at once: most often
// one of them holds no file with several names, and the other needs not be
// looked at any further. Names that take no less than the rule, such as those
// that package managers make within a runtime root, do not matter. In denied
// directories nothing is looked at.
func (r *resolver) otherLinks(rules *Rules, table mountTable) {
	if !namesAreCounted {
		return
	}
	var guards []guarded
	var lost scope.Capability
	for _, g := range r.guards() {
		if slices.ContainsFunc(r.e.Roots, func(x Root) bool {
			return forFiles(x.Kind) && table.together(g.path, x.Path) && rules.leaves(x.Path, true, g.lost)
		}) {
			guards = append(guards, g)
			lost |= g.lost
		}
	}
	var over atomic.Bool
	taken, reach := newSearch(r.names, &over), newSearch(r.names, &over)
	var both sync.WaitGroup
	both.Go(func() {
		for _, g := range guards {
			taken.search(g, func(string) bool { return true })
		}
		taken.end()
	})
	both.Go(func() {
		for _, root := range outermost(r.e.Roots) {
			reach.search(guarded{path: root, tree: true}, func(path string) bool { return rules.CapabilityAt(path)&lost != 0 })
		}
		reach.end()
	})
	both.Wait()
	if over.Load() {
		return
	}
	told := map[string]bool{}
	for _, other := range reach.found {
		for _, f := range taken.by[other.inode] {
			if f.path == other.path || told[f.rule.path] || !rules.CapabilityAt(other.path).Has(f.rule.lost) {
				continue
			}
			told[f.rule.path] = f.rule.path != f.path // of a tree one is enough
			r.problem(fault.PolicyRoot, "scope_hard_link", f.rule.source, "path", f.path, "other", other.path)
		}
	}
	switch {
	case taken.left < 0:
		r.warn(fault.PolicyRoot, "scope_hard_link_many", taken.last.source, "path", taken.last.path)
	case reach.left < 0:
		f := taken.found[0]
		r.warn(fault.PolicyRoot, "scope_hard_link_unknown", f.rule.source, "path", f.path)
	}
}

// outermost returns the paths of the workspace and the mounts without those
// that lie in another one.
func outermost(roots []Root) (paths []string) {
	for _, x := range roots {
		inner := slices.ContainsFunc(roots, func(y Root) bool { return forFiles(y.Kind) && x.Path != y.Path && beneath(x.Path, y.Path) })
		if forFiles(x.Kind) && !inner {
			paths = append(paths, x.Path)
		}
	}
	return paths
}

// search collects files with several names.
type search struct {
	found []linked
	by    map[inode][]linked
	left  int     // names that may still be looked at; less than 0: not all were
	last  guarded // what was searched last
	over  *atomic.Bool
}

// linked is one name of a file with several names.
type linked struct {
	path  string
	inode inode
	rule  guarded // by which it was found
}

// newSearch returns a search of at most names names, which ends when over says
// that nothing can come of it.
func newSearch(names int, over *atomic.Bool) *search {
	return &search{by: map[inode][]linked{}, left: names, over: over}
}

// search looks at g and, when g says so, at all that lies beneath it.
func (s *search) search(g guarded, wanted func(path string) bool) {
	if s.left < 0 {
		return
	}
	s.last = g
	_ = filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if s.left--; s.left < 0 || s.over.Load() {
			return filepath.SkipAll
		}
		switch {
		case err != nil: // what cannot be looked at here cannot be reached there
			return nil
		case d.IsDir() && !g.tree:
			return filepath.SkipAll
		case d.IsDir() && path == g.except:
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		id, several := severalNames(info)
		known := func(f linked) bool { return f.path == path && f.rule.lost == g.lost }
		if several && wanted(path) && !slices.ContainsFunc(s.by[id], known) {
			f := linked{path, id, g}
			s.found, s.by[id] = append(s.found, f), append(s.by[id], f)
		}
		return nil
	})
}

// end tells the other search when it needs not go on.
func (s *search) end() {
	if s.left >= 0 && len(s.found) == 0 {
		s.over.Store(true)
	}
}
