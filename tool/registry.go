package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/suggest"
)

// Registry holds tools by their names. It does not change once made and is
// safe for concurrent use as far as its tools are.
type Registry struct {
	byName map[string]Tool
	specs  []Spec // sorted by name
}

// NewRegistry returns a Registry of tools; of two with the same name the last
// one stays.
func NewRegistry(tools ...Tool) *Registry {
	r := &Registry{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		r.byName[t.Spec().Name] = t
	}
	for _, t := range r.byName {
		r.specs = append(r.specs, t.Spec())
	}
	slices.SortFunc(r.specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return r
}

// Specs returns the specs of all tools, sorted by name; the bytes are stable.
func (r *Registry) Specs() []Spec { return slices.Clone(r.specs) }

// Call runs the tool called name with what the model sent as arguments. An
// unknown name is tool.unknown and names the tools there are.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) Result {
	t, ok := r.byName[name]
	if !ok {
		names := make([]string, len(r.specs))
		for i, s := range r.specs {
			names[i] = s.Name
		}
		pairs := []string{"name", clip(name), "known", strings.Join(names, ", ")}
		if near := suggest.Nearest(name, names); near != "" {
			pairs = append(pairs, Case, "near", "nearest", near)
		}
		return Fail(NoScope, fault.New(fault.ToolUnknown, name, pairs...))
	}
	fitted, err := Arguments(t.Spec(), args)
	if err != nil {
		return Fail(NoScope, err)
	}
	return t.Call(ctx, fitted)
}
