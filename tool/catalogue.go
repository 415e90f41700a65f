package tool

import (
	"encoding/json"
	"slices"
	"strings"
)

// The names of the tools (CONTRACT §3).
const (
	ReadFile      = "read_file"
	WriteFile     = "write_file"
	EditFile      = "edit_file"
	ListFiles     = "list_files"
	InspectFile   = "inspect_file"
	MakeDirectory = "make_directory"
	RemovePath    = "remove_path"
	MoveFile      = "move_file"
	FindFiles     = "find_files"
	SearchFile    = "search_file"
	RunCommand    = "run_command"
	UpdatePlan    = "update_plan" // called in the broker, by the agent
	FinishTask    = "finish_task" // called in the broker, by the agent
)

// Catalogue returns what the model is told of every tool, sorted by name. The
// bytes never change within a build, so that the server's prompt cache holds;
// all of it together is at most 4.5 KiB, because it is sent with every turn.
func Catalogue() []Spec {
	specs := []Spec{
		spec(ReadFile, "Read a text file; lines are numbered. output:<id> reads on in elided command output.",
			`"path":{"type":"string"},"offset":{"type":"integer","description":"first line, from 1"},"limit":{"type":"integer"},"tail":{"type":"integer","description":"only the last N lines"}`, "path"),
		spec(WriteFile, "Create a file or replace all of it; parents are made. Read an existing file first.",
			`"path":{"type":"string"},"content":{"type":"string"}`, "path", "content"),
		spec(EditFile, "Replace exact text in a file. old_string must occur once, unless replace_all.",
			`"path":{"type":"string"},"old_string":{"type":"string","description":"without line numbers"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}`, "path", "old_string", "new_string"),
		spec(ListFiles, "List a directory.",
			`"path":{"type":"string"}`),
		spec(InspectFile, "Type, size, mode, time, encoding, line count and SHA-256 of a path.",
			`"path":{"type":"string"}`, "path"),
		spec(MakeDirectory, "Make a directory and its parents.",
			`"path":{"type":"string"}`, "path"),
		spec(RemovePath, "Remove a file or an empty directory.",
			`"path":{"type":"string"}`, "path"),
		spec(MoveFile, "Move or rename; the destination must not exist.",
			`"from":{"type":"string"},"to":{"type":"string"}`, "from", "to"),
		spec(FindFiles, "Find files by name, newest first. Globs: **, {a,b}. Skips what .gitignore names.",
			`"pattern":{"type":"string","description":"such as **/*.go"},"path":{"type":"string"},"no_ignore":{"type":"boolean"}`, "pattern"),
		spec(SearchFile, "Search file contents by RE2 expression.",
			`"pattern":{"type":"string"},"path":{"type":"string"},"include":{"type":"string","description":"glob of file names"},"case_insensitive":{"type":"boolean"},"context":{"type":"integer","description":"lines around a match"},"mode":{"type":"string","enum":["content","files","count"]},"no_ignore":{"type":"boolean"}`, "pattern"),
		spec(RunCommand, "Run a program, without a shell: argv is [alias or path with a slash, arguments…]. Or give command, a line for the approved shell. Nobody answers prompts.",
			`"argv":{"type":"array","items":{"type":"string"}},"command":{"type":"string"},"working_dir":{"type":"string"},"timeout_seconds":{"type":"integer"},"stdin":{"type":"string"}`),
		spec(UpdatePlan, "Add tasks or dependencies to the plan.",
			`"add":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"instructions":{"type":"string"},"depends_on":{"type":"array","items":{"type":"string"}},"effect":{"type":"string","enum":["none","read","write","execute"]}},"required":["id","title","instructions","effect"]}},"depend":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"on":{"type":"string"}},"required":["id","on"]}}`),
		spec(FinishTask, "End the current task, after its effects are done.",
			`"summary":{"type":"string"},"outcome":{"type":"string","enum":["done","failed"]}`, "summary", "outcome"),
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

func spec(name, description, properties string, required ...string) Spec {
	schema := `{"type":"object","properties":{` + properties + `}`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return Spec{Name: name, Description: description, Parameters: json.RawMessage(schema + `}`)}
}

// specOf returns the catalogue's spec of name; an unknown one is a programmer's
// mistake.
func specOf(name string) Spec {
	for _, s := range Catalogue() {
		if s.Name == name {
			return s
		}
	}
	panic("tool: not in the catalogue: " + name)
}
