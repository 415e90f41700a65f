package plan

import (
	"cmp"
	"slices"
)

// tails returns for every entry the cost of the costliest chain that starts
// with it and ends with a Task nobody waits for. Entries must be a DAG.
func tails(entries []entry) []Cost {
	waiting := make([]int, len(entries)) // how many entries wait for this one
	for _, e := range entries {
		for _, on := range e.on {
			waiting[on]++
		}
	}
	after := make([]Cost, len(entries)) // the costliest chain behind each entry
	tail := make([]Cost, len(entries))
	var settled []int
	for i, n := range waiting {
		if n == 0 {
			settled = append(settled, i)
		}
	}
	for len(settled) > 0 {
		i := settled[0]
		settled = settled[1:]
		tail[i] = after[i] + entries[i].task.Expected()
		for _, on := range entries[i].on {
			after[on] = max(after[on], tail[i])
			if waiting[on]--; waiting[on] == 0 {
				settled = append(settled, on)
			}
		}
	}
	return tail
}

// Ready returns the pending tasks whose dependencies are all
// completed, those with the costliest chain ahead first, ties by insertion:
// the first lies on the critical path of what is left.
func (g *Graph) Ready() []Task {
	var ready []int
	for i, e := range g.entries {
		if e.state == Pending && g.free(e) {
			ready = append(ready, i)
		}
	}
	slices.SortStableFunc(ready, func(a, b int) int { return cmp.Compare(g.tail[b], g.tail[a]) })
	tasks := make([]Task, len(ready))
	for i, at := range ready {
		tasks[i] = g.entries[at].task.clone()
	}
	return tasks
}

// CriticalPath returns the IDs of the dependency path with the largest sum of
// expected costs, first Task first (S1-126). Of equal paths it is the one whose
// tasks were inserted first, compared from the start (C-55). It says where LLM
// cost accumulates, not how long anything takes (S1-127).
func (g *Graph) CriticalPath() []string {
	followers := make([][]int, len(g.entries)) // in the order of insertion
	next := make([]int, len(g.entries))
	for i, e := range g.entries {
		next[i] = i
		for _, on := range e.on {
			followers[on] = append(followers[on], i)
		}
	}
	var path []int
	for len(next) > 0 {
		best := next[0]
		for _, i := range next {
			if g.tail[i] > g.tail[best] {
				best = i
			}
		}
		path = append(path, best)
		next = followers[best]
	}
	ids := make([]string, len(path))
	for i, at := range path {
		ids[i] = g.entries[at].task.ID
	}
	return ids
}

// CriticalCost returns the sum of expected costs along the critical path.
func (g *Graph) CriticalCost() Cost {
	var most Cost
	for _, c := range g.tail {
		most = max(most, c)
	}
	return most
}

// Expected returns the expected cost of the Task of id, 0 if there is none.
func (g *Graph) Expected(id string) Cost {
	if e := g.find(id); e != nil {
		return e.task.Expected()
	}
	return 0
}

// TotalBudget returns the sum of all budgets in tokens, which is managed apart
// from the critical path (S1-128).
func (g *Graph) TotalBudget() int {
	total := 0
	for _, e := range g.entries {
		total += int(e.task.Budget)
	}
	return total
}

// AddActual adds the tokens that one model call for the Task of id used. Measuring is not
// a change of the plan: a completed Task still takes late figures. An unknown
// id is ignored.
func (g *Graph) AddActual(id string, input, output int) {
	if e := g.find(id); e != nil {
		e.actual.Input += input
		e.actual.Output += output
	}
}

// Actual returns what the Task of id has used, and whether that is more than
// its budget; an overrun is shown and recorded, it stops nothing (C-74).
func (g *Graph) Actual(id string) (t Tokens, over bool) {
	e := g.find(id)
	if e == nil {
		return Tokens{}, false
	}
	return e.actual, e.actual.Total() > int(e.task.Budget)
}
