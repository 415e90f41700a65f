package attack

import (
	"os"
	"testing"

	"sunaba/internal/attack/act"
	"sunaba/sandbox"
)

func TestMain(m *testing.M) {
	if sandbox.InWorker() {
		_ = sandbox.Serve(NewWorker)
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == act.Word {
		os.Exit(act.Main(os.Args[2:], os.Stdout))
	}
	os.Exit(m.Run())
}

// The catalogue is one that can be read: each name once, each act known.
func TestCatalogue(t *testing.T) {
	const least = 150
	seen := map[string]bool{}
	for _, a := range All() {
		if seen[a.Name] {
			t.Errorf("%s is there twice", a.Name)
		}
		seen[a.Name] = true
		if !act.Known(a.Act) {
			t.Errorf("%s: no act %q", a.Name, a.Act)
		}
		if a.Layer == "" || a.Box == "" {
			t.Errorf("%s: stopped by %q in %q", a.Name, a.Layer, a.Box)
		}
	}
	if len(seen) < least {
		t.Errorf("%d attacks", len(seen))
	}
}

// TestSomeOfEach plays a part of the suite; "make attack" plays it all.
//
// Covers: SEC-INV-04, SEC-INV-06, SEC-INV-08, SEC-INV-13, S1-188, S1-189, S1-190, S1-191, AT-10, AT-12
func TestSomeOfEach(t *testing.T) {
	const share = 16
	var some []Attack
	for i, a := range All() {
		if i%share == 0 {
			some = append(some, a)
		}
	}
	stopped := 0
	err := Run(some, true, func(r Result) {
		switch r.Status {
		case Stopped:
			stopped++
		case Unproved:
			t.Logf("%s is unproved here: %s", r.Attack.Name, r.Reason)
		default:
			t.Errorf("%s: %s %s", r.Attack.Name, r.Status, r.Inside)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if stopped < len(some)/2 {
		t.Errorf("%d of %d could be proved", stopped, len(some))
	}
}

// TestSuiteCanFail: what the sandbox lets through is told.
func TestSuiteCanFail(t *testing.T) {
	open := Attack{Name: "test/write", Layer: "nothing", Box: "development", Act: "write", Args: []string{"{ws}/plain"}}
	nothing := Attack{Name: "test/nothing", Layer: "nothing", Box: "development", Act: "read", Args: []string{"{out}/not-there"}}
	var got []Status
	if err := Run([]Attack{open, nothing, open}, true, func(r Result) { got = append(got, r.Status) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] != Escaped || got[1] != Unproved || got[2] != Escaped {
		t.Errorf("%v", got)
	}
}
