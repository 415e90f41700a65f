package sandbox

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/scope"
)

// systemTrees are the operating system's runtime root (C-23): shown read-only,
// executable as descendants; starting from them directly needs approval.
var systemTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// layout is what a policy means in mounts and kernel rules: the one
// translation both the file tools' and the commands' confinement come from
// (C-69). It is computed from the policy alone, without I/O.
type layout struct {
	binds   []bind   // in order of placement: outer before inner
	pins    []string // directories that must not be renamed, outer before inner
	locked  []string // lose write; existing when the tree is built
	hidden  []string // lose everything
	flat    []string // of locked: the directories beneath stay writable
	areas   []area   // what the kernel rules grant
	scratch string   // mount point of the scratch file system
	// listable: no scope narrows what is shown, so any directory may be listed.
	listable bool
	// executes: commands may start what they write. Where they may not, what they
	// read must not become a program by a detour through memory.
	executes bool
	// emptyRepository: a placeholder named .git stands in the tree.
	emptyRepository bool
}

// bind shows a host path at the same path inside.
type bind struct {
	path  string
	write bool
	exec  bool
	part  bool // of another bind; it need not exist
}

// area grants a capability beneath a path.
type area struct {
	path string
	cap  scope.Capability
	flat bool // for path itself and what lies directly in it
}

// home is the commands' home directory, in the scratch file system.
func (l *layout) home() string { return l.scratch + "/home" }

// Check reports what of the policy this backend cannot enforce; a policy that
// fails it is refused before anything runs (SD-19).
func Check(e *policy.Effective) error {
	if err := checkCarried(e); err != nil {
		return err
	}
	if err := checkSystem(e); err != nil {
		return err
	}
	if err := checkNested(e); err != nil {
		return err
	}
	if err := checkFlat(e); err != nil {
		return err
	}
	if err := checkNetwork(e.Network); err != nil {
		return err
	}
	if e.Confinement == policy.ByLandlock {
		if err := checkByLandlock(e); err != nil {
			return err
		}
	}
	if e.Workspace.Policy == "allow_all" {
		return fault.New(fault.PlatformUnsupported, "sandbox", "what", "sandbox.workspace.policy: allow_all", "source", "", "path", e.Workspace.Root)
	}
	return nil
}

func newLayout(e *policy.Effective) layout {
	l := layout{scratch: "/tmp", listable: e.Scope == nil}
	for _, r := range e.Roots {
		if within(r.Path, "/tmp") {
			l.scratch = "/tmp/.scratch" // a root below /tmp: only this much of it is scratch (C-79)
		}
		c := rootCapability(e, r)
		if r.Kind == policy.RootWorkspace || r.Kind == policy.RootMount {
			l.executes = l.executes || c.Has(scope.W|scope.X)
		}
		parts := slices.DeleteFunc(narrowed(e.Scope, area{path: r.Path, cap: c}, r.Kind), func(a area) bool {
			return filesRoot(e, a.path).Path != r.Path && r.Kind != policy.RootRuntime && r.Kind != policy.RootExecutable
		})
		l.binds = append(l.binds, mountsFor(r.Path, c, parts)...)
		l.areas = append(l.areas, parts...)
	}
	slices.SortStableFunc(l.binds, func(a, b bind) int { return cmp.Compare(depth(a.path), depth(b.path)) })

	for _, r := range e.Roots { // an area in another one stays where it is
		for _, outer := range l.binds {
			if outer.write && outer.path != r.Path && within(r.Path, outer.path) {
				l.pin(outer.path, r.Path)
			}
		}
	}
	for _, p := range e.Protected {
		if p.Hidden {
			l.hide(p.Path)
		} else {
			l.lock(p.Path)
		}
	}
	if e.Scope != nil {
		for _, r := range e.Scope.Deny {
			if r.Permission == scope.Read {
				l.hide(r.Target)
			} else {
				l.lock(r.Target)
				if !r.Recursive {
					l.flat = append(l.flat, r.Target)
				}
			}
		}
	}
	for _, list := range []*[]string{&l.pins, &l.locked, &l.hidden} {
		slices.Sort(*list) // a parent sorts before what is beneath it
		*list = slices.Compact(*list)
	}
	return l
}

