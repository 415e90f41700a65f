package policy

import (
	"io/fs"
	"os"
	"path/filepath"

	"sunaba/fault"
	"sunaba/scope"
)

// maxSearched bounds how many names are looked at for another one of a file.
const maxSearched = 200_000

// guarded is a single file that a rule takes something from.
type guarded struct {
	info   os.FileInfo
	path   string
	lost   scope.Capability
	source string
}

// sameFile reports whether both paths lead to one file or directory now.
func sameFile(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// otherMounts refuses what a rule takes something from and what a mount in the
// workspace or in a mount of the settings shows under a name that leaves it.
func (r *resolver) otherMounts() {
	rules, err := r.e.Rules()
	if err != nil {
		return // told elsewhere
	}
	table := mounts()
	look := func(path string, lost scope.Capability, source string) {
		for _, root := range r.e.Roots {
			if root.Kind != RootWorkspace && root.Kind != RootMount {
				continue
			}
			if at, _ := table.alias(path, root.Path, sameFile); at != "" && rules.CapabilityAt(at).Has(lost) {
				r.problem(fault.PolicyRoot, "scope_mounted", source, "path", path, "other", at)
				return
			}
		}
	}
	if r.e.Scope != nil {
		for _, d := range r.e.Scope.Deny {
			look(d.Target, takes(d), d.Source)
		}
	}
	for _, p := range r.e.Protected {
		if p.Why != "entry" { // runtime roots are looked at by themselves
			look(p.Path, scope.W, p.Source)
		}
	}
}

// takes returns the right that tells whether a deny rule holds.
func takes(d scope.Rule) scope.Capability {
	if d.Permission == scope.Read {
		return scope.R
	}
	return scope.W
}

// otherNames refuses a single file from which a rule takes something that
// another of its names, in reach, leaves: rules and mounts go by name. Files in
// denied directories are not looked at.
func (r *resolver) otherNames() {
	var files []guarded
	add := func(path string, lost scope.Capability, source string) {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && links(info) > 1 {
			files = append(files, guarded{info, path, lost, source})
		}
	}
	if r.e.Scope != nil {
		for _, d := range r.e.Scope.Deny {
			add(d.Target, takes(d), d.Source)
		}
	}
	for _, p := range r.e.Protected {
		if p.Why != "entry" { // whose bytes are looked at before each start
			add(p.Path, scope.W, p.Source)
		}
	}
	if len(files) == 0 {
		return
	}
	rules, err := r.e.Rules()
	if err != nil {
		return // told elsewhere
	}
	left := maxSearched
	for _, root := range r.e.Roots {
		if root.Kind != RootWorkspace && root.Kind != RootMount {
			continue
		}
		_ = filepath.WalkDir(root.Path, func(path string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be looked at here cannot be reached there
			}
			info, err := d.Info()
			if err != nil || links(info) < 2 {
				return nil
			}
			for _, g := range files {
				if path != g.path && rules.CapabilityAt(path).Has(g.lost) && os.SameFile(info, g.info) {
					r.problem(fault.PolicyRoot, "scope_hard_link", g.source, "path", g.path, "other", path)
				}
			}
			return nil
		})
	}
	if left < 0 {
		r.warn(fault.PolicyRoot, "scope_hard_link_unknown", files[0].source, "path", files[0].path)
	}
}
