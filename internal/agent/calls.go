package agent

import (
	"strings"

	"sunaba/tool"
)

// schemaPreview bounds how much of a tool's schema follows a complaint.
const schemaPreview = 700

// specs are the tools of one Task, in their fixed order.
type specs []tool.Spec

func (s specs) find(name string) (tool.Spec, bool) {
	for _, t := range s {
		if t.Name == name {
			return t, true
		}
	}
	return tool.Spec{}, false
}

func (s specs) names() string {
	names := make([]string, len(s))
	for i, t := range s {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// preview is the beginning of the schema of name, or the list of tools.
func (s specs) preview(name string) string {
	t, ok := s.find(name)
	if !ok {
		return "The tools are: " + s.names() + "."
	}
	p := string(t.Parameters)
	if len(p) > schemaPreview {
		p = p[:schemaPreview] + "…"
	}
	return "Arguments of " + name + ": " + p
}

// reads reports whether a tool only looks. Every other name, known or not, is
// taken to change something.
func reads(name string) bool {
	switch name {
	case tool.ReadFile, tool.ListFiles, tool.InspectFile, tool.FindFiles, tool.SearchFile:
		return true
	}
	return false
}
