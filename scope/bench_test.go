package scope

import (
	"fmt"
	"testing"
)

// many makes n rules as a large project might have them: two trees allowed,
// the rest denied files at several depths.
func many(n int) rules {
	rs := rules{allow: []Rule{rule("/p", Write), rule("/q", Read)}}
	for i := range n - 2 {
		rs.deny = append(rs.deny, rule(fmt.Sprintf("/p/d%d/e%d/f%d/g/h/i/j", i%97, i%1009, i), Read))
	}
	return rs
}

// deep is eight steps down, all of them through the index: a rule of many has
// its target right beside it.
const deep = "/p/d1/e1/f1/g/h/i/x.go"

func TestADecisionAllocatesNothing(t *testing.T) {
	s := compile(t, many(1000))
	path := abs(deep)
	if got := testing.AllocsPerRun(100, func() { s.CapabilityAt(path) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		rs := many(n)
		s := compile(b, rs)
		b.Run(fmt.Sprintf("indexed/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.PermissionAt(abs(deep))
			}
		})
		b.Run(fmt.Sprintf("linear/%d", n), func(b *testing.B) {
			for b.Loop() {
				rs.permission(abs(deep))
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	rs := many(1000)
	for b.Loop() {
		compile(b, rs)
	}
}