// checkNested refuses write without delete inside an area with delete: kernel
// rules add up along a path, and a mount knows no difference between the two.
func checkNested(e *policy.Effective) error {
	for _, inner := range e.Roots {
		c := rootCapability(e, inner)
		if !c.Has(scope.W) || c.Has(scope.D) {
			continue
		}
		for _, outer := range e.Roots {
			if d := rootCapability(e, outer); d.Has(scope.D) && outer.Path != inner.Path && within(inner.Path, outer.Path) {
				return fault.New(fault.PolicyNested, "sandbox", "path", inner.Path, "rights", c.String(),
					"other", outer.Path, "other_rights", d.String(), "source", inner.Source)
			}
		}
	}
	return nil
}

// checkSystem refuses what the trees of the sandbox itself would undo, as kernel
// rules add up along a path: rules that leave less than all of a root in a tree
// that can be read whole, or of one that holds such a tree, and a root where
// everybody may write.
func checkSystem(e *policy.Effective) error {
	scratch := newLayout(e).scratch
	for _, r := range e.Roots {
		if r.Kind != policy.RootWorkspace && r.Kind != policy.RootMount {
			continue
		}
		refuse := func(what, tree string) error {
			return fault.New(fault.PlatformUnsupported, "sandbox", "what", what+" "+tree, "source", r.Source, "path", r.Path)
		}
		for _, tree := range []string{"/proc", "/dev", scratch} {
			if within(r.Path, tree) {
				return refuse("a root beneath", tree)
			}
		}
		if e.Scope == nil || len(e.Scope.Allow) == 0 {
			continue
		}
		for _, tree := range append([]string{"/etc"}, systemTrees...) {
			switch {
			case within(r.Path, tree):
				return refuse("sandbox.scope.allow beneath", tree)
			case within(tree, r.Path):
				return refuse("sandbox.scope.allow around", tree)
			}
		}
	}
	return nil
}

// filesRoot returns the innermost workspace or mount that holds p: what it grants
// holds, however much the areas around it do.
func filesRoot(e *policy.Effective, p string) (best policy.Root) {
	for _, r := range e.Roots {
		files := r.Kind == policy.RootWorkspace || r.Kind == policy.RootMount
		if files && within(p, r.Path) && len(r.Path) > len(best.Path) {
			best = r
		}
	}
	return best
}

func rootCapability(e *policy.Effective, r policy.Root) scope.Capability {
	if e.Profile == "readonly" {
		return r.Capability & (scope.R | execIfTrusted(r.Kind))
	}
	return r.Capability
}

// execIfTrusted keeps execution of what was approved by name in every profile.
func execIfTrusted(k policy.RootKind) scope.Capability {
	if k == policy.RootRuntime || k == policy.RootExecutable {
		return scope.X
	}
	return 0
}

// mountsFor returns the mounts of the root at path whose parts are granted:
// only a mount keeps modes, times and attributes from being changed, so what
// may not be written is mounted read-only, and writable parts of it over that.
func mountsFor(path string, c scope.Capability, parts []area) []bind {
	root := bind{path: path, exec: c.Has(scope.X)}
	var out []bind
	for _, p := range parts {
		switch {
		case !p.cap.Has(scope.W):
		case p.path == path:
			root.write = true // what is flat there is narrowed again when the tree stands
		default:
			out = append(out, bind{path: p.path, write: true, exec: root.exec, part: true})
		}
	}
	if root.write {
		return []bind{root}
	}
	return append([]bind{root}, out...)
}

