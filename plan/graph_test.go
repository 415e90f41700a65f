package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
)

// task makes a Task with an expected cost of tokens and the given
// dependencies.
func task(id string, tokens int, on ...string) Task {
	return Task{ID: id, Title: "title of " + id, Instructions: "do " + id, DependsOn: on, Effect: Write,
		Optimistic: tokens, MostLikely: tokens, Pessimistic: tokens, Budget: 128 << 10}
}

func graph(t testing.TB, tasks ...Task) *Graph {
	t.Helper()
	g, err := New(tasks, DefaultMaxTasks)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// failer is what tests and laws have in common.
type failer interface {
	Helper()
	Fatal(...any)
}

// do starts and completes tasks in the given order.
func do(t failer, g *Graph, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := errors.Join(g.Start(id), g.Complete(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(tasks []Task) []string {
	var list []string
	for _, t := range tasks {
		list = append(list, t.ID)
	}
	return list
}

// codes returns the code of every problem of err.
func codes(t testing.TB, err error) []fault.Code {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("not a plan.Error: %v", err)
	}
	var list []fault.Code
	for _, p := range e.Problems() {
		list = append(list, p.Code)
	}
	if first := fault.CodeOf(err); first != list[0] {
		t.Errorf("errors.As finds %s, the first problem is %s", first, list[0])
	}
	return list
}

// Covers: PLN-01, PLN-02, S1-124, AT-14
func TestNewReportsEveryProblem(t *testing.T) {
	bad := task("e", 1)
	bad.Effect = "delete"
	cases := []struct {
		name  string
		max   int
		tasks []Task
		want  []fault.Code
	}{
		{"valid", 3, []Task{task("a", 1, "b"), task("b", 1), task("c", 1, "a", "b")}, nil},
		{"none", 3, nil, []fault.Code{fault.PlanMissing}},
		{"too many", 2, []Task{task("a", 1), task("b", 1), task("c", 1)}, []fault.Code{fault.PlanTooMany}},
		{"no room at all", 0, []Task{task("a", 1)}, []fault.Code{fault.PlanTooMany}},
		{"PLAN-002: nothing merged, nothing dropped", 9, []Task{task("t1", 1), task("t1", 1), task("t2", 1, "tX"), task(" T1 ", 1), task("  ", 1)},
			[]fault.Code{fault.PlanDuplicate, fault.PlanDuplicate, fault.PlanMissing, fault.PlanUnknownDependency}},
		{"an empty dependency", 9, []Task{task("a", 1, " ")}, []fault.Code{fault.PlanUnknownDependency}},
		{"waits for itself", 9, []Task{task("a", 1, "a")}, []fault.Code{fault.PlanCycle}},
		{"two circles", 9, []Task{task("a", 1, "b"), task("b", 1, "a"), task("c", 1, "d"), task("d", 1, "e"), task("e", 1, "c", "a")},
			[]fault.Code{fault.PlanCycle, fault.PlanCycle}},
		{"two circles with a task in common", 9, []Task{task("a", 1, "b", "c"), task("b", 1, "a"), task("c", 1, "a")},
			[]fault.Code{fault.PlanCycle, fault.PlanCycle}},
		{"unknown effect", 9, []Task{bad}, []fault.Code{fault.PlanValue}},
		{"all at once", 1, []Task{{ID: "a", Effect: "?"}, task("A", 1, "q", "a"), task("b", 1, "b")},
			[]fault.Code{fault.PlanValue, fault.PlanEstimate, fault.PlanDuplicate, fault.PlanUnknownDependency, fault.PlanTooMany, fault.PlanCycle}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := New(c.tasks, c.max)
			if diff := cmp.Diff(c.want, codes(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
			if (g == nil) != (err != nil) {
				t.Errorf("graph %v with error %v", g, err)
			}
		})
	}
}

// Covers: PLN-02
func TestTheDefaultCeiling(t *testing.T) {
	var tasks []Task
	for i := range 33 {
		tasks = append(tasks, task(fmt.Sprintf("t%d", i), 1))
	}
	if _, err := New(tasks[:32], DefaultMaxTasks); err != nil {
		t.Errorf("32 tasks: %v", err)
	}
	if _, err := New(tasks, DefaultMaxTasks); fault.CodeOf(err) != fault.PlanTooMany {
		t.Errorf("33 tasks: %v", err)
	}
}

func TestACycleIsNamedInOrder(t *testing.T) {
	_, err := New([]Task{task("x", 1, "a"), task("a", 1, "B"), task("b", 1, "c"), task("c", 1, "A")}, 9)
	e, _ := errors.AsType[*fault.Error](err)
	if e == nil || e.Args["cycle"] != "a → b → c → a" {
		t.Errorf("got %v", err)
	}
}

// Covers: S1-123, S1-124
func TestEstimateInvariant(t *testing.T) {
	for _, c := range []struct {
		o, m, p int
		budget  Budget
		ok      bool
	}{
		{1, 1, 1, 1 << 10, true},
		{1, 2, 1024, 1 << 10, true},
		{0, 1, 1, 1 << 10, false},
		{-1, 1, 1, 1 << 10, false},
		{2, 1, 3, 1 << 10, false},
		{1, 3, 2, 1 << 10, false},
		{1, 2, 1025, 1 << 10, false},
		{1, 1, 1, 1000, false},
		{1, 1, 1, 0, false},
		{1, 1, 1, 256 << 10, false},
	} {
		one := task("a", 1)
		one.Optimistic, one.MostLikely, one.Pessimistic, one.Budget = c.o, c.m, c.p, c.budget
		_, err := New([]Task{one}, 1)
		if (err == nil) != c.ok || err != nil && fault.CodeOf(err) != fault.PlanEstimate {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestDependenciesAreCanonical(t *testing.T) {
	g := graph(t, task(" a ", 1), task("b", 1, "A", "a", " A"))
	if got := g.Tasks()[1].DependsOn; !cmp.Equal(got, []string{"a"}) {
		t.Errorf("DependsOn = %q", got)
	}
}

func TestAGraphSharesNoMemory(t *testing.T) {
	input := []Task{task("a", 1), task("b", 1, "a")}
	g := graph(t, input...)
	input[1].DependsOn[0] = "b"
	g.Tasks()[1].DependsOn[0] = "b"
	if one, _, _ := g.Task("b"); one.DependsOn[0] != "a" {
		t.Errorf("the graph changed to %q", one.DependsOn)
	}
}

func TestStates(t *testing.T) {
	g := graph(t, task("a", 1), task("b", 1, "a"))
	steps := []struct {
		name string
		do   func(string) error
		id   string
		want fault.Code
	}{
		{"complete before start", g.Complete, "a", fault.PlanState},
		{"fail before start", g.Fail, "a", fault.PlanState},
		{"start a blocked one", g.Start, "b", fault.PlanState},
		{"start an unknown one", g.Start, "z", fault.PlanUnknownDependency},
		{"start", g.Start, "A", ""},
		{"start twice", g.Start, "a", fault.PlanState},
		{"complete", g.Complete, "a", ""},
		{"complete twice", g.Complete, "a", fault.PlanImmutable},
		{"fail a completed one", g.Fail, "a", fault.PlanImmutable},
		{"start a completed one", g.Start, "a", fault.PlanImmutable},
		{"start the freed one", g.Start, "b", ""},
		{"fail", g.Fail, "b", ""},
		{"complete a failed one", g.Complete, "b", fault.PlanState},
	}
	for _, s := range steps {
		if got := fault.CodeOf(s.do(s.id)); got != s.want {
			t.Fatalf("%s: %q, want %q", s.name, got, s.want)
		}
	}
	if completed, total := g.Count(); completed != 1 || total != 2 || g.Done() {
		t.Errorf("%d of %d, done %v", completed, total, g.Done())
	}
	if got := g.Ready(); len(got) != 0 {
		t.Errorf("ready: %v", ids(got))
	}
}

// Covers: AGT-01
func TestDoneMeansEveryTask(t *testing.T) {
	g := graph(t, task("a", 1), task("b", 1))
	for _, id := range []string{"a", "b"} {
		if g.Done() {
			t.Fatalf("done before %s", id)
		}
		do(t, g, id)
	}
	if !g.Done() || (&Graph{}).Done() {
		t.Error("done is wrong at the end or for an empty graph")
	}
}

// Covers: PLN-01, PLN-03, PLN-04, AT-14, AT-15, S1-252
func TestExtend(t *testing.T) {
	cases := []struct {
		name string
		add  []Task
		on   []Dependency
		want []fault.Code
	}{
		{"nothing", nil, nil, nil},
		{"a task after a completed one", []Task{task("n", 1, "done")}, nil, nil},
		{"a dependency", nil, []Dependency{{"c", "b"}}, nil},
		{"a known dependency", nil, []Dependency{{"b", "done"}}, nil},
		{"both, in terms of each other", []Task{task("n", 1)}, []Dependency{{"b", "N"}}, nil},
		{"a completed one again", []Task{task("DONE", 1)}, nil, []fault.Code{fault.PlanImmutable}},
		{"a dependency of a completed one", nil, []Dependency{{"done", "b"}}, []fault.Code{fault.PlanImmutable}},
		{"a dependency of a running one", nil, []Dependency{{"runs", "b"}}, []fault.Code{fault.PlanState}},
		{"an unfinished one again", []Task{task("b", 1)}, nil, []fault.Code{fault.PlanDuplicate}},
		{"a cycle by a dependency", nil, []Dependency{{"b", "c"}, {"c", "b"}}, []fault.Code{fault.PlanCycle}},
		{"a cycle by a task", []Task{task("n", 1, "b")}, []Dependency{{"b", "n"}}, []fault.Code{fault.PlanCycle}},
		{"unknown ones", []Task{task("n", 1, "x")}, []Dependency{{"y", "b"}, {"b", "z"}},
			[]fault.Code{fault.PlanUnknownDependency, fault.PlanUnknownDependency, fault.PlanUnknownDependency}},
		{"too many", []Task{task("n", 1), task("m", 1)}, nil, []fault.Code{fault.PlanTooMany}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := New([]Task{task("done", 1), task("runs", 1), task("b", 1, "done"), task("c", 1)}, 5)
			if err != nil {
				t.Fatal(err)
			}
			do(t, g, "done")
			if err := g.Start("runs"); err != nil {
				t.Fatal(err)
			}
			before := g.String()
			err = g.Extend(c.add, c.on)
			if diff := cmp.Diff(c.want, codes(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
			if err != nil && g.String() != before {
				t.Errorf("a refused change left\n%sfrom\n%s", g, before)
			}
			if err == nil && len(c.add)+len(c.on) > 0 && c.name != "a known dependency" && g.String() == before {
				t.Error("an accepted change changed nothing")
			}
		})
	}
}

// Covers: PLN-03, AT-15
func TestReplaceUnfinished(t *testing.T) {
	g := graph(t, task("x", 1), task("a", 1), task("b", 1, "a"), task("c", 1, "b"))
	do(t, g, "a", "b")
	g.AddActual("b", 5, 6)
	if err := errors.Join(g.Start("c"), g.Fail("c")); err != nil {
		t.Fatal(err)
	}
	before := g.String()
	if got := codes(t, g.ReplaceUnfinished([]Task{task("B", 1)})); !cmp.Equal(got, []fault.Code{fault.PlanImmutable}) {
		t.Errorf("a completed task again: %v", got)
	}
	if got := codes(t, g.ReplaceUnfinished([]Task{task("d", 1, "x")})); !cmp.Equal(got, []fault.Code{fault.PlanUnknownDependency}) {
		t.Errorf("a dependency on a replaced task: %v", got)
	}
	if g.String() != before {
		t.Errorf("a refused re-planning left\n%s", g)
	}
	if err := g.ReplaceUnfinished([]Task{task("c", 2, "b"), task("d", 1, "c", "a")}); err != nil {
		t.Fatal(err)
	}
	want := `a completed effect=write expected=1.00 budget=128K "title of a"
b completed effect=write expected=1.00 budget=128K after=a "title of b"
c pending effect=write expected=2.00 budget=128K after=b "title of c"
d pending effect=write expected=1.00 budget=128K after=c,a "title of d"
`
	if diff := cmp.Diff(want, g.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, _ := g.Actual("b"); got.Total() != 11 {
		t.Errorf("the completed task's actual became %+v", got)
	}
	do(t, g, "c", "d")
	if !g.Done() {
		t.Error("not done")
	}
}
