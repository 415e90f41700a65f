package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	const (
		pass  = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}` + "\n"
		whole = `{"Action":"pass","Package":"p","Elapsed":1.25}` + "\n"
		skip  = `{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs luck\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
`
		fail = `{"Action":"output","Package":"p","Test":"TestC","Output":"--- FAIL: TestC\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
`
		built = `{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
`
		unfinished = `{"Action":"output","Package":"p","Test":"TestD","Output":"panic: no\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\n"}
{"Action":"fail","Package":"p"}
`
		empty = `{"Action":"skip","Package":"without tests"}` + "\n"
	)
	const ok = "ok    p                                   1.2 s\n"
	for _, c := range []struct {
		name, in string
		ok       bool
		want     string
	}{
		{"passed", pass + whole + empty, true, ok + "1 passed, 0 failed, 0 skipped\n"},
		{"nothing ran", empty, false, "0 passed, 0 failed, 0 skipped\n"},
		{"failed", pass + fail, false, "--- FAIL: TestC\n1 passed, 1 failed, 0 skipped\n"},
		{"not built", pass + built, false, "q.go:1: no\nFAIL  q\nFAIL  q\n1 passed, 0 failed, 0 skipped\n"},
		{"expected skip", pass + skip, true, "skip  p TestB: b_test.go:3: needs luck\n1 passed, 0 failed, 1 skipped\n"},
		{"unexpected skip", pass + strings.ReplaceAll(skip, "TestB", "TestZ"), false,
			"UNEXPECTED skip  p TestZ: b_test.go:3: needs luck\n1 passed, 0 failed, 1 skipped\n"},
		{"unfinished", pass + unfinished, false, "panic: no\nFAIL\tp\nFAIL  p\n1 passed, 1 failed, 0 skipped\n"},
		{"foreign line", "panic\n" + pass, true, "panic\n1 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := report(strings.NewReader(c.in), &out, func(s string) bool { return s == "p TestB" })
			if err != nil || ok != c.ok {
				t.Error(ok, err)
			}
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSkips(t *testing.T) {
	expected, err := parseSkips("# a list\n\nroot p TestA # reason\nuser p TestB\nany q TestC/sub#1 # reason\n", "root")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"p TestA": true, "p TestB": false, "q TestC/sub#1": true, "p TestC/sub": false} {
		if got := expected(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := parseSkips("root p", "root"); err == nil {
		t.Error("a line of two words was taken")
	}
}
