package pod

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/scope"
)

// Resolve turns the paths of m into absolute ones without links (S0-84) and
// checks that the working directory exists and that the Scope lets it be read
// (S0-09, S0-31, S0-32). Targets need not exist: a rule also holds for what is
// made later. What is wrong is a *Problems, with the resolved targets in it.
func (m *Manifest) Resolve() (pwd string, s *scope.Scope, err error) {
	wrong := m.check()
	pwd, s, found := m.resolve(len(wrong) == 0)
	if found = append(wrong, found...); len(found) > 0 {
		return "", nil, newProblems(found)
	}
	return pwd, s, nil
}

// check finds what Parse would have found, had m been written as TOML.
func (m *Manifest) check() []Problem {
	r := resolver{m: m}
	switch name := m.Pod.Name; {
	case strings.TrimSpace(name) == "":
		r.problem("pod.name", fault.PodManifest, "missing", "key", "name")
	case strings.ContainsFunc(name, unicode.IsControl):
		r.problem("pod.name", fault.PodManifest, "control")
	}
	switch m.Scope.Base {
	case "", BasePwd, BaseManifest:
	default:
		r.problem("scope.base", fault.PodManifest, "base", "value", string(m.Scope.Base))
	}
	if len(m.Scope.Allow) == 0 {
		r.problem("scope.allow", fault.PodManifest, "no_allow", "key", "allow")
	}
	rules := func(list string, rules []ScopeRule, allow bool) {
		for i, rule := range rules {
			if rule.Permission != scope.Read && rule.Permission != scope.Write {
				r.problem(index(list, i)+".permission", fault.PolicyRulePermission, "missing_permission")
			}
			if rule.Delete && (!allow || rule.Permission != scope.Write) {
				r.problem(index(list, i)+".delete", fault.PolicyRuleDelete, "delete")
			}
		}
	}
	rules("scope.allow", m.Scope.Allow, true)
	rules("scope.deny", m.Scope.Deny, false)
	return r.found
}

// resolver collects what is found while a manifest is resolved.
type resolver struct {
	m     *Manifest
	found []Problem
}

func (r *resolver) problem(key string, code fault.Code, reason string, pairs ...string) {
	at, ok := r.m.places[key]
	if !ok {
		at = Position{File: r.m.File}
	}
	r.found = append(r.found, Problem{at, key, code, reason, fault.New(code, "", pairs...).Args})
}

// resolve is Resolve; whole says that the text of m had no mistakes, so that
// what its rules leave uncovered is meant so.
func (m *Manifest) resolve(whole bool) (pwd string, s *scope.Scope, found []Problem) {
	r := resolver{m: m}
	dir, err := filepath.Abs(filepath.Dir(m.File))
	if err != nil {
		r.problem("", fault.PodManifest, "no_directory")
		return "", nil, r.found
	}
	pwd = r.pwd(dir)
	base := dir
	if m.Scope.Base != BaseManifest {
		base = pwd
	}
	allow, complete := r.rules("scope.allow", m.Scope.Allow, base, false)
	deny, denies := r.rules("scope.deny", m.Scope.Deny, base, true)
	if pwd == "" || !whole || !complete || !denies {
		return "", nil, r.found
	}
	s, err = scope.New(allow, deny)
	if err != nil {
		r.problem("scope", fault.CodeOf(err), "rules", "detail", err.Error())
		return "", nil, r.found
	}
	r.covers(s, pwd, dir)
	return pwd, s, r.found
}

// pwd resolves the working directory; "" when that is not possible.
func (r *resolver) pwd(dir string) string {
	const key = "pod.pwd"
	written := r.m.Pod.Pwd
	if written == "" {
		if r.m.places == nil { // else it was reported
			r.problem(key, fault.PodPwd, "missing", "key", "pwd")
		}
		return ""
	}
	if reason := unusable(written); reason != "" {
		r.problem(key, fault.PodPwd, reason, "value", written)
		return ""
	}
	spelled := from(dir, written)
	real, trouble := resolve(spelled)
	if trouble != nil {
		r.problem(key, fault.PodPwd, trouble.reason, "path", spelled, "at", trouble.at)
		return ""
	}
	switch info, err := os.Stat(real); {
	case errors.Is(err, fs.ErrNotExist):
		r.problem(key, fault.PodPwd, "pwd_absent", "path", real)
		return ""
	case err != nil:
		r.problem(key, fault.PodPwd, "access", "path", spelled, "at", real)
		return ""
	case !info.IsDir():
		r.problem(key, fault.PodPwd, "pwd_file", "path", real)
		return ""
	}
	return real
}

