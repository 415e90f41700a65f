package sandbox

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"sunaba/fault"
)

// TestMechanisms: the table has three outcomes. What is there is told in its
// order, weaker or in full; all that is missing is told, each with its remedy.
//
// Covers: S1-095, SD-27
func TestMechanisms(t *testing.T) {
	f := newFixture(t, nil)
	got, err := Probe(t.Context(), Options{Policy: f.p})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range got {
		if names = append(names, m.Name); m.Missing() || m.Detail == "" {
			t.Errorf("%+v", m)
		}
	}
	if want := []string{"namespaces", "landlock", "seccomp", "fence", "process limit", "memory limit", "disk limit", "network", "network notices"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	fence := Mechanism{Name: "fence", Full: true, Detail: "RLIMIT_NPROC"}
	if os.Geteuid() == 0 {
		if id, err := identityFor(f.p.Workspace.Root); err != nil {
			t.Fatal(err)
		} else if id.unfenced() {
			fence.Detail = "pids.max"
		}
	}
	if !slices.Contains(got, fence) {
		t.Errorf("%+v", got)
	}

	// Here nothing is missing; each is used by itself.
	if lacking, err := missing(t.Context(), mechanisms, Options{Policy: f.p}); err != nil || lacking != nil {
		t.Errorf("%+v, %v", lacking, err)
	}
	lacks := func(remedy string, err error) func(context.Context, Options) (string, error) {
		return func(context.Context, Options) (string, error) { return remedy, err }
	}
	table := []means{
		{name: "a", what: "the a", alone: lacks("one", errors.New("no a"))},
		{name: "b", what: "the b", alone: lacks("two", nil)},
		{name: "c", what: "the c"},
		{name: "d", what: "the d", alone: lacks("three", errors.New("no d"))},
	}
	lacking, err := missing(t.Context(), table, Options{})
	want := []Mechanism{{Name: "a", Detail: "no a", Remedy: "one"}, {Name: "d", Detail: "no d", Remedy: "three"}}
	if !slices.Equal(lacking, want) || !want[0].Missing() || fault.CodeOf(err) != fault.PlatformUnavailable {
		t.Errorf("%+v, %v", lacking, err)
	}
}
