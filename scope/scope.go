package scope

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Scope is an immutable set of allow and deny rules, indexed by target: a
// decision costs one step for each component of the path, however many rules
// there are. The zero Scope and a nil *Scope deny everything. A Scope may be
// used by many goroutines. (S0-37)
type Scope struct {
	root node
}

// New compiles rules. Their targets must be absolute and clean, their levels
// set, and Delete stand on allow rules of level Write only (SD-04); otherwise
// the error holds one fault (policy.rule_*) for each cause. Without an allow
// rule everything is denied (S0-17).
func New(allow, deny []Rule) (*Scope, error) {
	s := new(Scope)
	var found []error
	for _, r := range allow {
		found = append(found, r.check(false)...)
	}
	for _, r := range deny {
		found = append(found, r.check(true)...)
	}
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	for _, r := range allow {
		n := s.node(r.Target)
		n.allow = append(n.allow, r)
		n.add(r.Recursive, verdict{allow: r.Permission, del: r.Delete})
	}
	for _, r := range deny {
		n := s.node(r.Target)
		n.deny = append(n.deny, r)
		n.add(r.Recursive, verdict{deny: r.Permission})
	}
	s.root.summarize()
	return s, nil
}

// DenyOnly is a Scope that leaves everything to the other layers except what
// the given rules deny: a sandbox.scope without an allow list (C-73).
func DenyOnly(deny []Rule) (*Scope, error) {
	s, err := New(nil, deny)
	if err != nil {
		return nil, err
	}
	// The root stands above all volumes, so this holds for every path.
	s.root.deep = verdict{allow: Write, del: true}
	return s, nil
}

// node returns the node of target, made with all its ancestors.
func (s *Scope) node(target string) *node {
	volume, walk := split(target)
	n := s.root.child(volume)
	for name := walk.next(); name != ""; name = walk.next() {
		n = n.child(name)
	}
	return n
}

func (n *node) add(recursive bool, v verdict) {
	if recursive {
		n.deep = n.deep.join(v)
	} else {
		n.flat = n.flat.join(v)
	}
}

// summarize tells every node what rules there are beneath it.
func (n *node) summarize() {
	for _, c := range n.children {
		c.summarize()
		n.allowBeneath = n.allowBeneath || c.allowBeneath || len(c.allow) > 0
		beneath := c.denyBeneath
		if len(c.deny) > 0 {
			beneath = &c.deny[0]
		}
		if beneath != nil && (n.denyBeneath == nil || beneath.Target < n.denyBeneath.Target) {
			n.denyBeneath = beneath
		}
	}
}

// visit calls f for every node from the top to path; near is true for the
// path's own node and its parent's, where flat rules hold. It returns the
// path's own node, if there is one, and false for a path that is not absolute
// and clean, whose visits then mean nothing.
func (s *Scope) visit(path string, f func(n *node, near bool)) (own *node, ok bool) {
	volume, walk := split(path)
	if s == nil || !walk.ok {
		return nil, false
	}
	f(&s.root, false)
	n := s.root.children[volume]
	for n != nil {
		name := walk.next()
		f(n, walk.rest == "")
		if name == "" {
			break
		}
		n = n.children[name]
	}
	for walk.next() != "" { // beyond the last rule only the spelling matters
	}
	return n, walk.ok
}

// at joins every rule that covers path; nothing covers a path that is not
// absolute and clean.
func (s *Scope) at(path string) verdict {
	volume, walk := split(path)
	if s == nil || !walk.ok {
		return verdict{}
	}
	// This is visit without the calls: every file access comes through here.
	v := s.root.deep
	n := s.root.children[volume]
	for n != nil {
		name := walk.next()
		v = v.join(n.deep)
		if walk.rest == "" {
			v = v.join(n.flat)
		}
		if name == "" {
			break
		}
		n = n.children[name]
	}
	for walk.next() != "" { // beyond the last rule only the spelling matters
	}
	if !walk.ok {
		return verdict{}
	}
	return v
}

// PermissionAt returns the effective level of path: the highest level an allow
// rule gives, capped strictly below the lowest level a deny rule names. None
// means out of scope (S0-16, S0-38, S0-41..43). The path must be absolute,
// clean and resolved; any other spelling is None.
func (s *Scope) PermissionAt(path string) Permission {
	return s.at(path).permission()
}

// IsReadable reports whether the level of path is at least Read (S0-40).
func (s *Scope) IsReadable(path string) bool { return s.PermissionAt(path) >= Read }

// IsWritable reports whether the level of path is at least Write (S0-39).
func (s *Scope) IsWritable(path string) bool { return s.PermissionAt(path) >= Write }

// CapabilityAt returns what the Scope leaves of the rights that other layers
// grant on path; the caller takes the meet of all layers. Level read leaves R,
// level write R and W, and D only where an allow rule says delete. Rules know
// no execute, so X is left to the other layers on every readable path. Hence
// deny write clears W and D, deny read clears all four. (C-04, SD-03, SD-04)
func (s *Scope) CapabilityAt(path string) Capability {
	return s.at(path).capability()
}

// Rules returns copies of the rules the Scope was made of, sorted by target;
// rules of one target keep their order. (S0-06, S0-37)
func (s *Scope) Rules() (allow, deny []Rule) {
	if s == nil {
		return nil, nil
	}
	var collect func(n *node)
	collect = func(n *node) {
		allow = append(allow, n.allow...)
		deny = append(deny, n.deny...)
		for _, c := range n.children {
			collect(c)
		}
	}
	collect(&s.root)
	byTarget := func(a, b Rule) int { return strings.Compare(a.Target, b.Target) }
	slices.SortStableFunc(allow, byTarget)
	slices.SortStableFunc(deny, byTarget)
	return allow, deny
}

// Explanation names the rules that cover a path, the deciding one first: the
// strongest allow, the strictest deny, and of equals the nearest to the path.
type Explanation struct {
	Allow []Rule // empty: the path is out of scope, unless the Scope is DenyOnly
	Deny  []Rule
}

// Explain returns the rules that cover path, for the text of a refusal.
func (s *Scope) Explain(path string) Explanation {
	var e Explanation
	_, ok := s.visit(path, func(n *node, near bool) {
		e.Allow = appendCovering(e.Allow, n.allow, near)
		e.Deny = appendCovering(e.Deny, n.deny, near)
	})
	if !ok {
		return Explanation{}
	}
	slices.SortStableFunc(e.Allow, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Permission, a.Permission), first(a.Delete, b.Delete), nearer(a, b))
	})
	slices.SortStableFunc(e.Deny, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Permission, b.Permission), nearer(a, b))
	})
	return e
}

func appendCovering(dst, rules []Rule, near bool) []Rule {
	for _, r := range rules {
		if r.Recursive || near {
			dst = append(dst, r)
		}
	}
	return dst
}

// nearer sorts longer targets first: all cover one path, so the longer one is
// the nearer one.
func nearer(a, b Rule) int {
	return cmp.Or(cmp.Compare(len(b.Target), len(a.Target)), strings.Compare(a.Source, b.Source))
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
