package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"sunaba/fault"
	"sunaba/internal/spelling"
	"sunaba/scope"
)

// Rules is the one decision function over an Effective Sandbox Policy: the
// rights on a path are what its roots grant, met with sandbox.scope, less what
// is protected (SD-01). It is immutable, pure and safe for concurrent use.
//
// Paths are absolute, clean and resolved; every comparison is by component.
type Rules struct {
	roots     []granted    // of all kinds, as in the policy
	areas     []string     // what Locate knows
	narrowing *Narrowing   // nil: none
	allowed   *scope.Scope // sandbox.scope with an allow list; nil: none
	guard     *scope.Scope // what sandbox.scope denies and what is protected
	folded    *scope.Scope // guard on folded names
	protected []Protected
	readonly  bool
}

// granted is a root with its name for explanations.
type granted struct {
	Root
	rule string
}

// Rules compiles e for deciding. Later changes of e do not show. It fails when
// a root or a rule of e is not absolute and clean.
func (e *Effective) Rules() (*Rules, error) {
	r := &Rules{
		narrowing: e.Scope,
		protected: slices.Clone(e.Protected),
		readonly:  e.Profile != "development", // a profile nobody knows narrows
	}
	mounts := 0
	for _, root := range e.Roots {
		if !filepath.IsAbs(root.Path) || filepath.Clean(root.Path) != root.Path {
			return nil, fault.New(fault.PolicyRoot, "rules", "path", root.Path, "source", root.Source)
		}
		g := granted{Root: root, rule: "sandbox.execution: " + root.Path}
		switch root.Kind {
		case RootWorkspace:
			g.rule = "sandbox.workspace"
			r.areas = append(r.areas, root.Path)
		case RootMount:
			g.rule = fmt.Sprintf("sandbox.mounts[%d] (%s)", mounts, accessWord(root.Capability))
			mounts++
			r.areas = append(r.areas, root.Path)
		}
		r.roots = append(r.roots, g)
	}
	return r, r.compile()
}

// compile indexes the denies, on names as they are and on folded names.
func (r *Rules) compile() (err error) {
	var denies []scope.Rule
	if r.narrowing != nil {
		denies = slices.Clone(r.narrowing.Deny)
		if len(r.narrowing.Allow) > 0 {
			if r.allowed, err = scope.New(r.narrowing.Allow, r.narrowing.Deny); err != nil {
				return err
			}
		}
	}
	for _, p := range r.protected {
		level := scope.Write
		if p.Hidden {
			level = scope.Read
		}
		denies = append(denies, scope.Rule{Target: p.Path, Permission: level, Recursive: true, Source: p.Source})
	}
	for _, d := range denies { // composed letters deny decomposed ones and the reverse
		if !plain(d.Target) {
			d.Target = norm.NFC.String(d.Target)
			denies = append(denies, d)
		}
	}
	if r.guard, err = scope.DenyOnly(denies); err != nil {
		return err
	}
	for i := range denies {
		denies[i].Target = spelling.Fold(denies[i].Target)
	}
	r.folded, err = scope.DenyOnly(denies)
	return err
}

// Executables returns the same Rules with a wider sight: Locate knows every
// root, so that runtime components can be opened to be started (PRC-03).
func (r *Rules) Executables() *Rules {
	wide := *r
	wide.areas = nil
	for _, g := range r.roots {
		wide.areas = append(wide.areas, g.Path)
	}
	return &wide
}

// Locate says where name lies with respect to the workspace and the mounts,
// which is all that file tools reach (C-80).
func (r *Rules) Locate(name string) scope.Place {
	place := scope.Outside
	for _, area := range r.areas {
		if contains(area, name) {
			return scope.Within
		}
		if contains(name, area) {
			place = scope.Above
		}
	}
	return place
}

// CapabilityAt returns the rights that hold on name.
func (r *Rules) CapabilityAt(name string) scope.Capability {
	files, programs := r.granted(name)
	if r.allowed != nil {
		files &= r.allowed.CapabilityAt(name)
	}
	c := (files | programs) & r.guard.CapabilityAt(name)
	if !plain(name) { // a deny holds for every spelling that looks the same
		c &= r.guard.CapabilityAt(norm.NFC.String(name))
	}
	return c
}

