package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
)

// Covers: S1-114, S1-115, S1-116, S1-117, S1-118, S1-119, S1-120, S1-121
func TestBudgetClasses(t *testing.T) {
	want := map[string]int{"1K": 1024, "2K": 2048, "4K": 4096, "8K": 8192, "16K": 16384, "32K": 32768, "64K": 65536, "128K": 131072}
	if len(Budgets()) != len(want) {
		t.Fatalf("%d classes", len(Budgets()))
	}
	for name, tokens := range want {
		var b Budget
		if err := b.UnmarshalText([]byte(name)); err != nil || int(b) != tokens {
			t.Errorf("%s: %d, %v", name, b, err)
		}
		if text, err := b.MarshalText(); err != nil || string(text) != name {
			t.Errorf("%d is written %q, %v", b, text, err)
		}
	}
	for _, name := range []string{"", "3K", "4k", " 4K", "4096", "256K", "0K"} {
		if b, err := ParseBudget(name); b != 0 || fault.CodeOf(err) != fault.PlanValue {
			t.Errorf("%q: %d, %v", name, b, err)
		}
	}
	if _, err := Budget(3000).MarshalText(); fault.CodeOf(err) != fault.PlanValue {
		t.Errorf("3000 was written: %v", err)
	}
}

// Covers: S1-125, AT-16, C-55
func TestExpected(t *testing.T) {
	for _, c := range []struct {
		o, m, p int
		want    string
	}{
		{1, 1, 1, "1.00"},
		{400, 900, 2500, "1083.33"},
		{1, 2, 5, "2.33"},
		{1, 1, 2, "1.17"}, // 7/6 = 1.1666…
		{1, 1, 4, "1.50"},
		{1, 2, 4, "2.17"},
		{1000, 1200, 1607, "1234.50"},
		{131072, 131072, 131072, "131072.00"},
	} {
		one := Task{Optimistic: c.o, MostLikely: c.m, Pessimistic: c.p}
		if got := one.Expected(); got.String() != c.want || int(got) != c.o+4*c.m+c.p {
			t.Errorf("%+v: %s (%d sixths)", c, got, got)
		}
	}
}

// Covers: S1-122, S1-128, S1-129, AT-17, C-74
func TestActualTokens(t *testing.T) {
	one := task("a", 1)
	one.Budget = 1 << 10
	g := graph(t, one, task("b", 1))
	if got := g.TotalBudget(); got != 129<<10 {
		t.Errorf("total budget %d", got)
	}
	for _, c := range []struct {
		input, output int
		want          Tokens
		over          bool
	}{
		{1000, 20, Tokens{1000, 20}, false},
		{4, 0, Tokens{1004, 20}, false},
		{0, 1, Tokens{1004, 21}, true},
	} {
		g.AddActual(" A", c.input, c.output)
		got, over := g.Actual("a")
		if got != c.want || over != c.over || got.Total() != c.want.Input+c.want.Output {
			t.Errorf("after %d + %d: %+v, over %v", c.input, c.output, got, over)
		}
	}
	// An overrun stops nothing (C-74).
	do(t, g, "a")
	g.AddActual("z", 1, 1)
	if got, over := g.Actual("z"); got != (Tokens{}) || over {
		t.Errorf("an unknown task used %+v", got)
	}
}

// Covers: S1-126, PLN-05, C-55
func TestCriticalPath(t *testing.T) {
	cases := []struct {
		name  string
		tasks []Task
		want  []string
	}{
		{"one", []Task{task("a", 1)}, []string{"a"}},
		{"the dearest chain, not the longest", []Task{task("a", 1), task("b", 1, "a"), task("c", 1, "b"), task("d", 9, "a")}, []string{"a", "d"}},
		{"a lone dear one", []Task{task("a", 2), task("b", 2, "a"), task("c", 5)}, []string{"c"}},
		{"ties by insertion at the start", []Task{task("a", 2), task("b", 2)}, []string{"a"}},
		{"ties by insertion on the way", []Task{task("z", 1), task("y", 2, "z"), task("x", 2, "z")}, []string{"z", "y"}},
		{"written backwards", []Task{task("c", 1, "b"), task("b", 1, "a"), task("a", 1)}, []string{"a", "b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := graph(t, c.tasks...)
			got := g.CriticalPath()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var sum Cost
			for _, id := range got {
				sum += g.Expected(id)
			}
			if g.CriticalCost() != sum {
				t.Errorf("the path costs %s, CriticalCost is %s", sum, g.CriticalCost())
			}
		})
	}
	g := graph(t, task("a", 3), task("b", 2))
	if err := g.Extend([]Task{task("c", 2, "b")}, nil); err != nil {
		t.Fatal(err)
	}
	if got := g.CriticalPath(); !cmp.Equal(got, []string{"b", "c"}) {
		t.Errorf("not computed again after a change: %v", got)
	}
}

func TestReadyFollowsTheCriticalPath(t *testing.T) {
	g := graph(t, task("small", 1), task("root", 1), task("big", 9, "root"), task("mid", 4), task("mid2", 4))
	for _, want := range [][]string{
		{"root", "mid", "mid2", "small"},
		{"big", "mid", "mid2", "small"},
		{"mid", "mid2", "small"},
	} {
		got := g.Ready()
		if diff := cmp.Diff(want, ids(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		do(t, g, got[0].ID)
	}
}

func TestEffectCovers(t *testing.T) {
	order := []Effect{None, Read, Write, Execute}
	for i, has := range order {
		for j, want := range order {
			if got := has.Covers(want); got != (i >= j) {
				t.Errorf("%s covers %s: %v", has, want, got)
			}
		}
		if has.Covers("") || Effect("").Covers(has) || has.Covers("delete") || Effect("delete").Covers(has) {
			t.Errorf("an unknown effect passes against %s", has)
		}
	}
}

func TestSingle(t *testing.T) {
	for _, c := range []struct{ request, title string }{
		{"print the first line of README.md", "print the first line of README.md"}, // PLAN-004: one task
		{"\n \n  two\twords \x00here\nmore", "two words here"},
		{"", "t1"},
		{string(make([]rune, 300)) + "あ", "あ"},
	} {
		tasks := Single(c.request)
		if len(tasks) != 1 || tasks[0].Title != c.title || tasks[0].Instructions != c.request {
			t.Errorf("%q: %+v", c.request, tasks)
		}
		if _, err := New(tasks, 1); err != nil {
			t.Errorf("%q: %v", c.request, err)
		}
		if !Read.Covers(tasks[0].Effect) || None.Covers(tasks[0].Effect) {
			t.Errorf("%q demands %s", c.request, tasks[0].Effect)
		}
	}
	long := Single(strings.Repeat("x", 500))[0].Title
	if n := len([]rune(long)); n != titleLength {
		t.Errorf("a title of %d characters", n)
	}
}
