package pod

import (
	"context"
	"encoding/json"
	"maps"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/scopedfs"
	"sunaba/tool"
)

// The tools of every Pod (C-51). Their arguments are those of the tools they
// are made of; file_path and directory stand for path. Glob and Grep search the
// working directory unless a path is given (S0-55, S0-86).
const (
	Read  = "Read"
	Write = "Write"
	Edit  = "Edit"
	Glob  = "Glob"
	Grep  = "Grep"
)

// made tells what each tool is made of and how the model is told of it.
var made = []struct{ name, from, description string }{
	{Read, tool.ReadFile, "Read a text file; lines are numbered."},
	{Write, tool.WriteFile, "Create a file or replace all of it; parents are made. Read an existing file first."},
	{Edit, tool.EditFile, "Replace exact text in a file. old_string must occur once, unless replace_all."},
	{Glob, tool.FindFiles, "Find files by name beneath path (default: the working directory), newest first. Globs: **, {a,b}. Skips what .gitignore names."},
	{Grep, tool.SearchFile, "Search file contents beneath path (default: the working directory) by RE2 expression."},
}

// toolsOf returns the five tools over fs, and those the Worker adds before
// them: of two with one name the last stays. There is no way not to have them
// (S0-58..60).
func toolsOf(fs *scopedfs.FS, w *Worker) *tool.Registry {
	// Without a policy there is no workspace, so that results are labelled none
	// (C-06).
	env := tool.Env{FS: fs, Tracker: new(scopedfs.Tracker), Limits: w.limits}
	all := tool.NewRegistry(tool.Builtin(env)...)
	tools := w.extra[:len(w.extra):len(w.extra)]
	for _, m := range made {
		for _, s := range all.Specs() {
			if s.Name == m.from {
				tools = append(tools, renamed{all, s, tool.Spec{Name: m.name, Description: m.description, Parameters: s.Parameters}})
			}
		}
	}
	return tool.NewRegistry(tools...)
}

// renamed is a built-in tool under the name it has in a Pod.
type renamed struct {
	all      *tool.Registry
	from, to tool.Spec
}

func (t renamed) Spec() tool.Spec { return t.to }

func (t renamed) Call(ctx context.Context, args json.RawMessage) tool.Result {
	r := t.all.Call(ctx, t.from.Name, args)
	if r.Error != nil && r.Error.Args["tool"] == t.from.Name {
		facts := maps.Clone(r.Error.Args)
		facts["tool"] = t.to.Name
		r.Error = &tool.Failure{Code: r.Error.Code, Args: facts}
	}
	return r
}

// names finds the names of the tools a hint may speak of, but not as parts of
// paths or longer words.
var names = pattern.Lazy(`(^|[^\w./\\-])(read_file|write_file|edit_file|find_files|search_file)($|[^\w./\\-]|\.$|\. )`)

// inPod are texts in which hints name the tools as a Pod does.
type inPod struct{ tool.Texts }

func (t inPod) Fault(code fault.Code, args fault.Args) (message, hint string) {
	message, hint = t.Texts.Fault(code, args)
	return message, names().ReplaceAllStringFunc(hint, func(found string) string {
		parts := names().FindStringSubmatch(found)
		for _, m := range made {
			if m.from == parts[2] {
				return parts[1] + m.name + parts[3]
			}
		}
		return found
	})
}
