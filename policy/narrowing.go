package policy

import (
	"path/filepath"

	"sunaba/fault"
	"sunaba/scope"
)

// scope resolves sandbox.scope against the workspace root and checks that it
// gives read there (C-73).
func (r *resolver) scope() {
	in := r.in.Scope
	if in == nil || r.e.Workspace.Root == "" {
		return
	}
	n := &Narrowing{Deny: []scope.Rule{}}
	if in.AllowGiven {
		n.Allow = []scope.Rule{}
	}
	for _, rule := range in.Allow {
		n.Allow = append(n.Allow, r.rule(rule, false)...)
	}
	for _, rule := range in.Deny {
		n.Deny = append(n.Deny, r.rule(rule, true)...)
	}
	compiled, err := n.compile()
	if err != nil {
		r.problem(fault.PolicyRoot, "scope_invalid", in.Source, "detail", err.Error())
		return
	}
	if !compiled.IsReadable(r.e.Workspace.Root) {
		r.problem(fault.PolicyRoot, "scope_root", in.Source, "path", r.e.Workspace.Root)
	}
	r.e.Scope = n
}

func (n *Narrowing) compile() (*scope.Scope, error) {
	if n.Allow == nil {
		return scope.DenyOnly(n.Deny)
	}
	return scope.New(n.Allow, n.Deny)
}

// rule resolves one rule; its target need not exist (C-67). A deny rule also
// holds for the path as spelled, so that a link on the way cannot be replaced
// to get around it.
func (r *resolver) rule(in RuleInput, deny bool) []scope.Rule {
	spelled := filepath.Clean(in.Target)
	if !filepath.IsAbs(spelled) {
		spelled = filepath.Join(r.e.Workspace.Root, spelled)
	}
	resolved, linkErr := resolveExisting(spelled)
	if linkErr != nil {
		r.unresolvable(spelled, in.Source, linkErr)
		return nil
	}
	permission := scope.Read
	if in.Permission == "write" {
		permission = scope.Write
	}
	rule := scope.Rule{
		Target: resolved, Permission: permission, Recursive: in.Recursive, Delete: in.Delete && !deny, Source: in.Source,
	}
	inArea := false
	for _, root := range r.e.Roots {
		inArea = inArea || beneath(resolved, root.Path) || beneath(root.Path, resolved)
	}
	if !inArea {
		r.warn(fault.PolicyRoot, "scope_outside", in.Source, "path", resolved)
	}
	if deny && permission == scope.Read && isRegular(resolved) { // C-84
		r.warn(fault.PolicyRoot, "scope_single_file", in.Source, "path", resolved)
	}
	if deny && spelled != resolved {
		second := rule
		second.Target = spelled
		return []scope.Rule{rule, second}
	}
	return []scope.Rule{rule}
}

// writable reports whether the effective policy leaves write anywhere on path
// or beneath it, as far as roots and scope decide it.
func (r *resolver) writable(path string) (root Root, yes bool) {
	for _, root := range r.e.Roots {
		if !root.Capability.Has(scope.W) {
			continue
		}
		if beneath(root.Path, path) && root.Path != path {
			return root, true
		}
		if beneath(path, root.Path) && !r.deniesWrite(path) {
			return root, true
		}
	}
	return Root{}, false
}

// deniesWrite reports whether one recursive deny rule takes write from path
// and everything beneath it.
func (r *resolver) deniesWrite(path string) bool {
	if r.e.Scope == nil {
		return false
	}
	for _, d := range r.e.Scope.Deny {
		if d.Recursive && beneath(path, d.Target) {
			return true
		}
	}
	return false
}
