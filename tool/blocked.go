package tool

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scope"
)

// blockedTail is how much of the end of an output is looked at for refusals.
const blockedTail = 8 << 10

// What programs print when the system says no, in the language they run in.
var (
	refusals = pattern.Lazy(`(?i)permission denied|read-only file system|operation not permitted|no such file or directory|(?:directory )?nonexistent|device or resource busy|invalid cross-device link`)
	offline  = pattern.Lazy(`(?i)network is (?:unreachable|down)|could not resolve|couldn't resolve|name resolution|no such host|name or service not known`)
	removal  = pattern.Lazy(`(?i)remov|unlink|delet|renam|\bmov`)
	quotes   = pattern.Lazy("'([^']+)'|‘([^’]+)’|\"([^\"]+)\"|`([^'`]+)['`]")
)

// block is what the sandbox refused to a command.
type block struct {
	operation string
	path      string // "" for the network
	rule      string // of the settings, with its place; "" where no single one decides
}

// blocked finds out what the sandbox refused to a command that failed, so that
// the model does not take it for a mistake of its own; the zero block is
// nothing. A program's words only say where to look; the policy decides. What a
// file's mode or absence alone explains is nothing.
func (e *Env) blocked(c sandbox.Capture, dir string) block {
	end := append(c.Head[:len(c.Head):len(c.Head)], c.Tail...)
	end = end[max(0, len(end)-blockedTail):]
	for line := range strings.Lines(string(end)) {
		line = strings.TrimRight(line, "\r\n")
		if offline().MatchString(line) && !listed(&e.Policy.Network, line) {
			return block{operation: "network"}
		}
		at := refusals().FindStringIndex(line)
		if at == nil {
			continue
		}
		said := strings.ToLower(line[at[0]:at[1]])
		for _, named := range namedPaths(line, line[:at[0]]) {
			if !filepath.IsAbs(named) {
				named = filepath.Join(dir, named)
			}
			named = filepath.Clean(named)
			if operation, rule := e.lacks(named, said, removal().MatchString(line)); operation != "" {
				return block{operation, named, rule}
			}
		}
	}
	return block{}
}

// listed reports whether line names a host that can be reached: that it failed
// all the same is no refusal. There is no name service inside, so that every
// other name that is not found is one that is not listed, in any mode.
func listed(n *policy.Network, line string) bool {
	words := strings.FieldsFunc(strings.ToLower(line), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	})
	for i := range words {
		words[i] = strings.TrimSuffix(words[i], ".")
	}
	return slices.ContainsFunc(n.Endpoints, func(e policy.Endpoint) bool {
		return e.Host != "" && e.Closed == "" && slices.Contains(words, e.Host)
	})
}

// ruleOf names the rule in a refusal, with its place.
func ruleOf(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Args["rule"] == "" {
		return ""
	}
	if f.Args["source"] == "" {
		return f.Args["rule"]
	}
	return f.Args["rule"] + " (" + f.Args["source"] + ")"
}

// namedPaths returns what of a message may be the path it is about: everything
// in quotes, else the last word before the system's own words.
func namedPaths(line, before string) []string {
	var named []string
	for _, m := range quotes().FindAllStringSubmatch(line, -1) {
		named = append(named, m[1]+m[2]+m[3]+m[4]) // exactly one is not empty
	}
	if named != nil {
		return named
	}
	before = strings.TrimRight(before, ": \t")
	last := before[strings.LastIndex(before, ": ")+1:]
	words := strings.Fields(last)
	if len(words) == 0 {
		return nil
	}
	return []string{words[len(words)-1]}
}

// lacks returns the operation on path that the policy does not grant and that
// therefore failed with the words said, and the rule that takes it; "" when the
// policy explains nothing.
func (e *Env) lacks(path, said string, removing bool) (operation, rule string) {
	absent := said == "no such file or directory" || strings.HasSuffix(said, "nonexistent")
	readOnly := said == "read-only file system"
	switch err := e.FS.Allows(path, scope.R); {
	case errors.Is(err, &fault.Error{Code: fault.FSOutsideWorkspace}):
		switch {
		case readOnly:
			return "write", ""
		case e.visible(path): // there it is the system's own doing
			return "", ""
		}
		return "access", ""
	case errors.Is(err, &fault.Error{Code: fault.FSOutOfScope}):
		return "read", ruleOf(err)
	case err != nil || absent:
		return "", ""
	}
	if said == "device or resource busy" || said == "invalid cross-device link" {
		return e.held(path)
	}
	if removing {
		if err := e.FS.Allows(path, scope.R|scope.D); err != nil {
			return "delete", ruleOf(err)
		}
	}
	info, _, err := e.FS.Stat(path)
	regular := err == nil && info.Mode().IsRegular()
	if regular {
		f, _, err := e.FS.OpenFile(path)
		if err != nil {
			return "", "" // its mode
		}
		f.Close()
	}
	if err := e.FS.Allows(path, scope.R|scope.W); err != nil {
		return "write", ruleOf(err)
	}
	if regular && info.Mode()&0o111 != 0 {
		if err := e.FS.Allows(path, scope.R|scope.X); err != nil {
			return "execute", ruleOf(err)
		}
	}
	if rule := e.flat(path); rule != "" && (removing || err != nil) {
		return "create", rule
	}
	return "", ""
}

// held says why path is not moved or linked from: a rule names it or something
// beneath it, which would leave its place.
func (e *Env) held(path string) (operation, rule string) {
	rules, err := e.Policy.Rules()
	if err != nil {
		return "", ""
	}
	if !rules.CapabilityAt(path).Has(scope.W) {
		return "write", placed(rules.Why(path, scope.W))
	}
	if target, denied := rules.DeniedBeneath(path); denied {
		return "move", placed(rules.Why(target, scope.W))
	}
	return "", ""
}

func placed(why fault.Args) string { return ruleOf(&fault.Error{Args: why}) }

// flat returns the allow rule without recursion by which alone path may be
// written to, "" when there is none: under it commands change files that are
// there, and make and remove none (C-73).
func (e *Env) flat(path string) string {
	if e.Policy.Scope == nil {
		return ""
	}
	found := ""
	for i, r := range e.Policy.Scope.Allow {
		switch {
		case r.Permission != scope.Write:
		case r.Recursive && within(path, r.Target):
			return ""
		case !r.Recursive && filepath.Dir(path) == r.Target:
			found = ruleOf(&fault.Error{Args: fault.Args{
				"rule": fmt.Sprintf("sandbox.scope.allow[%d], recursive: false", i), "source": r.Source,
			}})
		}
	}
	return found
}

// visible reports whether a command sees path although no file tool reaches it.
func (e *Env) visible(path string) bool {
	for _, r := range e.Policy.Roots {
		if (r.Kind == policy.RootRuntime || r.Kind == policy.RootExecutable) && within(path, r.Path) {
			return true
		}
	}
	for _, own := range []string{"/usr", "/bin", "/lib", "/lib64", "/tmp", "/proc", "/dev", "/sys"} {
		if within(path, own) {
			return true
		}
	}
	return false
}
