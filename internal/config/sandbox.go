package config

import (
	"strings"
	"time"

	"sunaba/fault"
)

func (d *decoder) sandbox(s *Sandbox, o *object) {
	s.Profile = o.at("profile").word("development", "readonly", "development")
	d.workspace(&s.Workspace, o.at("workspace").holdsRequired().object())
	if c := o.at("scope"); c.given() {
		s.Scope = d.scope(c.object())
	}
	mounts := o.at("mounts")
	for _, c := range mounts.items() {
		m := c.object()
		path := m.at("path")
		s.Mounts = append(s.Mounts, Mount{
			Path:   path.required(cursor.filePath),
			Access: m.at("access").word("read_only", "read_only", "read_write", "read_write_delete"),
		})
		m.done()
	}
	e := o.at("execution").object()
	for _, c := range e.at("entries").items() {
		s.Entries = append(s.Entries, d.entry(c.object()))
	}
	e.done()
	d.network(&s.Network, o.at("network").object())
	d.resources(&s.Resources, o.at("resources").object())
	o.done()
}

// required reads c with read and reports it when it is absent or empty.
func (c cursor) required(read func(cursor) string) string {
	if c.needed = true; c.given() {
		return read(c)
	}
	if !c.broken {
		c.problem(fault.ConfigMissing, "missing")
	}
	return ""
}

func (d *decoder) workspace(w *Workspace, o *object) {
	root := o.at("root")
	w.Root = root.required(cursor.filePath)
	name := o.at("name")
	if w.Name = name.line("workspace"); w.Name == "" {
		name.problem(fault.ConfigValue, "empty_text")
	}
	d.policy = o.at("policy")
	w.Policy = policyWord(d.policy)
	w.ProtectHostTools = o.at("protect_host_tools").boolean(true)
	d.properties(&w.Properties, o.at("properties").object())
	o.done()
}

// policyWord reads the policy and its aliases that narrow. An unknown word
// means deny_outside, with a loud warning (C-13); the aliases of allow_all are
// too harmless to look at to be taken at their word (C-86).
func policyWord(c cursor) string {
	v := "deny_outside"
	switch t, ok := c.rawText(); {
	case !ok, t == "deny_outside":
	case t == "allow_all":
		c.unavailable("allow_all")
	case t == "allow", t == "read":
		c.problem(fault.ConfigValue, "allow_alias", "value", t)
	case t == "approve_outside":
		v = t
	case t == "approve", t == "ask":
		v = "approve_outside"
		c.warn(fault.ConfigValue, "policy_alias", "value", t, "canonical", v)
	case t == "deny", t == "restrict":
		c.warn(fault.ConfigValue, "policy_alias", "value", t, "canonical", v)
	default:
		c.warn(fault.ConfigValue, "policy_unknown", "value", t)
	}
	c.note(v)
	return v
}

func (d *decoder) properties(p *Properties, o *object) {
	p.AllowedCommands = o.at("allowed_commands").texts()
	if c := o.at("max_file_size_mb"); c.given() {
		p.MaxFileSizeMB = c.integer(0, 1, 1<<20)
	}
	if c := o.at("max_files"); c.given() {
		p.MaxFiles = c.count(0, 1, 1<<30)
	}
	if c := o.at("environment"); c.given() {
		p.Environment = map[string]string{}
		env := c.object()
		for _, f := range env.rest() {
			p.Environment[f.key] = env.at(f.key).text("")
		}
	}
	allow := o.at("path_allowlist")
	if p.PathAllowlist = allow.texts(); len(p.PathAllowlist) > 0 {
		allow.unavailable("path_allowlist")
	}
	p.AllowHardLinks = o.at("allow_hard_links").boolean(false)
	for _, f := range o.rest() {
		if p.Other == nil {
			p.Other = map[string]any{}
		}
		p.Other[f.key] = o.at(f.key).free()
	}
}

func (d *decoder) scope(o *object) *Scope {
	allow := o.at("allow")
	s := &Scope{AllowGiven: allow.given()}
	for _, c := range allow.items() {
		r := c.object()
		s.Allow = append(s.Allow, d.rule(r))
		last := &s.Allow[len(s.Allow)-1]
		del := r.at("delete")
		if last.Delete = del.boolean(false); last.Delete && last.Permission != "write" {
			del.problem(fault.ConfigValue, "delete_without_write")
		}
		r.done()
	}
	for _, c := range o.at("deny").items() {
		r := c.object()
		s.Deny = append(s.Deny, d.rule(r))
		r.done()
	}
	o.done()
	return s
}

// isPattern reports whether a target was meant for a pattern: taken for a name,
// it would deny nothing.
func isPattern(target string) bool {
	_, braced, open := strings.Cut(target, "{")
	inner, _, closed := strings.Cut(braced, "}")
	return strings.ContainsAny(target, "*?[") || open && closed && strings.ContainsAny(inner, ",.")
}

func (d *decoder) rule(o *object) Rule {
	target := o.at("target")
	r := Rule{Target: target.required(func(c cursor) string {
		text, _ := c.pathText()
		c.note(text)
		return text
	})}
	if isPattern(r.Target) {
		target.problem(fault.ConfigValue, "glob", "value", r.Target)
	}
	r.Permission = o.at("permission").word("read", "read", "write")
	r.Recursive = o.at("recursive").boolean(true)
	return r
}

func (d *decoder) entry(o *object) Entry {
	alias, path, runtime := o.at("alias"), o.at("path"), o.at("runtime_root")
	e := Entry{
		Alias: alias.required(func(c cursor) string { return c.line("") }),
		Path:  path.required(cursor.filePath),
	}
	if runtime.given() {
		e.RuntimeRoot = runtime.filePath()
	}
	o.done()
	return e
}

// profiles are the resource profiles (S1-180..182); scratch is our own choice,
// a quarter of the memory.
var profiles = map[string]Resources{
	"constrained": {MemoryMiB: 1024, Processes: 4, Timeout: 300 * time.Second, Scratch: 256 * mib},
	"normal":      {MemoryMiB: 4096, Processes: 16, Timeout: 1800 * time.Second, Scratch: gib},
	"extended":    {MemoryMiB: 8192, Processes: 32, Timeout: 3600 * time.Second, Scratch: 2 * gib},
}

func (d *decoder) resources(r *Resources, o *object) {
	name := o.at("profile").word("normal", "constrained", "normal", "extended")
	*r = profiles[name]
	r.Profile = name
	r.MemoryMiB = o.at("memory_mib").integer(r.MemoryMiB, 16, 1<<24)
	r.Processes = o.at("processes").count(r.Processes, 1, 1<<16)
	seconds := o.at("timeout_seconds").integer(int64(r.Timeout/time.Second), 1, 7*24*3600)
	r.Timeout = time.Duration(seconds) * time.Second
	r.Scratch = o.at("scratch").size(r.Scratch, mib, 1<<40)
	if c := o.at("file_size"); c.given() {
		r.FileSize = c.size(0, 1, 1<<50)
	}
	o.done()
}
