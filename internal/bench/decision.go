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

// decisions measures scope and audit against what any file tool does anyway.
func (s *stage) decisions(context.Context) ([]figure, error) {
	const rounds, times = 15, 1000
	var out []figure
	missing := filepath.Join(s.dir, "project", "a", "b", "c.go")
	lstat := func() error {
		if _, err := os.Lstat(missing); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	for _, n := range []int{10, 1000, 100_000} {
		rules, err := manyRules(n)
		if err != nil {
			return nil, err
		}
		decide := func() error {
			if rules.CapabilityAt("/p/d1/e1/elsewhere/x.go") == 0 {
				return errors.New("the path is not allowed")
			}
			return nil
		}
		ours, floor, err := inTurns(rounds, each(times, decide), each(times, lstat))
		if err != nil {
			return nil, err
		}
		out = append(out, figure{fmt.Sprintf("one decision of %d rules", n), ours, floor, "one lstat", ""})
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
func manyRules(n int) (*scope.Scope, error) {
	allow := []scope.Rule{
		{Target: "/p", Permission: scope.Write, Recursive: true},
		{Target: "/q", Permission: scope.Read, Recursive: true},
	}
	var deny []scope.Rule
	for i := range n - len(allow) {
		deny = append(deny, scope.Rule{
			Target: fmt.Sprintf("/p/d%d/e%d/f%d", i%97, i%1009, i), Permission: scope.Read, Recursive: true,
		})
	}
	return scope.New(allow, deny)
}
