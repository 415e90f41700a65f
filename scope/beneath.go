package scope

// DenyBeneath returns a deny rule whose target, existing or not, lies strictly
// beneath dir. While there is one, dir must not be renamed, moved or deleted:
// the denied entry would slip out of its rule (SD-18). Of several rules it is
// the one whose target sorts first.
func (s *Scope) DenyBeneath(dir string) (Rule, bool) {
	own, _ := s.visit(dir, func(*node, bool) {})
	if own == nil || own.denyBeneath == nil {
		return Rule{}, false
	}
	return *own.denyBeneath, true
}

// AllowBeneath reports whether the target of an allow rule, existing or not,
// lies strictly beneath dir. A search that starts at such a directory may pass
// through it, though nothing of it may be read (S0-87, S0-88).
func (s *Scope) AllowBeneath(dir string) bool {
	own, ok := s.visit(dir, func(*node, bool) {})
	return ok && own != nil && own.allowBeneath
}
