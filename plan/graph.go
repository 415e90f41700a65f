package plan

import (
	"fmt"
	"slices"
	"strings"

	"sunaba/fault"
)

// State is the state of one Task of a Graph.
type State string

// The states. Pending may become Running, Running may become Completed or
// Failed; a Completed Task never changes (PLN-03).
const (
	Pending   State = "pending"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
)

// Graph is a TaskGraph: always a DAG, at most maxTasks large (PLN-01, PLN-02).
// A Graph is not safe for concurrent use. What it returns is the caller's own.
type Graph struct {
	entries  []entry
	maxTasks int
	tail     []Cost // per entry: the costliest chain that starts with it
}

// New makes a Graph of pending tasks. A refusal is an *Error with every
// problem; maxTasks below 1 refuses every plan.
func New(tasks []Task, maxTasks int) (*Graph, error) {
	g := &Graph{maxTasks: maxTasks}
	if err := g.change("plan", nil, tasks, nil); err != nil {
		return nil, err
	}
	return g, nil
}

// Extend adds unfinished tasks and dependencies of tasks that have not begun,
// as update_plan asks (PLN-04). If anything in it is refused, the Graph stays
// as it was and the *Error holds every problem.
func (g *Graph) Extend(tasks []Task, dependencies []Dependency) error {
	return g.change("update_plan", g.entries, tasks, dependencies)
}

// ReplaceUnfinished replaces every Task that is not completed by the given
// ones, which may depend on completed tasks; the result of a re-planning. If
// anything in it is refused, the Graph stays as it was.
func (g *Graph) ReplaceUnfinished(tasks []Task) error {
	var kept []entry
	place := make([]int, len(g.entries))
	for i, e := range g.entries {
		if e.state == Completed {
			place[i] = len(kept)
			kept = append(kept, e)
		}
	}
	for i := range kept { // what a completed Task depends on is completed too
		kept[i].on = slices.Clone(kept[i].on)
		for j, on := range kept[i].on {
			kept[i].on[j] = place[on]
		}
	}
	return g.change("replan", kept, tasks, nil)
}

func (g *Graph) change(op string, kept []entry, tasks []Task, dependencies []Dependency) error {
	d := newDraft(op, kept)
	d.add(tasks)
	d.depend(dependencies)
	entries, err := d.finish(g.maxTasks)
	if err != nil {
		return err
	}
	g.entries, g.tail = entries, tails(entries) // PLN-05
	return nil
}

// Start makes a ready Task running.
func (g *Graph) Start(id string) error {
	e, err := g.in("start", id, Pending)
	if err == nil && !g.free(*e) {
		err = fault.New(fault.PlanState, "start", "id", e.task.ID)
	}
	if err != nil {
		return err
	}
	e.state = Running
	return nil
}

// Complete makes a running Task completed, for good.
func (g *Graph) Complete(id string) error { return g.end("complete", id, Completed) }

// Fail makes a running Task failed; re-planning replaces it.
func (g *Graph) Fail(id string) error { return g.end("fail", id, Failed) }

func (g *Graph) end(op, id string, to State) error {
	e, err := g.in(op, id, Running)
	if err != nil {
		return err
	}
	e.state = to
	return nil
}

// in returns the entry of id if it is in the wanted state.
func (g *Graph) in(op, id string, want State) (*entry, error) {
	e := g.find(id)
	switch {
	case e == nil:
		return nil, fault.New(fault.PlanUnknownDependency, op, "id", id, "on", id)
	case e.state == Completed:
		return nil, fault.New(fault.PlanImmutable, op, "id", e.task.ID)
	case e.state != want:
		return nil, fault.New(fault.PlanState, op, "id", e.task.ID)
	}
	return e, nil
}

func (g *Graph) find(id string) *entry {
	for i := range g.entries {
		if fold(g.entries[i].task.ID) == fold(id) {
			return &g.entries[i]
		}
	}
	return nil
}

// free reports whether everything e waits for is completed.
func (g *Graph) free(e entry) bool {
	return !slices.ContainsFunc(e.on, func(on int) bool { return g.entries[on].state != Completed })
}

// Task returns the Task of id and its state; ok is false if there is none.
func (g *Graph) Task(id string) (t Task, s State, ok bool) {
	e := g.find(id)
	if e == nil {
		return Task{}, "", false
	}
	return e.task.clone(), e.state, true
}

// Tasks returns every Task in the order of insertion.
func (g *Graph) Tasks() []Task {
	tasks := make([]Task, len(g.entries))
	for i, e := range g.entries {
		tasks[i] = e.task.clone()
	}
	return tasks
}

// Count returns how many tasks are completed, and how many there are.
func (g *Graph) Count() (completed, total int) {
	for _, e := range g.entries {
		if e.state == Completed {
			completed++
		}
	}
	return completed, len(g.entries)
}

// Done reports whether every Task is completed (AGT-01).
func (g *Graph) Done() bool {
	completed, total := g.Count()
	return total > 0 && completed == total
}

// String prints one line for each Task, in the order of insertion, for the
// model and for logs: ID, state, effect, expected tokens and budget, what it
// waits for, title.
func (g *Graph) String() string {
	var b strings.Builder
	for _, e := range g.entries {
		fmt.Fprintf(&b, "%s %s effect=%s expected=%s budget=%s", e.task.ID, e.state, e.task.Effect, e.task.Expected(), e.task.Budget)
		if len(e.task.DependsOn) > 0 {
			b.WriteString(" after=" + strings.Join(e.task.DependsOn, ","))
		}
		fmt.Fprintf(&b, " %q\n", e.task.Title)
	}
	return b.String()
}
