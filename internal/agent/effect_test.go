package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sunaba/fault"
	"sunaba/tool"
)

// Covers: AGT-04, OLL-11, S1-106, S1-107, S1-108
func TestOnlyObservedEffectsComplete(t *testing.T) {
	read := call(tool.ReadFile, `{"path":"a"}`)
	write := call(tool.WriteFile, `{"path":"a","content":""}`)
	unchanged := func(json.RawMessage) tool.Result {
		return tool.Result{OK: true, Effects: []tool.Effect{{Kind: tool.EffectWrite, Path: "/w/a"}}}
	}
	exit := func(code int, ok bool) func(json.RawMessage) tool.Result {
		return func(json.RawMessage) tool.Result {
			r := tool.Result{OK: ok, Effects: []tool.Effect{{Kind: tool.EffectExecute, Argv0: "/bin/x", ExitCode: code}}}
			if !ok {
				r.Error = &tool.Failure{Code: fault.ExecTimeout}
			}
			return r
		}
	}
	run := call(tool.RunCommand, `{"argv":["x"]}`)
	list := call(tool.ListFiles, `{}`)
	remove := call(tool.RemovePath, `{"path":"a"}`)
	tests := []struct {
		name, effect string
		acts         []ToolCall
		result       map[string]func(json.RawMessage) tool.Result
		covered      bool
	}{
		{"nothing for none", "none", nil, nil, true},
		{"nothing for read", "read", nil, nil, false},
		{"nothing for write", "write", nil, nil, false},
		{"nothing for execute", "execute", nil, nil, false},
		{"a read for read", "read", []ToolCall{read}, nil, true},
		{"a list for read", "read", []ToolCall{list}, nil, true},
		{"a failed read for read", "read", []ToolCall{read}, map[string]func(json.RawMessage) tool.Result{tool.ReadFile: refuse(fault.FSNotFound)}, false},
		{"a read for write", "write", []ToolCall{read}, nil, false},
		{"a write for write", "write", []ToolCall{write}, nil, true},
		{"a removal for write", "write", []ToolCall{remove}, nil, true},
		{"a write that changed nothing", "write", []ToolCall{write}, map[string]func(json.RawMessage) tool.Result{tool.WriteFile: unchanged}, false},
		{"a write for read", "read", []ToolCall{write}, nil, true},
		{"a write for execute", "execute", []ToolCall{write}, nil, false},
		{"a command for execute", "execute", []ToolCall{run}, map[string]func(json.RawMessage) tool.Result{tool.RunCommand: exit(3, true)}, true},
		{"a command that was stopped", "execute", []ToolCall{run}, map[string]func(json.RawMessage) tool.Result{tool.RunCommand: exit(137, false)}, false},
		{"a command with exit 0 for write", "write", []ToolCall{run}, map[string]func(json.RawMessage) tool.Result{tool.RunCommand: exit(0, true)}, true},
		{"a command with exit 1 for write", "write", []ToolCall{run}, map[string]func(json.RawMessage) tool.Result{tool.RunCommand: exit(1, true)}, false},
		{"a command for read", "read", []ToolCall{run}, map[string]func(json.RawMessage) tool.Result{tool.RunCommand: exit(1, true)}, true},
	}
	for _, test := range tests {
		for _, claim := range []struct {
			name string
			step step
		}{{"call", calls(finish("done"))}, {"words", text("I have done it.")}} {
			t.Run(test.name+"/"+claim.name, func(t *testing.T) {
				steps := []step{planned("t1 " + test.effect)}
				if len(test.acts) > 0 {
					steps = append(steps, calls(test.acts...))
				}
				s := newStage(append(steps, claim.step)...)
				s.box.results = test.result
				o := s.run(t)
				if test.covered {
					wantEnd(t, o, "")
					return
				}
				wantEnd(t, o, fault.AgentNoEffect)
				before := len(steps)
				if n := len(s.model.requests) - before; n != DefaultRepeatedFailures {
					t.Errorf("%d claims were heard, want %d", n, DefaultRepeatedFailures)
				}
				if !strings.Contains(s.said(0), "kind "+test.effect) {
					t.Errorf("the model is not told what is missing:\n%s", s.said(0))
				}
				if diff := cmp.Diff(fault.AgentNoEffect, o.Progress.Last.Code); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Effects of one task do not complete the next one.
func TestEffectsCountFromTheTasksStart(t *testing.T) {
	s := newStage(planned("t1 write", "t2 write t1"), calls(call(tool.WriteFile, `{"path":"a","content":""}`)), calls(finish("x")))
	wantEnd(t, s.run(t), fault.AgentNoEffect)
}

// LLM-002. Covers: AGT-04
func TestAFailedLastChangeIsNamed(t *testing.T) {
	s := newStage(planned("t1 write"),
		calls(call(tool.WriteFile, `{"path":"a","content":""}`)),
		calls(call(tool.EditFile, `{"path":"b","old_string":"x","new_string":"y"}`), finish("both updated")))
	s.box.results[tool.EditFile] = refuse(fault.FSNoMatch, "path", "/w/b")
	o := s.run(t)
	wantEnd(t, o, "")
	if !strings.Contains(o.Result, "<report.failed code=fs.no_match path=b>") {
		t.Errorf("result:\n%s", o.Result)
	}
	for _, name := range tool.Catalogue() {
		if strings.Contains(o.Result, name.Name) {
			t.Errorf("the result names the internal tool %s", name.Name)
		}
	}

	s = newStage(planned("t1 write"),
		calls(call(tool.EditFile, `{"path":"b","old_string":"x","new_string":"y"}`)), calls(finish("updated")))
	s.box.results[tool.EditFile] = refuse(fault.FSNoMatch, "path", "/w/b")
	o = s.run(t)
	wantEnd(t, o, fault.AgentNoEffect)
	if !strings.Contains(o.Result, "<report.failed code=fs.no_match path=b>") || strings.Contains(o.Result, "updated") {
		t.Errorf("result:\n%s", o.Result)
	}
}

// A model that does the work and then only talks is told once to end the task.
func TestWordsEndATaskOnlyWithItsEffects(t *testing.T) {
	s := newStage(planned("t1 write"), calls(call(tool.WriteFile, `{"path":"a","content":""}`)), text("Done."), text("It is done."))
	o := s.run(t)
	wantEnd(t, o, "")
	if !strings.HasPrefix(o.Result, "It is done.") || len(s.model.requests) != 4 {
		t.Errorf("%d requests, result:\n%s", len(s.model.requests), o.Result)
	}
}

// Words between calls are not the end: only two replies of words in a row are.
func TestWordsBetweenCallsEndNothing(t *testing.T) {
	s := newStage(planned("t1 write"), calls(call(tool.WriteFile, `{"path":"a","content":""}`)), text("Now the test."),
		calls(call(tool.ListFiles, `{}`)), text("Looks good."), calls(finish("end")))
	o := s.run(t)
	wantEnd(t, o, "")
	if !strings.HasPrefix(o.Result, "end") {
		t.Errorf("result:\n%s", o.Result)
	}
}
