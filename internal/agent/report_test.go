package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/tool"
)

// Covers: S1-064
func TestReport(t *testing.T) {
	wrote := func(path string) tool.Result {
		return tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectWrite, Path: path, Changed: true}}}
	}
	removed := tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectDelete, Path: "/w/a", Changed: true}}}
	ran := func(name string, code int) tool.Result {
		return tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectExecute, Argv0: name, ExitCode: code}}}
	}
	failed := func(code fault.Code, pairs ...string) tool.Result {
		return tool.Fail(tool.InWorkspace, fault.New(code, "", pairs...))
	}
	type entry struct {
		name, where string
		r           tool.Result
	}
	tests := []struct {
		name    string
		entries []entry
		want    []string
	}{
		{"nothing", nil, nil},
		{"only reads", []entry{{tool.ReadFile, "a", tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectRead, Path: "/w/a"}}}}}, nil},
		{"a file twice", []entry{{tool.WriteFile, "a", wrote("/w/a")}, {tool.EditFile, "a", wrote("/w/a")}}, []string{"<report.changed path=a>"}},
		{"written and removed", []entry{{tool.WriteFile, "a", wrote("/w/a")}, {tool.RemovePath, "a", removed}}, []string{"<report.removed path=a>"}},
		{"outside the root", []entry{{tool.WriteFile, "", wrote("/mnt/x")}}, []string{"<report.changed path=/mnt/x>"}},
		{"beside the root", []entry{{tool.WriteFile, "", wrote("/w..x")}}, []string{"<report.changed path=/w..x>"}},
		{"commands", []entry{{tool.RunCommand, "", ran("/usr/bin/go", 1)}, {tool.RunCommand, "", ran("/usr/bin/git", 0)}, {tool.RunCommand, "", ran("/usr/bin/go", 0)}},
			[]string{"<report.commands code=0 command=go count=2>", "<report.command code=0 command=git count=1>"}},
		{"a refusal twice", []entry{{tool.WriteFile, "x", failed(fault.FSReadOnly, "path", "/w/x")}, {tool.EditFile, "x", failed(fault.FSReadOnly, "path", "/w/x")}},
			[]string{"<report.refused code=fs.read_only path=x>"}},
		{"a refusal without a path", []entry{{tool.RunCommand, "", failed(fault.ExecNotApproved)}}, []string{"<report.refused_plain code=exec.not_approved>"}},
		{"a refused alias", []entry{{tool.RunCommand, "", failed(fault.ExecUnknownAlias, "alias", "npm")}}, []string{"<report.refused code=exec.unknown_alias path=npm>"}},
		{"a failed change", []entry{{tool.EditFile, "x", failed(fault.FSNoMatch)}}, []string{"<report.failed code=fs.no_match path=x>"}},
		{"a failed change, then a read", []entry{{tool.EditFile, "x", failed(fault.FSNoMatch)}, {tool.ReadFile, "x", tool.Result{OK: true}}}, []string{"<report.failed code=fs.no_match path=x>"}},
		{"a failed change, then a good one", []entry{{tool.EditFile, "x", failed(fault.FSNoMatch)}, {tool.EditFile, "x", wrote("/w/x")}}, []string{"<report.changed path=x>"}},
		{"a failed change, then another good one", []entry{{tool.EditFile, "x", failed(fault.FSNoMatch)}, {tool.WriteFile, "y", wrote("/w/y")}},
			[]string{"<report.changed path=y>", "<report.failed code=fs.no_match path=x>"}},
		{"two failed changes", []entry{{tool.EditFile, "x", failed(fault.FSNoMatch)}, {tool.EditFile, "x", failed(fault.FSNotUnique)}, {tool.MakeDirectory, "y", failed(fault.FSExists)}},
			[]string{"<report.failed code=fs.not_unique path=x>", "<report.failed code=fs.exists path=y>"}},
		{"made good by another tool", []entry{{tool.EditFile, "./x", failed(fault.FSNoMatch, "path", "x")}, {tool.WriteFile, "x", wrote("/w/x")}}, []string{"<report.changed path=x>"}},
		{"a stopped command, then a good one", []entry{{tool.RunCommand, "", failed(fault.ExecTimeout)}, {tool.RunCommand, "", ran("/usr/bin/go", 0)}}, []string{"<report.command code=0 command=go count=1>"}},
		{"a stopped command, then a good change", []entry{{tool.RunCommand, "", failed(fault.ExecTimeout)}, {tool.WriteFile, "y", wrote("/w/y")}},
			[]string{"<report.changed path=y>", "<report.failed_plain code=exec.timeout>"}},
		{"a command that was stopped", []entry{{tool.RunCommand, "", failed(fault.ExecTimeout)}}, []string{"<report.failed_plain code=exec.timeout>"}},
		{"a failed read", []entry{{tool.ReadFile, "x", failed(fault.FSNotFound)}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p report
			for _, e := range test.entries {
				p.add(e.name, e.where, e.r)
			}
			var want string
			if len(test.want) > 0 {
				want = "<report.title>\n- " + strings.Join(test.want, "\n- ")
			}
			if diff := cmp.Diff(want, p.text(texts{}, "/w")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheReportIsBounded(t *testing.T) {
	var p report
	for i := range reportLines + 7 {
		p.changed(change{path: decimal(i)})
	}
	got := p.text(texts{}, "/w")
	if n := strings.Count(got, "\n"); n != reportLines+1 || !strings.HasSuffix(got, "<report.more count=7>") {
		t.Errorf("%d lines:\n%s", n, got)
	}
}