// rules resolves the rules of one list; complete is false when one could not
// be. A base of "" stands for a working directory that is not known: relative
// targets are then only looked at as text.
func (r *resolver) rules(list string, rules []ScopeRule, base string, deny bool) (resolved []scope.Rule, complete bool) {
	complete = true
	for i, rule := range rules {
		key := index(list, i) + ".target"
		if reason := unusable(rule.Target); reason != "" {
			if rule.Target != "" || r.m.places == nil { // else it was reported
				r.problem(key, fault.PolicyRuleTarget, reason, "value", rule.Target)
			}
			complete = false
			continue
		}
		spelled := from(base, rule.Target)
		if !filepath.IsAbs(spelled) {
			complete = false
			continue
		}
		real, trouble := resolve(spelled)
		if trouble != nil {
			r.problem(key, fault.PolicyRuleTarget, trouble.reason, "path", spelled, "at", trouble.at)
			complete = false
			continue
		}
		one := scope.Rule{Target: real, Permission: rule.Permission, Recursive: rule.Recursive, Delete: rule.Delete, Source: rule.Source}
		resolved = append(resolved, one)
		if deny && spelled != real { // else a link on the way could be replaced to get around it
			one.Target = spelled
			resolved = append(resolved, one)
		}
	}
	return resolved, complete
}

// covers demands that s lets the working directory be read, and otherwise says
// what covers it and how that is mended (C-01, SD-05).
func (r *resolver) covers(s *scope.Scope, pwd, dir string) {
	if s.IsReadable(pwd) {
		return
	}
	why := s.Explain(pwd)
	if len(why.Allow) > 0 {
		rule := why.Deny[0]
		r.problem("pod.pwd", fault.PodPwd, "pwd_denied", "path", pwd, "target", rule.Target, "source", rule.Source)
		return
	}
	allow, _ := s.Rules()
	targets := make([]string, len(allow))
	for i, rule := range allow {
		targets[i] = rule.Target
	}
	reason := "pwd_outside"
	if r.m.Scope.Base == BaseManifest {
		reason = "pwd_outside_manifest"
	}
	r.problem("pod.pwd", fault.PodPwd, reason, "path", pwd,
		"targets", strings.Join(slices.Compact(targets), ", "), "directory", dir)
}

// maxTarget bounds a path in a manifest, in bytes; the tools take none beyond.
const maxTarget = 32 << 10

var variable = pattern.Lazy(`\$[A-Za-z_{(]`)

// unusable says why path cannot be what was meant, as a Reason; "" it can.
func unusable(path string) string {
	switch {
	case path == "":
		return "empty"
	case len(path) > maxTarget:
		return "too_long"
	case strings.ContainsRune(path, 0):
		return "nul"
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "tilde"
	case variable().MatchString(path):
		return "variable"
	case strings.ContainsAny(path, "*?"):
		return "pattern"
	}
	return ""
}

// from returns path as it is meant from base: clean.
func from(base, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) || base == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// trouble says why a path cannot be resolved, and at which part of it.
type trouble struct{ reason, at string }

// resolve replaces every link in the absolute path; its end may be missing. A
// link whose destination is missing is refused: what it allows or denies could
// not be known.
func resolve(path string) (string, *trouble) {
	there, missing, err := split(path)
	real := ""
	if err == nil {
		real, err = filepath.EvalSymlinks(there)
	}
	switch {
	case err == nil:
		return filepath.Join(real, missing), nil
	case errors.Is(err, fs.ErrPermission):
		return "", &trouble{"access", path}
	case !errors.Is(err, fs.ErrNotExist):
		return "", &trouble{"unresolvable", path}
	}
	return "", &trouble{"dangling", there}
}

// split divides path before its first component that does not exist.
func split(path string) (there, missing string, err error) {
	for end := len(filepath.VolumeName(path)) + 1; end < len(path); {
		next := len(path)
		if i := strings.IndexRune(path[end:], filepath.Separator); i >= 0 {
			next = end + i
		}
		switch _, err := os.Lstat(path[:next]); {
		case errors.Is(err, fs.ErrNotExist):
			return path[:end], path[end:], nil
		case err != nil:
			return "", "", err
		}
		end = min(next+1, len(path))
	}
	return path, "", nil
}
