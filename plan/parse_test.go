package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"sunaba/fault"
)

// answer writes a planner's answer with one valid task, changed by pairs of
// old and new text.
func answer(pairs ...string) []byte {
	text := `{"tasks":[{"id":"t1","title":"T","instructions":"do it","depends_on":[],"effect":"write",
 "optimistic_tokens":400,"most_likely_tokens":900,"pessimistic_tokens":2500,"token_budget":"4K"}],
 "skills":["pdf"]}`
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("the answer does not hold " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return []byte(text)
}

// Covers: S1-123, NFR-02
func TestParse(t *testing.T) {
	want := Answer{
		Tasks: []Task{{ID: "t1", Title: "T", Instructions: "do it", DependsOn: []string{}, Effect: Write,
			Optimistic: 400, MostLikely: 900, Pessimistic: 2500, Budget: 4096}},
		Skills: []string{"pdf"},
	}
	got, err := Parse(answer())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	want.Skills = nil
	got, err = Parse(answer(",\n \"skills\":[\"pdf\"]", "", `"depends_on":[],`, ""))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("without the optional keys: %v (-want +got):\n%s", err, diff)
	}
}

func TestParseRefuses(t *testing.T) {
	type problem struct {
		code fault.Code
		at   string
	}
	cases := []struct {
		name  string
		text  []byte
		wants []problem
	}{
		{"nothing", nil, []problem{{fault.PlanInvalid, ""}}},
		{"prose", []byte("Sure! Here is the plan."), []problem{{fault.PlanInvalid, ""}}},
		{"cut short", answer()[:90], []problem{{fault.PlanInvalid, ""}}},
		{"something after it", append(answer(), " {}"...), []problem{{fault.PlanInvalid, ""}}},
		{"an array", []byte(`[]`), []problem{{fault.PlanInvalid, ""}}},
		{"null", []byte(`null`), []problem{{fault.PlanInvalid, ""}}},
		{"no tasks", []byte(`{"skills":[]}`), []problem{{fault.PlanMissing, "tasks"}}},
		{"empty tasks", []byte(`{"tasks":[]}`), []problem{{fault.PlanMissing, "tasks"}}},
		{"tasks of another kind", []byte(`{"tasks":{}}`), []problem{{fault.PlanValue, "tasks"}}},
		{"a task of another kind", []byte(`{"tasks":["t1"]}`), []problem{{fault.PlanValue, "tasks[0]"}}},
		{"unknown keys", answer(`"skills"`, `"notes":1,"Skills"`, `"title"`, `"Title":"x","title"`),
			[]problem{{fault.PlanUnknownKey, "notes"}, {fault.PlanUnknownKey, "Skills"}, {fault.PlanUnknownKey, "tasks[0].Title"}}},
		{"a repeated key", answer(`"title"`, `"id":"t2","title"`), []problem{{fault.PlanDuplicate, "tasks[0].id"}}},
		{"tasks twice", answer(`"skills":["pdf"]`, `"tasks":[]`), []problem{{fault.PlanDuplicate, "tasks"}}},
		{"missing keys", answer(`"id":"t1",`, "", `"effect":"write",`, "", `"token_budget":"4K"`, `"optimistic_tokens":1`),
			[]problem{{fault.PlanDuplicate, "tasks[0].optimistic_tokens"}, {fault.PlanMissing, "tasks[0].id"}, {fault.PlanMissing, "tasks[0].effect"}, {fault.PlanMissing, "tasks[0].token_budget"}}},
		{"an empty id", answer(`"t1"`, `" "`), []problem{{fault.PlanMissing, "tasks[0].id"}}},
		{"an id that is a number", answer(`"t1"`, `1`), []problem{{fault.PlanValue, "tasks[0].id"}}},
		{"numbers of another kind", answer(`400`, `"400"`, `900`, `900.5`, `2500`, `null`),
			[]problem{{fault.PlanValue, "tasks[0].optimistic_tokens"}, {fault.PlanValue, "tasks[0].most_likely_tokens"}, {fault.PlanValue, "tasks[0].pessimistic_tokens"}}},
		{"a number too large for any machine", answer(`2500`, `99999999999999999999`), []problem{{fault.PlanValue, "tasks[0].pessimistic_tokens"}}},
		{"estimates that do not fit", answer(`900`, `300`), []problem{{fault.PlanEstimate, ""}}},
		{"unknown words", answer(`"write"`, `"delete"`, `"4K"`, `"5K"`), []problem{{fault.PlanValue, "tasks[0].effect"}, {fault.PlanValue, "tasks[0].token_budget"}}},
		{"a long title", answer(`"T"`, fmt.Sprintf("%q", strings.Repeat("あ", titleLength+1))), []problem{{fault.PlanValue, "tasks[0].title"}}},
		{"dependencies of another kind", answer(`"depends_on":[]`, `"depends_on":"t1"`), []problem{{fault.PlanValue, "tasks[0].depends_on"}}},
		{"a dependency of another kind", answer(`"depends_on":[]`, `"depends_on":[1]`), []problem{{fault.PlanValue, "tasks[0].depends_on[0]"}}},
		{"an unknown dependency and a bad skill", answer(`"depends_on":[]`, `"depends_on":["t9"]`, `"pdf"`, `{}`),
			[]problem{{fault.PlanValue, "skills[0]"}, {fault.PlanUnknownDependency, ""}}},
		{"too many skills", answer(`"pdf"`, `"a","b","c","d","e","f","g","h","i"`), []problem{{fault.PlanValue, "skills"}}},
		{"a cycle", answer(`"depends_on":[]`, `"depends_on":["T1"]`), []problem{{fault.PlanCycle, ""}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Parse(c.text)
			codes(t, err)
			e, ok := errors.AsType[*Error](err)
			if !ok || a.Tasks != nil {
				t.Fatalf("accepted: %+v, %v", a, err)
			}
			var got []problem
			for _, p := range e.Problems() {
				at := p.Args["at"]
				if p.Code == fault.PlanDuplicate {
					at = p.Args["id"]
				}
				got = append(got, problem{p.Code, at})
			}
			if diff := cmp.Diff(c.wants, got, cmp.AllowUnexported(problem{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongUnknownKeyIsCut(t *testing.T) {
	_, err := Parse(answer(`"skills"`, `"`+strings.Repeat("k", 5000)+`"`))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("%d bytes: %.80v", len(err.Error()), err)
	}
}

// Covers: PLN-04
func TestParseUpdate(t *testing.T) {
	u, err := ParseUpdate([]byte(`{"depend":[{"id":"a","on":"b"}]}`))
	if diff := cmp.Diff(Update{Depend: []Dependency{{"a", "b"}}}, u); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	whole := strings.Replace(string(answer(`"depends_on":[]`, `"depends_on":["elsewhere"]`, `,
 "skills":["pdf"]`, "")), "tasks", "add", 1)
	if u, err = ParseUpdate([]byte(whole)); err != nil || len(u.Add) != 1 || u.Add[0].DependsOn[0] != "elsewhere" {
		t.Errorf("%+v, %v", u, err)
	}
	_, err = ParseUpdate([]byte(`{"add":[{}],"depend":[{"id":"a"},{"id":"a","on":1,"at":2}],"remove":["a"]}`))
	want := slices.Concat([]fault.Code{fault.PlanUnknownKey}, // remove
		slices.Repeat([]fault.Code{fault.PlanMissing}, len(taskKeys)-1), // of add[0]
		[]fault.Code{fault.PlanMissing, fault.PlanUnknownKey, fault.PlanValue})
	if diff := cmp.Diff(want, codes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
}

func TestSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(2), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	if err := check(answer()); err != nil {
		t.Errorf("a valid answer: %v", err)
	}
	for _, text := range [][]byte{
		[]byte(`{"tasks":[],"skills":[]}`), answer(`"4K"`, `"5K"`), answer(`"write"`, `"delete"`), answer(`"skills"`, `"x":1,"skills"`),
		answer(`"title":"T",`, ""), answer(`"t1"`, `""`), answer(`400`, `"400"`),
	} {
		if check(text) == nil {
			t.Errorf("%s fits the schema", text)
		}
	}
	safe(t, Schema(2))
	if string(Schema(32)) != string(Schema(32)) || !strings.Contains(string(Schema(32)), `"maxItems":32`) {
		t.Error("the schema is not a function of maxTasks")
	}
}

// safe holds a schema to what every model server digests: no pattern, strings
// of at most 1000 characters, no list without a bound, no object left open.
func safe(t *testing.T, schema json.RawMessage) {
	t.Helper()
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(at, e)
			}
		case map[string]any:
			if _, ok := v["pattern"].(string); ok {
				t.Errorf("%s has a pattern", at)
			}
			switch v["type"] {
			case "array":
				if _, ok := v["maxItems"]; !ok {
					t.Errorf("%s has no maxItems", at)
				}
			case "string":
				if n, ok := v["maxLength"].(float64); v["enum"] == nil && (!ok || n > 1000) {
					t.Errorf("%s has maxLength %v", at, v["maxLength"])
				}
			case "object":
				if v["additionalProperties"] != false {
					t.Errorf("%s is open", at)
				}
			}
			for k, e := range v {
				walk(at+"/"+k, e)
			}
		}
	}
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		t.Fatal(err)
	}
	walk("", v)
}

func FuzzParse(f *testing.F) {
	f.Add(answer())
	f.Add([]byte(`{"tasks":[{"id":1,"depends_on":[[]],"token_budget":{}}],"tasks":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse(text)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || len(e.Problems()) == 0 {
				t.Fatalf("refused without a problem: %v", err)
			}
			return
		}
		g, err := New(a.Tasks, len(a.Tasks))
		if err != nil {
			t.Fatalf("parsed, then refused: %v", err)
		}
		text, err = json.Marshal(map[string]any{"tasks": g.Tasks()})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if diff := cmp.Diff(g.Tasks(), again.Tasks); diff != "" || err != nil {
			t.Fatalf("through JSON: %v (-was +is):\n%s", err, diff)
		}
	})
}
