package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	someID   = rapid.Map(rapid.IntRange(0, 9), func(n int) string { return fmt.Sprintf("t%d", n) })
	someTask = rapid.Custom(func(t *rapid.T) Task {
		one := task(someID.Draw(t, "id"), rapid.IntRange(1, 4).Draw(t, "tokens"), rapid.SliceOfN(someID, 0, 3).Draw(t, "on")...)
		one.Pessimistic += rapid.IntRange(0, 3).Draw(t, "more")
		return one
	})
	someTasks        = rapid.SliceOfN(someTask, 0, 5)
	someDependencies = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Dependency {
		return Dependency{someID.Draw(t, "id"), someID.Draw(t, "on")}
	}), 0, 3)
	// someDAG only looks back, so New accepts every draw.
	someDAG = rapid.Custom(func(t *rapid.T) []Task {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		tasks := make([]Task, n)
		for i := range tasks {
			tasks[i] = task(fmt.Sprintf("t%d", i), rapid.IntRange(1, 3).Draw(t, "tokens"))
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					tasks[i].DependsOn = append(tasks[i].DependsOn, tasks[j].ID)
				}
			}
		}
		return rapid.Permutation(tasks).Draw(t, "order")
	})
)

// sound fails unless g is a DAG of at most limit tasks with known, distinct
// IDs. It removes tasks that wait for nothing left until none is left.
func sound(t *rapid.T, g *Graph, limit int) {
	left := map[string]Task{}
	for _, one := range g.Tasks() {
		left[one.ID] = one
	}
	if _, total := g.Count(); len(left) != total || total > limit {
		t.Fatalf("%d tasks, %d IDs, limit %d", total, len(left), limit)
	}
	for len(left) > 0 {
		before := len(left)
		for id, one := range left {
			if !slices.ContainsFunc(one.DependsOn, func(on string) bool { _, waits := left[on]; return waits }) {
				delete(left, id)
			}
		}
		if len(left) == before {
			t.Fatalf("a cycle among %d tasks of\n%s", before, g)
		}
	}
	for _, one := range g.Tasks() {
		for _, on := range one.DependsOn {
			if _, _, known := g.Task(on); !known {
				t.Fatalf("%s waits for %s, which is nowhere", one.ID, on)
			}
		}
	}
}

// Any history of changes and steps: the graph stays a DAG within its limit, a
// refusal changes nothing, and a completed Task is never changed or lost.
//
// Covers: PLN-01, PLN-02, PLN-03, S1-252, AT-14, AT-15
func TestEveryHistoryKeepsTheGraphSound(t *testing.T) {
	const limit = 8
	rapid.Check(t, func(t *rapid.T) {
		g, err := New(someDAG.Draw(t, "start"), limit)
		if err != nil {
			t.Fatal(err)
		}
		finished := map[string]Task{}
		refusable := func(change func() error) {
			before, path := g.String(), g.CriticalPath()
			if change() != nil && (g.String() != before || !slices.Equal(g.CriticalPath(), path)) {
				t.Fatalf("a refusal turned\n%sinto\n%s", before, g)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"extend": func(t *rapid.T) {
				add, on := someTasks.Draw(t, "add"), someDependencies.Draw(t, "on")
				refusable(func() error { return g.Extend(add, on) })
			},
			"replace": func(t *rapid.T) {
				tasks := someTasks.Draw(t, "tasks")
				refusable(func() error { return g.ReplaceUnfinished(tasks) })
			},
			"complete the first ready": func(t *rapid.T) {
				ready := g.Ready()
				if len(ready) == 0 {
					t.Skip("nothing is ready")
				}
				do(t, g, ready[0].ID)
				finished[ready[0].ID] = ready[0]
			},
			"fail any": func(t *rapid.T) {
				id := someID.Draw(t, "id")
				refusable(func() error { return g.Start(id) })
				refusable(func() error { return g.Fail(id) })
			},
			"": func(t *rapid.T) {
				sound(t, g, limit)
				for id, was := range finished {
					is, state, _ := g.Task(id)
					if diff := cmp.Diff(was, is); state != Completed || diff != "" {
						t.Fatalf("completed %s is %s now (-was +is):\n%s", id, state, diff)
					}
				}
			},
		})
	})
}

// Covers: S1-126, AT-16, NFR-02
func TestCriticalPathEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := someDAG.Draw(t, "tasks")
		g, err := New(tasks, len(tasks))
		if err != nil {
			t.Fatal(err)
		}
		followers := map[string][]int{}
		for i, one := range tasks {
			for _, on := range one.DependsOn {
				followers[on] = append(followers[on], i)
			}
		}
		// Every chain from every task, in the order of insertion: the first
		// one found wins a tie.
		var best []string
		var most Cost
		var walk func(i int, chain []string, sum Cost)
		walk = func(i int, chain []string, sum Cost) {
			chain, sum = append(slices.Clone(chain), tasks[i].ID), sum+tasks[i].Expected()
			if sum > most {
				best, most = chain, sum
			}
			for _, f := range followers[tasks[i].ID] {
				walk(f, chain, sum)
			}
		}
		for i := range tasks {
			walk(i, nil, 0)
		}
		if got := g.CriticalPath(); !slices.Equal(got, best) || g.CriticalCost() != most {
			t.Fatalf("%v at %s, brute force %v at %s", got, g.CriticalCost(), best, most)
		}
	})
}

// Covers: NFR-02
func TestTheSameInputGivesTheSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, add := someTasks.Draw(t, "tasks"), someTasks.Draw(t, "add")
		once := func() (all string) {
			g, err := New(tasks, DefaultMaxTasks)
			if err != nil {
				return err.Error()
			}
			err = g.Extend(add, nil)
			return fmt.Sprint(err, g, g.CriticalPath(), g.CriticalCost(), ids(g.Ready()), g.TotalBudget())
		}
		if a, b := once(), once(); a != b {
			t.Fatalf("first\n%s\nthen\n%s", a, b)
		}
	})
}
