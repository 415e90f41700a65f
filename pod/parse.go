package pod

import (
	"fmt"
	"strings"
	"unicode"

	"sunaba/fault"
	"sunaba/internal/suggest"
	"sunaba/scope"
)

// parse reads what it can of a manifest; m is nil when data is not TOML.
func parse(file string, data []byte) (m *Manifest, found []Problem) {
	root, found := tree(file, data)
	if root == nil {
		return nil, found
	}
	d := decoder{found: found, places: map[string]Position{}}
	m = &Manifest{File: file, places: d.places}
	top := d.table(root, "pod", "scope")
	if pod, ok := d.required(top, "pod", aTable); ok {
		p := d.table(pod, "name", "pwd")
		m.Pod.Name = d.text(p, "name")
		if strings.ContainsFunc(m.Pod.Name, unicode.IsControl) {
			d.problem(d.places["pod.name"], "pod.name", fault.PodManifest, "control")
		}
		m.Pod.Pwd = d.text(p, "pwd")
	}
	if s, ok := d.required(top, "scope", aTable); ok {
		t := d.table(s, "base", "allow", "deny")
		m.Scope.Base = d.base(t)
		m.Scope.Allow = d.rules(t, "allow", true)
		m.Scope.Deny = d.rules(t, "deny", false)
	}
	return m, d.found
}

// decoder collects what is wrong with the values of a tree.
type decoder struct {
	found  []Problem
	places map[string]Position
}

func (d *decoder) problem(at Position, key string, code fault.Code, reason string, pairs ...string) {
	d.found = append(d.found, Problem{at, key, code, reason, fault.New(code, "", pairs...).Args})
}

// index is the name of an item of list.
func index(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// table notes where t and its values stand, and reports the keys it cannot
// have.
func (d *decoder) table(t *value, known ...string) *value {
	d.places[t.name] = t.at
	for _, f := range t.fields {
		d.places[t.key(f.key)] = f.value.at
		isKnown := false
		for _, k := range known {
			isKnown = isKnown || k == f.key
		}
		if isKnown {
			continue
		}
		if near := suggest.Nearest(f.key, known); near != "" {
			d.problem(f.at, t.key(f.key), fault.PodManifest, "unknown_near", "key", f.key, "near", near)
		} else {
			d.problem(f.at, t.key(f.key), fault.PodManifest, "unknown", "key", f.key, "known", strings.Join(known, ", "))
		}
	}
	return t
}

// optional returns the value of name if it is there and of the wanted kind.
func (d *decoder) optional(t *value, name string, want kind) (*value, bool) {
	v := t.get(name)
	if v != nil && v.kind != want {
		d.problem(v.at, t.key(name), fault.PodManifest, "want_"+string(want), "got", string(v.kind))
		return nil, false
	}
	return v, v != nil
}

// required is optional for a key that must be there.
func (d *decoder) required(t *value, name string, want kind) (*value, bool) {
	if t.get(name) == nil {
		code, reason := fault.PodManifest, "missing"
		switch name {
		case "scope":
			reason = "missing_scope"
		case "allow":
			reason = "no_allow"
		case "permission":
			code, reason = fault.PolicyRulePermission, "missing_permission"
		}
		d.problem(t.at, t.key(name), code, reason, "key", name)
		return nil, false
	}
	return d.optional(t, name, want)
}

// text returns a string that must be there and hold something.
func (d *decoder) text(t *value, name string) string {
	v, ok := d.required(t, name, aString)
	if !ok {
		return ""
	}
	if strings.TrimSpace(v.text) == "" {
		d.problem(v.at, t.key(name), fault.PodManifest, "empty")
		return ""
	}
	return v.text
}

// flag returns a boolean, or what holds without it.
func (d *decoder) flag(t *value, name string, otherwise bool) bool {
	if v, ok := d.optional(t, name, aBool); ok {
		return v.yes
	}
	return otherwise
}

func (d *decoder) base(t *value) Base {
	v, ok := d.optional(t, "base", aString)
	if !ok {
		return BasePwd
	}
	switch b := Base(v.text); b {
	case BasePwd, BaseManifest:
		return b
	}
	d.problem(v.at, t.key("base"), fault.PodManifest, "base", "value", v.text)
	return BasePwd
}

// rules reads the list allow or deny.
func (d *decoder) rules(t *value, name string, allow bool) []ScopeRule {
	get := d.optional
	if allow {
		get = d.required
	}
	list, ok := get(t, name, aList)
	if !ok {
		return nil
	}
	if allow && len(list.items) == 0 {
		d.problem(list.at, t.key(name), fault.PodManifest, "no_allow", "key", name)
	}
	rules := make([]ScopeRule, 0, len(list.items))
	for _, item := range list.items {
		if item.kind != aTable {
			d.problem(item.at, item.name, fault.PodManifest, "want_table", "got", string(item.kind))
			continue
		}
		rules = append(rules, d.rule(d.table(item, "target", "permission", "recursive", "delete"), allow))
	}
	return rules
}

func (d *decoder) rule(t *value, allow bool) ScopeRule {
	r := ScopeRule{
		Target:    d.text(t, "target"),
		Recursive: d.flag(t, "recursive", true),
		Delete:    d.flag(t, "delete", false),
		Source:    t.at.String(),
	}
	if v, ok := d.required(t, "permission", aString); ok {
		var err error
		if r.Permission, err = scope.ParsePermission(v.text); err != nil {
			reason := "permission"
			if near := suggest.Nearest(v.text, []string{"read", "write"}); near != "" {
				reason = "permission_near"
				d.problem(v.at, t.key("permission"), fault.PolicyRulePermission, reason, "value", v.text, "near", near)
			} else {
				d.problem(v.at, t.key("permission"), fault.PolicyRulePermission, reason, "value", v.text)
			}
		}
	}
	if r.Delete && (!allow || r.Permission == scope.Read) {
		d.problem(t.get("delete").at, t.key("delete"), fault.PolicyRuleDelete, "delete")
	}
	return r
}
