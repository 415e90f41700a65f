// Package ablation takes single mechanisms out of a test build, so that the
// adversarial suite can show what each of them stops.
//
// The one rule to keep in mind: only a build with the tag "ablation" can leave
// anything out; in any other, Off is constantly false.
package ablation

// Keep returns all, or nothing where the mechanism that they are is left out.
func Keep[T any](name string, all []T) []T {
	if Off(name) {
		return nil
	}
	return all
}