// narrowed returns the parts of a that the scope's allow rules leave.
func narrowed(n *policy.Narrowing, a area, kind policy.RootKind) []area {
	if n == nil || len(n.Allow) == 0 || (kind != policy.RootWorkspace && kind != policy.RootMount) {
		return []area{a}
	}
	var out []area
	for _, r := range n.Allow {
		c := a.cap & (scope.R | scope.X)
		if r.Permission == scope.Write {
			c |= a.cap & scope.W
			if r.Delete {
				c |= a.cap & scope.D
			}
		}
		switch {
		case within(r.Target, a.path):
			out = append(out, area{path: r.Target, cap: c, flat: !r.Recursive})
		case within(a.path, r.Target) && r.Recursive:
			out = append(out, area{path: a.path, cap: c})
		}
	}
	return out
}

// lock makes p read-only where it lies in a writable root, or holds one.
func (l *layout) lock(p string) {
	root, ok := l.rootOf(p)
	if !ok {
		return
	}
	holds := slices.ContainsFunc(l.binds, func(b bind) bool { return b.part && within(b.path, p) })
	if root.write || holds {
		l.locked = append(l.locked, p)
	}
	if root.write {
		l.pin(root.path, p)
	}
}

func (l *layout) hide(p string) {
	if root, ok := l.rootOf(p); ok {
		l.hidden = append(l.hidden, p)
		if root.write {
			l.pin(root.path, p)
		}
	}
}

// pin keeps the directories between root and p from being renamed, which
// would carry p out of its rule (trap 12).
func (l *layout) pin(root, p string) {
	for dir := path.Dir(p); dir != root && within(dir, root); dir = path.Dir(dir) {
		l.pins = append(l.pins, dir)
	}
}

// hides reports whether p lies beneath what is hidden.
func (l *layout) hides(p string) bool {
	return slices.ContainsFunc(l.hidden, func(h string) bool { return within(p, h) })
}

// rootOf returns the innermost workspace or mount root that holds p.
func (l *layout) rootOf(p string) (bind, bool) {
	var best bind
	found := false
	for _, b := range l.binds {
		if within(p, b.path) && (!found || len(b.path) > len(best.path)) {
			best, found = b, true
		}
	}
	return best, found
}

// missing returns the paths at which placeholders must stand so that locked
// and hidden paths that do not exist yet cannot be made: the first missing
// component of each. look answers for the host's tree, not following a link.
// Beneath a file or a link nothing can be made: the one cannot become a
// directory and the other cannot be exchanged, for it is pinned, and what it
// leads to is in the policy by its own name.
func (l *layout) missing(e *policy.Effective, look func(string) (exists, isDir bool)) []Placeholder {
	protected := make(map[string]policy.Protected)
	for _, p := range e.Protected {
		protected[p.Path] = p
	}
	var out []Placeholder
	seen := make(map[string]bool)
	for _, p := range slices.Concat(l.locked, l.hidden) {
		root, ok := l.rootOf(p)
		if !ok || !root.write || p == root.path {
			continue
		}
		first, all := firstMissing(root.path, p, look)
		if first == "" || seen[first] {
			continue
		}
		seen[first] = true
		if all { // p itself
			out = append(out, Placeholder{Path: p, Dir: protected[p].Dir, Content: protected[p].Content})
		} else {
			out = append(out, Placeholder{Path: first, Dir: true})
		}
	}
	return out
}

// firstMissing walks from root to p and returns the first component that does
// not exist, and whether that is p; "" where nothing can be made on the way.
func firstMissing(root, p string, look func(string) (exists, isDir bool)) (first string, all bool) {
	at := strings.TrimSuffix(root, "/")
	for name := range strings.SplitSeq(strings.TrimPrefix(p[len(at):], "/"), "/") {
		at += "/" + name
		exists, isDir := look(at)
		switch {
		case !exists:
			return at, at == p
		case !isDir:
			return "", false
		}
	}
	return "", false
}

// within reports whether p is dir or beneath it, component by component.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

func depth(p string) int { return strings.Count(strings.TrimSuffix(p, "/"), "/") }
