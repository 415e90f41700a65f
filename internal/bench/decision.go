package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sunaba/internal/audit"
	"sunaba/scope"
)

// deep is a path at depth 8 that the rules of manyRules know the way to.
const deep = "/p/d1/e1/a/b/c/d/x.go"

// decisions measures scope against a scan of all rules, and the audit against a
// plain write.
func (s *stage) decisions(context.Context) ([]figure, error) {
	const rounds, times = 15, 1000
	var out []figure
	for _, n := range []int{10, 1000, 100_000} {
		allow, deny := manyRules(n)
		rules, err := scope.New(allow, deny)
		if err != nil {
			return nil, err
		}
		decide := func() error {
			if rules.PermissionAt(deep) != scope.Write {
				return errors.New("the index decides wrongly")
			}
			return nil
		}
		linear := func() error {
			if scan(allow, deny, deep) != scope.Write {
				return errors.New("the scan decides wrongly")
			}
			return nil
		}
		ours, floor, err := inTurns(rounds, each(times, decide), each(max(1, 50*times/n), linear))
		if err != nil {
			return nil, err
		}
		out = append(out, figure{fmt.Sprintf("one decision of %d rules", n), ours, floor, "a scan of all rules", "ours <= 300 ns"})
	}

	file, err := os.OpenFile(filepath.Join(s.dir, "floor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	line := []byte(strings.Repeat("x", 420) + "\n")
	ours, floor, err := inTurns(rounds,
		each(times, func() error {
			return s.audit.Append(audit.Record{
				Event: "tool.call", SessionID: "01980000-0000-7000-8000-000000000000", TaskID: "01980000-0000-7000-8000-000000000001",
				PlanTask: "t1", Tool: "run_command", Digest: strings.Repeat("0", 64), Argv0: "/usr/bin/true",
			})
		}),
		each(times, func() error { _, err := file.Write(line); return err }))
	return append(out, figure{"one audit record", ours, floor, "one write of as many bytes", ""}), err
}

// manyRules are n rules as a large project might have them.
func manyRules(n int) (allow, deny []scope.Rule) {
	allow = []scope.Rule{
		{Target: "/p", Permission: scope.Write, Recursive: true},
		{Target: "/q", Permission: scope.Read, Recursive: true},
	}
	for i := range n - len(allow) {
		deny = append(deny, scope.Rule{
			Target: fmt.Sprintf("/p/d%d/e%d/f%d", i%97, i%1009, i), Permission: scope.Read, Recursive: true,
		})
	}
	return allow, deny
}

// scan decides as the document reads: the highest allow, capped by the lowest
// deny.
func scan(allow, deny []scope.Rule, path string) scope.Permission {
	covers := func(r scope.Rule) bool {
		rest, beneath := strings.CutPrefix(path, r.Target)
		return beneath && (rest == "" || rest[0] == '/' && (r.Recursive || !strings.Contains(rest[1:], "/")))
	}
	best := scope.None
	for _, r := range allow {
		if covers(r) {
			best = max(best, r.Permission)
		}
	}
	for _, r := range deny {
		if covers(r) {
			best = min(best, r.Permission-1)
		}
	}
	return best
}
