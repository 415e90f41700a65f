package config

import (
	"sunaba/fault"
)

// version checks schema_version and reports whether the rest of the file can
// be read as version 2 (S1-207, S1-208, C-61).
func (d *decoder) version(top *object) bool {
	c := top.at("schema_version")
	if !c.given() {
		if kind := top.node.get("kind"); kind != nil {
			d.problems = append(d.problems, problem(kind.at, "kind", fault.ConfigForeign, "foreign"))
			return false
		}
		c.problem(fault.ConfigMissing, "version_missing")
		return true
	}
	switch v, ok := c.scalar(); {
	case !ok:
	case c.node.plain && v == "2":
		c.note(v)
	case c.node.plain && v == "1":
		c.problem(fault.ConfigVersion, "version_1")
		d.versionOne(top.node)
		return false
	case v == "2" || v == "2.0":
		c.problem(fault.ConfigType, "version_form")
	default:
		c.problem(fault.ConfigVersion, "version_unknown", "value", v)
		return false
	}
	return true
}

// versionOne names, with its replacement, each shape of version 1 that n holds.
func (d *decoder) versionOne(n *node) {
	sandbox := n.get("sandbox")
	for _, shape := range []struct {
		holder    *node
		path, key string
		reason    string
	}{
		{n, "", "filesystem", "v1_filesystem"},
		{sandbox, "sandbox", "filesystem", "v1_filesystem"},
		{n.get("execution"), "execution", "executables", "v1_executables"},
		{n.get("execution"), "execution", "shells", "v1_shells"},
		{sandbox.get("execution"), "sandbox.execution", "executables", "v1_executables"},
		{sandbox.get("execution"), "sandbox.execution", "shells", "v1_shells"},
		{n.get("process"), "process", "approvals", "v1_approvals"},
		{sandbox.get("process"), "sandbox.process", "approvals", "v1_approvals"},
	} {
		if shape.holder == nil {
			continue
		}
		for _, f := range shape.holder.fields {
			if f.key == shape.key {
				d.problems = append(d.problems,
					problem(f.at, join(shape.path, f.key), fault.ConfigVersion, shape.reason))
			}
		}
	}
}

// withoutVersionOne returns n without the shapes that versionOne reports, so
// that they are not reported a second time as unknown keys.
func withoutVersionOne(n *node) *node {
	return n.without("filesystem", "").
		without("execution", "executables", "shells").
		without("process", "approvals").
		inside("sandbox", func(s *node) *node {
			return s.without("filesystem", "").
				without("execution", "executables", "shells").
				without("process", "approvals")
		})
}

// without returns a copy of n in which the mapping key lacks the given keys;
// the key "" stands for the whole value. A mapping that has become empty goes
// as well.
func (n *node) without(key string, keys ...string) *node {
	return n.inside(key, func(v *node) *node {
		out := *v
		out.fields = nil
		for _, f := range v.fields {
			drop := false
			for _, k := range keys {
				drop = drop || k == f.key
			}
			if !drop {
				out.fields = append(out.fields, f)
			}
		}
		if keys[0] == "" || len(out.fields) == 0 && len(v.fields) > 0 {
			return nil
		}
		return &out
	})
}

// inside returns a copy of n with the value of key replaced by f of it, or
// left out when that is nil.
func (n *node) inside(key string, f func(*node) *node) *node {
	out := *n
	out.fields = nil
	for _, one := range n.fields {
		if one.key == key {
			if one.value = f(one.value); one.value == nil {
				continue
			}
		}
		out.fields = append(out.fields, one)
	}
	return &out
}
