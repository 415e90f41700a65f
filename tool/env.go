package tool

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"sunaba/fault"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/scopedfs"
)

// Runner starts commands; sandbox.Runner is one.
type Runner interface {
	Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error)
}

// Limits bound what a tool sends to the model (S1-112). It travels to the
// Worker as JSON. A value of 0 or less stands for its default.
type Limits struct {
	ReadLines    int   `json:"read_lines"`    // lines of one read_file
	ReadBytes    int   `json:"read_bytes"`    // bytes of one read_file or search_file
	Entries      int   `json:"entries"`       // names of one list_files or find_files
	Matches      int   `json:"matches"`       // matches of one search_file
	CommandLines int   `json:"command_lines"` // lines of one run_command
	CommandBytes int   `json:"command_bytes"` // bytes of one run_command
	EditBytes    int64 `json:"edit_bytes"`    // size of a file that is held in memory to edit it
}

// DefaultLimits returns the defaults of agent.results and edit_memory_limit.
func DefaultLimits() Limits {
	return Limits{ReadLines: 2000, ReadBytes: 16 << 10, Entries: 1000, Matches: 250,
		CommandLines: 80, CommandBytes: 12 << 10, EditBytes: 8 << 20}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	for _, v := range []struct{ have, otherwise *int }{
		{&l.ReadLines, &d.ReadLines}, {&l.ReadBytes, &d.ReadBytes}, {&l.Entries, &d.Entries},
		{&l.Matches, &d.Matches}, {&l.CommandLines, &d.CommandLines}, {&l.CommandBytes, &d.CommandBytes},
	} {
		if *v.have <= 0 {
			*v.have = *v.otherwise
		}
	}
	if l.EditBytes <= 0 {
		l.EditBytes = d.EditBytes
	}
	return l
}

// Env is what the built-in tools act on: one for each Task. FS is required.
type Env struct {
	FS *scopedfs.FS
	// Tracker remembers what was read; nil: a fresh one.
	Tracker *scopedfs.Tracker
	// Runner starts commands; nil refuses run_command.
	Runner Runner
	// Policy is what run_command classifies by, and what tells the workspace
	// from the outside; nil labels every result none and approves no executable.
	Policy *policy.Effective
	Limits Limits
	// MayOverwriteUnread turns off the rule that an existing file must have
	// been read before write_file replaces it (C-50).
	MayOverwriteUnread bool
	// Outputs keeps elided command output; nil: a fresh store.
	Outputs *Outputs
	// Unlisted are paths that listings and searches leave out: what stands there
	// is the sandbox's, not the person's. They are judged like all others.
	Unlisted []string
}

// Builtin returns the tools that act on files and commands, in no particular
// order. update_plan and finish_task act on the plan and are not among them.
func Builtin(env Env) []Tool {
	e := &env
	e.Limits = e.Limits.orDefault()
	if e.Tracker == nil {
		e.Tracker = new(scopedfs.Tracker)
	}
	if e.Outputs == nil {
		e.Outputs = new(Outputs)
	}
	return []Tool{
		bind(ReadFile, e.readFile),
		bind(WriteFile, e.writeFile),
		bind(EditFile, e.editFile),
		bind(ListFiles, e.listFiles),
		bind(InspectFile, e.inspectFile),
		bind(MakeDirectory, e.makeDirectory),
		bind(RemovePath, e.removePath),
		bind(MoveFile, e.moveFile),
		bind(FindFiles, e.findFiles),
		bind(SearchFile, e.searchFile),
		bind(RunCommand, e.runCommand),
	}
}

// bound is a built-in tool: a spec and a function over its typed arguments.
type bound[A any] struct {
	spec Spec
	call func(context.Context, A) Result
}

func bind[A any](name string, call func(context.Context, A) Result) Tool {
	return bound[A]{specOf(name), call}
}

func (b bound[A]) Spec() Spec { return b.spec }

func (b bound[A]) Call(ctx context.Context, raw json.RawMessage) Result {
	if err := ctx.Err(); err != nil {
		return Fail(NoScope, fault.Wrap(err, fault.AgentCancelled, b.spec.Name))
	}
	var args A
	if err := json.Unmarshal(raw, &args); err != nil {
		return Fail(NoScope, fault.Wrap(err, fault.ToolArguments, b.spec.Name, "tool", b.spec.Name))
	}
	return b.call(ctx, args)
}

// pathArgs are the arguments of a tool that takes one path.
type pathArgs struct {
	Path string `json:"path"`
}

// orHere returns the working directory's name for an empty path.
func orHere(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// label says where p lies. Mounts count as workspace (C-80).
func (e *Env) label(p scopedfs.Path) Label {
	if e.Policy == nil {
		return NoScope
	}
	for _, r := range e.Policy.Roots {
		if (r.Kind == policy.RootWorkspace || r.Kind == policy.RootMount) && within(p.Canonical, r.Path) {
			return InWorkspace
		}
	}
	return OutsideWorkspace
}

// fail makes the Result of a refused or failed act on a path.
func (e *Env) fail(err error) Result {
	f := AsFault(err)
	if f.Code == fault.FSNotFound && f.Args["similar"] != "" {
		args := maps.Clone(f.Args)
		args[Case] = "similar"
		f = &fault.Error{Code: f.Code, Op: f.Op, Args: args, Err: f.Err}
	}
	switch {
	case f.Code == fault.FSOutsideWorkspace || f.Code == fault.ExecNotApproved || f.Code.Family() == "approval":
		return Fail(OutsideWorkspace, f)
	case e.Policy == nil || f.Code == fault.FSPathTraversal || f.Code.Family() == "tool":
		return Fail(NoScope, f)
	}
	return Fail(InWorkspace, f)
}

// within reports whether path is dir or beneath it; both are absolute and clean.
func within(path, dir string) bool {
	if dir == "" {
		return false
	}
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || dir[len(dir)-1] == filepath.Separator)
}
