package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxCatalogue is what all tools together may take of every prompt, in bytes.
const maxCatalogue = 4608

func TestCatalogueIsSmallSortedAndStable(t *testing.T) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type entry struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var tools []entry
	var names []string
	for _, s := range Catalogue() {
		tools = append(tools, entry{"function", function(s)})
		names = append(names, s.Name)
		var sc schema
		if err := json.Unmarshal(s.Parameters, &sc); err != nil || !strings.HasPrefix(string(s.Parameters), `{"type":"object",`) {
			t.Errorf("%s: parameters are not the schema of an object: %v", s.Name, err)
		}
		for _, r := range sc.Required {
			if _, ok := sc.Properties[r]; !ok {
				t.Errorf("%s requires %s, which it does not have", s.Name, r)
			}
		}
	}
	data, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tools, %d bytes", len(names), len(data))
	if len(data) > maxCatalogue {
		t.Errorf("the tools take %d bytes of every prompt, more than %d", len(data), maxCatalogue)
	}
	if len(names) != 13 || !slices.IsSorted(names) {
		t.Errorf("names %v: want 13, sorted", names)
	}
	if diff := cmp.Diff(Catalogue(), Catalogue()); diff != "" {
		t.Error("two calls differ:", diff)
	}
}

func TestBuiltinFitsCatalogue(t *testing.T) {
	b := newBox(t, nil)
	want := slices.DeleteFunc(Catalogue(), func(s Spec) bool { return s.Name == UpdatePlan || s.Name == FinishTask })
	if diff := cmp.Diff(want, b.reg.Specs()); diff != "" {
		t.Errorf("the registry differs from the catalogue (-catalogue +registry):\n%s", diff)
	}
}

func TestUnknownToolNamesTheOthers(t *testing.T) {
	b := newBox(t, nil)
	r := b.refused("read_flie", nil, "tool.unknown", "near")
	if r.Error.Args["nearest"] != ReadFile || !strings.Contains(r.Error.Args["known"], SearchFile) || r.Scope != NoScope {
		t.Errorf("%v", r)
	}
	b.refused("", nil, "tool.unknown")
	b.refused("delete_everything_now", nil, "tool.unknown")
}
