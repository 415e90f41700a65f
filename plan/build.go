package plan

import (
	"slices"
	"strconv"
	"strings"

	"sunaba/fault"
)

// entry is one Task of a Graph with its state and its dependencies by index.
type entry struct {
	task   Task
	state  State
	actual Tokens
	on     []int // indices of the dependencies, without repetition
}

// draft is a graph in the making. It writes only to its own entries and beyond
// the end of the lists it took over, so that a refused change leaves no trace.
type draft struct {
	problems
	entries []entry
	index   map[string]int // folded ID → the first entry that has it
}

func newDraft(op string, kept []entry) *draft {
	d := &draft{problems: problems{op: op}, index: make(map[string]int)}
	for _, e := range kept {
		d.index[fold(e.task.ID)] = len(d.entries)
		d.entries = append(d.entries, e)
	}
	return d
}

// add takes the tasks up as pending. They may depend on each other in any
// order, so dependencies are drawn after all IDs are known.
func (d *draft) add(tasks []Task) {
	from := len(d.entries)
	for _, t := range tasks {
		t = t.clone()
		t.ID = strings.TrimSpace(t.ID)
		if t.ID == "" {
			d.report(fault.PlanMissing, "at", "tasks["+strconv.Itoa(len(d.entries)-from)+"].id")
		} else if i, known := d.index[fold(t.ID)]; !known {
			d.index[fold(t.ID)] = len(d.entries)
		} else if d.entries[i].state == Completed {
			d.report(fault.PlanImmutable, "id", t.ID)
		} else {
			d.report(fault.PlanDuplicate, "id", t.ID)
		}
		if !t.Effect.Covers(None) {
			d.report(fault.PlanValue, "at", t.ID+".effect", "expected", effectNames(" | "))
		}
		if !t.estimated() {
			d.report(fault.PlanEstimate, "id", t.ID, "optimistic", strconv.Itoa(t.Optimistic),
				"most_likely", strconv.Itoa(t.MostLikely), "pessimistic", strconv.Itoa(t.Pessimistic), "budget", t.Budget.String())
		}
		d.entries = append(d.entries, entry{task: t, state: Pending})
	}
	for i := from; i < len(d.entries); i++ {
		wanted := d.entries[i].task.DependsOn
		d.entries[i].task.DependsOn = []string{} // so that its JSON is a list
		for _, on := range wanted {
			d.draw(i, on)
		}
	}
}

// depend draws dependencies between known tasks. A Task that has begun keeps
// the promise that its dependencies were completed first: it takes no new one.
func (d *draft) depend(dependencies []Dependency) {
	for _, dep := range dependencies {
		i, known := d.index[fold(dep.ID)]
		switch {
		case !known:
			d.report(fault.PlanUnknownDependency, "id", dep.ID, "on", dep.ID)
		case d.entries[i].state == Completed:
			d.report(fault.PlanImmutable, "id", d.entries[i].task.ID)
		case d.entries[i].state == Running:
			d.report(fault.PlanState, "id", d.entries[i].task.ID)
		default:
			d.draw(i, dep.On)
		}
	}
}

// draw makes entry i depend on the Task of the given ID; again is no change.
func (d *draft) draw(i int, on string) {
	target, known := d.index[fold(on)]
	e := &d.entries[i]
	switch {
	case !known:
		d.report(fault.PlanUnknownDependency, "id", e.task.ID, "on", on)
	case !slices.Contains(e.on, target):
		e.on = append(e.on, target)
		e.task.DependsOn = append(e.task.DependsOn, d.entries[target].task.ID)
	}
}

// finish checks what concerns the graph as a whole and returns its entries.
func (d *draft) finish(maxTasks int) ([]entry, error) {
	if len(d.entries) == 0 {
		d.report(fault.PlanMissing, "at", "tasks")
	}
	if len(d.entries) > maxTasks {
		d.report(fault.PlanTooMany, "count", strconv.Itoa(len(d.entries)), "limit", strconv.Itoa(maxTasks))
	}
	for _, cycle := range cycles(d.entries) {
		names := make([]string, 0, len(cycle)+1)
		for _, i := range append(cycle, cycle[0]) {
			names = append(names, d.entries[i].task.ID)
		}
		d.report(fault.PlanCycle, "cycle", strings.Join(names, " → "))
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return d.entries, nil
}

// cycles returns one cycle for every dependency that closes one, each in the
// order "waits for"; there is none exactly when the entries are a DAG. The
// search keeps its own stack, so depth is bounded by memory alone.
func cycles(entries []entry) [][]int {
	const (
		unseen = iota
		open   // on the stack
		closed
	)
	type frame struct{ at, next int }
	var found [][]int
	state := make([]int, len(entries))
	for start := range entries {
		if state[start] != unseen {
			continue
		}
		stack := []frame{{start, 0}}
		state[start] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(entries[top.at].on) {
				state[top.at] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			on := entries[top.at].on[top.next]
			top.next++
			switch state[on] {
			case unseen:
				state[on] = open
				stack = append(stack, frame{on, 0})
			case open:
				from := slices.IndexFunc(stack, func(f frame) bool { return f.at == on })
				var cycle []int
				for _, f := range stack[from:] {
					cycle = append(cycle, f.at)
				}
				found = append(found, cycle)
			}
		}
	}
	return found
}