// CapabilityFolded is CapabilityAt on a volume that does not tell upper from
// lower case: denies hold for every such spelling, and for what may be a short
// name of their targets; allows never do (C-66).
func (r *Rules) CapabilityFolded(name string) scope.Capability {
	if _, hidden := r.shortOf(name); hidden {
		return 0
	}
	return r.CapabilityAt(name) & r.folded.CapabilityAt(spelling.Fold(name))
}

// shortOf returns what is denied or protected, folded, that name may be the
// short name of.
func (r *Rules) shortOf(name string) (target string, hidden bool) {
	if dir, ok := spelling.Shortened(name, r.named); ok {
		rule, beneath := r.folded.DenyBeneath(spelling.Fold(dir))
		return rule.Target, beneath
	}
	return "", false
}

// named reports whether a root or a deny rule lies at name or beneath it, so
// that name is spelled out in the policy.
func (r *Rules) named(name string) bool {
	if _, denied := r.DeniedBeneath(name); denied {
		return true
	}
	return slices.ContainsFunc(r.guard.Explain(name).Deny, func(d scope.Rule) bool { return d.Target == name })
}

// granted returns what the roots grant on name: the innermost of those for
// files, which sandbox.scope narrows, and all of those for programs, which only
// its denies do.
func (r *Rules) granted(name string) (files, programs scope.Capability) {
	near := -1
	for _, g := range r.roots {
		if !contains(g.Path, name) {
			continue
		}
		if g.forFiles() {
			if len(g.Path) > near {
				near, files = len(g.Path), g.Capability
			}
		} else {
			programs |= g.Capability & (scope.R | scope.X)
		}
	}
	if r.readonly {
		files &= scope.R
	}
	return files, programs
}

func (g granted) forFiles() bool { return forFiles(g.Kind) }

func forFiles(k RootKind) bool { return k == RootWorkspace || k == RootMount }

// anything is a name that no rule holds.
const anything = "\x01"

// leaves reports whether all of c holds somewhere: on name or, when dir is true,
// on what may lie beneath it. Rights differ at what a rule names, in it, and
// deeper.
func (r *Rules) leaves(name string, dir bool, c scope.Capability) bool {
	if !dir {
		return r.CapabilityAt(name).Has(c)
	}
	at := func(p string) bool {
		for range 3 {
			if r.CapabilityAt(p).Has(c) {
				return true
			}
			p = filepath.Join(p, anything)
		}
		return false
	}
	if at(name) {
		return true
	}
	named := func(p string) bool { return p != name && contains(name, p) && at(p) }
	for _, g := range r.roots {
		if named(g.Path) {
			return true
		}
	}
	for _, p := range r.protected {
		if named(p.Path) {
			return true
		}
	}
	return r.narrowing != nil && slices.ContainsFunc(slices.Concat(r.narrowing.Allow, r.narrowing.Deny),
		func(x scope.Rule) bool { return named(x.Target) })
}

// DeniedBeneath returns a path strictly beneath dir that sandbox.scope denies,
// that is protected, or that is a root: while there is one, dir must neither
// be moved nor removed (SD-18, C-71). A root itself stays where it is, too.
func (r *Rules) DeniedBeneath(dir string) (target string, denied bool) {
	if rule, ok := r.guard.DenyBeneath(dir); ok {
		return rule.Target, true
	}
	if !plain(dir) {
		if rule, ok := r.guard.DenyBeneath(norm.NFC.String(dir)); ok {
			return rule.Target, true
		}
	}
	for _, g := range r.roots {
		if contains(dir, g.Path) {
			return g.Path, true
		}
	}
	return "", false
}

// DeniedBeneathFolded is DeniedBeneath for a volume that does not tell upper
// from lower case: every spelling of dir counts (C-66).
func (r *Rules) DeniedBeneathFolded(dir string) (target string, denied bool) {
	rule, denied := r.folded.DenyBeneath(spelling.Fold(dir))
	return rule.Target, denied
}

