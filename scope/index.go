package scope

import (
	"path/filepath"
	"strings"
)

// verdict is what a set of rules that all cover one path says together. Its
// join is commutative, associative and idempotent, hence a Scope depends
// neither on the order nor on the repetition of rules (S0-18, S0-85).
type verdict struct {
	allow Permission // the highest allowed level; None: no allow rule
	del   bool       // an allow rule grants delete
	deny  Permission // the lowest denied level; None: no deny rule
}

func (v verdict) join(w verdict) verdict {
	if w == (verdict{}) { // most nodes only lead to others
		return v
	}
	v.allow = max(v.allow, w.allow)
	v.del = v.del || w.del
	if v.deny == None || w.deny != None && w.deny < v.deny {
		v.deny = w.deny
	}
	return v
}

// permission is steps 2 and 3 of permission_at: the cap is one level below the
// lowest denied one (S0-16, S0-42, S0-43).
func (v verdict) permission() Permission {
	if v.deny == None {
		return v.allow
	}
	return min(v.allow, v.deny-1)
}

func (v verdict) capability() Capability {
	switch v.permission() {
	case Write:
		if v.del {
			return R | W | D | X
		}
		return R | W | X
	case Read:
		return R | X
	}
	return 0
}

// node is one directory or file that is a rule's target or leads to one. The
// tree is built by New and never changes afterwards.
type node struct {
	children map[string]*node
	deep     verdict // recursive rules of this target
	flat     verdict // the others: this target and its direct children (SD-07)

	allow, deny []Rule // the rules of exactly this target

	denyBeneath  *Rule // the first deny rule strictly beneath, by target
	allowBeneath bool  // an allow rule's target lies strictly beneath
}

// child returns the node of the given name, made if it is missing.
func (n *node) child(name string) *node {
	if c := n.children[name]; c != nil {
		return c
	}
	if n.children == nil {
		n.children = make(map[string]*node, 1)
	}
	c := new(node)
	n.children[name] = c
	return c
}

// steps walks the components of an absolute, clean path without allocating. A
// volume, where the system has them, is the first component.
type steps struct {
	rest string
	ok   bool // the path so far is absolute and clean
}

// split starts a walk; a path that is not absolute gives a walk that is not ok.
func split(path string) (volume string, s steps) {
	volume = filepath.VolumeName(path)
	rest := path[len(volume):]
	if rest == "" || rest[0] != filepath.Separator || !filepath.IsAbs(path) {
		return "", steps{}
	}
	return volume, steps{rest: rest[1:], ok: true}
}

// next returns the following component. It returns "" at the end of the path
// and at a component that a clean path cannot hold; the latter clears ok.
func (s *steps) next() string {
	if s.rest == "" {
		return ""
	}
	name, rest, more := strings.Cut(s.rest, string(filepath.Separator))
	if name == "" || name == "." || name == ".." || more && rest == "" {
		s.rest, s.ok = "", false
		return ""
	}
	s.rest = rest
	return name
}
