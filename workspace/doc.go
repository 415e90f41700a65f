// Package workspace describes the area an agent works in: its root, its name,
// what happens outside of it, and what tools need to know about it.
//
// The one rule to keep in mind: a Workspace describes and never decides; what
// it says is compiled into the policy, and a policy nobody knows denies.
package workspace
