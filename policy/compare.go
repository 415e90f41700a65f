package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sunaba/scope"
)

// Difference is one thing that is not as it was applied. Old is "" for what is
// new, New is "" for what is gone.
type Difference struct {
	Kind string // setting, workspace, root, entry, hash, scope: locale key "policy.difference." + Kind
	Name string // key path, path or alias
	Old  string
	New  string
}

// Compare returns what differs between what holds now and what was applied:
// settings, resolved paths, hashes, runtime roots, capabilities (S1-221). Empty
// means the applied state holds. Places in files, inode numbers and times do
// not count, nor does the list of protected paths: it only narrows, and every
// start makes it anew.
func Compare(now, applied Snapshot) []Difference {
	var out []Difference
	for _, kind := range kinds {
		if kind.name == "limit" && len(out) > 0 { // settings say the same
			continue
		}
		out = append(out, compareMaps(kind.name, kind.facts(&now), kind.facts(&applied))...)
	}
	if len(out) == 0 && now.Fingerprint != applied.Fingerprint {
		out = append(out, Difference{"fingerprint", now.ConfigPath, applied.Fingerprint, now.Fingerprint})
	}
	return out
}

func compareMaps(kind string, now, applied map[string]string) []Difference {
	var out []Difference
	keys := maps.Clone(now)
	maps.Copy(keys, applied)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if now[k] != applied[k] {
			out = append(out, Difference{kind, k, applied[k], now[k]})
		}
	}
	return out
}

// kinds are the kinds of facts that are compared, in the order of display.
// What a setting says literally is compared as a setting; the others hold what
// only resolution tells.
var kinds = []struct {
	name  string
	facts func(*Snapshot) map[string]string
}{
	{"setting", func(s *Snapshot) map[string]string { return s.Settings }},
	{"workspace", func(s *Snapshot) map[string]string {
		return map[string]string{s.Effective.Workspace.Logical: s.Effective.Workspace.Root}
	}},
	{"root", func(s *Snapshot) map[string]string {
		m := map[string]string{}
		for _, r := range s.Effective.Roots {
			m[string(r.Kind)+" "+r.Logical] = r.Path + " " + r.Capability.String()
		}
		return m
	}},
	{"entry", func(s *Snapshot) map[string]string {
		m := map[string]string{}
		for _, e := range s.Effective.Entries {
			m[e.Alias] = strings.TrimSpace(e.Path + " " + e.RuntimeRoot + shellMark(e))
		}
		return m
	}},
	{"hash", func(s *Snapshot) map[string]string {
		m := map[string]string{}
		for _, e := range s.Effective.Entries {
			m[e.Alias] = e.Identity.SHA256
		}
		return m
	}},
	{"scope", func(s *Snapshot) map[string]string {
		m := map[string]string{}
		if s.Effective.Scope != nil {
			addRules(m, "allow", s.Effective.Scope.Allow)
			addRules(m, "deny", s.Effective.Scope.Deny)
		}
		return m
	}},
	{"limit", func(s *Snapshot) map[string]string {
		e := &s.Effective
		m := map[string]string{
			"profile": e.Profile, "policy": e.Workspace.Policy, "network": e.Network.Mode, "unix_sockets": e.Network.UnixSockets,
			"memory_mib": strconv.FormatInt(e.Resources.MemoryMiB, 10),
			"processes":  strconv.Itoa(e.Resources.Processes), "timeout": e.Resources.Timeout.String(),
			"scratch": strconv.FormatInt(e.Resources.ScratchBytes, 10), "file_size": strconv.FormatInt(e.MaxFileBytes, 10),
		}
		if e.Confinement != ByNamespaces {
			m["confinement"] = string(e.Confinement)
		}
		for _, end := range e.Network.Endpoints { // what its name leads to today does not count (C-90)
			m["endpoint "+end.Name()] = "listed"
		}
		for name := range e.Environment {
			m["environment "+name] = e.Environment[name]
		}
		return m
	}},
}

func shellMark(e Entry) string {
	if e.Shell {
		return " (shell)"
	}
	return ""
}

func addRules(m map[string]string, list string, rules []scope.Rule) {
	for i, r := range rules {
		m[fmt.Sprintf("%s[%d]", list, i)] = fmt.Sprintf("%s %s recursive=%t delete=%t", r.Target, r.Permission, r.Recursive, r.Delete)
	}
}
