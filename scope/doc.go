// Package scope holds permissions on paths: allow and deny rules over a
// read < write lattice, and the capability that follows from them.
//
// The one rule to keep in mind: no rule, no access. The package does no I/O;
// paths are absolute and clean, and resolving links is the caller's duty.
package scope

// Permission is a capability level of a rule: exactly Read or Write, totally
// ordered (S0-36). The zero value is no permission at all.
type Permission uint8

// The two levels; Write includes Read (S0-11..13).
const (
	None Permission = iota
	Read
	Write
)

// Rule allows or denies one area (S0-35). A non-recursive rule covers Target
// itself and its direct children (SD-07).
type Rule struct {
	Target     string     `json:"target"` // absolute and clean
	Permission Permission `json:"permission"`
	Recursive  bool       `json:"recursive"`
	Delete     bool       `json:"delete,omitempty"` // allow rules of level Write only (SD-04)
	Source     string     `json:"source,omitempty"` // file:line:column, for explanations
}
