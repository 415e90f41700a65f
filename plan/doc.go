// Package plan holds the TaskGraph: Tasks with dependencies, their Token PERT
// estimates, and the Token CPM that orders them. It is pure and deterministic;
// the model only proposes, this package decides (NFR-02).
//
// The one rule to keep in mind: a change that is not valid as a whole changes
// nothing, and a completed Task never changes.
package plan