// Logical maps a name spelled through the configured path of a root onto the
// resolved root; the longest configured path wins. Other names stay.
func (r *Rules) Logical(name string) string {
	best := -1
	for i, g := range r.roots {
		if g.Logical != "" && contains(g.Logical, name) && (best < 0 || len(g.Logical) > len(r.roots[best].Logical)) {
			best = i
		}
	}
	if best < 0 {
		return name
	}
	g := r.roots[best]
	return filepath.Join(g.Path, strings.TrimPrefix(name, g.Logical))
}

// Why names the rule that takes lacking away from name: "path", "rule" in
// words of the settings, and "source" as file:line. What no setting could grant
// has the case "protected".
func (r *Rules) Why(name string, lacking scope.Capability) fault.Args {
	rule, source := r.why(name, lacking)
	args := fault.Args{"path": name, "rule": rule, "source": source}
	if strings.HasPrefix(rule, alwaysProtected) {
		args["case"] = "protected"
	}
	return args
}

// alwaysProtected begins the rules that hold under every policy (C-71).
const alwaysProtected = "protected: "

func (r *Rules) why(name string, lacking scope.Capability) (rule, source string) {
	if target, hidden := r.shortOf(name); hidden && (r.CapabilityAt(name) & r.folded.CapabilityAt(spelling.Fold(name))).Has(lacking) {
		name, lacking = target, scope.All
	}
	for _, p := range r.protected {
		lost := scope.W | scope.D
		if p.Hidden {
			lost = scope.All
		}
		if lost&lacking != 0 && contains(spelling.Fold(p.Path), spelling.Fold(name)) {
			if p.Why == "host_tool" {
				return "sandbox.workspace.protect_host_tools", p.Source
			}
			return alwaysProtected + p.Why, p.Source
		}
	}
	files, programs := r.granted(name)
	if (files|programs)&lacking != 0 && r.narrowing != nil {
		return r.whyNarrowed(name, lacking)
	}
	rule, source = "sandbox.workspace", ""
	for _, g := range r.roots {
		if g.Kind == RootWorkspace {
			source = cmp.Or(source, g.Source)
		}
	}
	var near granted
	for _, g := range r.roots {
		if contains(g.Path, name) && len(g.Path) >= len(near.Path) {
			near = g
		}
	}
	switch {
	case near.Path == "":
		return rule, source
	case r.readonly && near.forFiles() && near.Capability&lacking != 0:
		return "sandbox.profile: readonly", source
	}
	return near.rule, near.Source
}

// whyNarrowed names the rule of sandbox.scope that takes lacking away.
func (r *Rules) whyNarrowed(name string, lacking scope.Capability) (rule, source string) {
	if r.folded.CapabilityAt(spelling.Fold(name))&lacking != lacking {
		for i, d := range r.narrowing.Deny {
			only, err := scope.DenyOnly([]scope.Rule{{Target: spelling.Fold(d.Target), Permission: d.Permission, Recursive: d.Recursive}})
			if err == nil && only.CapabilityAt(spelling.Fold(name))&lacking != lacking {
				return fmt.Sprintf("sandbox.scope.deny[%d]", i), d.Source
			}
		}
	}
	covering := r.allowed.Explain(name).Allow
	switch {
	case r.allowed == nil:
		return "sandbox.scope.deny", ""
	case len(covering) == 0:
		return "sandbox.scope.allow", r.narrowing.Allow[0].Source
	}
	i := slices.Index(r.narrowing.Allow, covering[0])
	return fmt.Sprintf("sandbox.scope.allow[%d]", i), covering[0].Source
}

// contains reports whether name is root or lies beneath it, by component.
func contains(root, name string) bool {
	if root == "" || len(name) < len(root) || name[:len(root)] != root {
		return false
	}
	const sep = filepath.Separator
	return len(name) == len(root) || root[len(root)-1] == sep || name[len(root)] == sep
}

// plain reports whether s has one spelling only.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// accessWord is the word of sandbox.mounts for c (FS-09a).
func accessWord(c scope.Capability) string {
	switch {
	case c.Has(scope.D):
		return "read_write_delete"
	case c.Has(scope.W):
		return "read_write"
	}
	return "read_only"
}
