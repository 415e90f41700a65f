package plan

import (
	"encoding/json"
	"math"

	"sunaba/fault"
)

// Answer is a planner's answer.
type Answer struct {
	Tasks  []Task
	Skills []string // names the model wants loaded; not yet verified (S1-150)
}

// Update is what update_plan asks for.
type Update struct {
	Add    []Task
	Depend []Dependency
}

// The keys of a task, in the order of the schema; all but depends_on are
// mandatory.
var taskKeys = []string{"id", "title", "instructions", "depends_on", "effect",
	"optimistic_tokens", "most_likely_tokens", "pessimistic_tokens", "token_budget"}

// Parse reads a planner's answer: one JSON object of CONTRACT §4, nothing
// guessed; only skills and depends_on may be absent. It checks the tasks as New
// does, apart from their number. A refusal is an *Error with every problem,
// those of form before those of meaning. (NFR-02)
func Parse(text []byte) (Answer, error) {
	p := &parser{problems{op: "plan"}}
	var a Answer
	for _, m := range p.document(text, []string{"tasks", "skills"}, []string{"tasks"}) {
		switch m.key {
		case "tasks":
			a.Tasks = p.tasks(m.value, m.key)
		case "skills":
			a.Skills = p.strings(m.value, m.key, maxSkills, skillLength)
		}
	}
	if len(p.list) == 0 || len(a.Tasks) > 0 {
		d := newDraft(p.op, nil)
		d.add(a.Tasks)
		d.finish(math.MaxInt)
		p.list = append(p.list, d.list...)
	}
	if err := p.err(); err != nil {
		return Answer{}, err
	}
	return a, nil
}

// ParseUpdate reads the arguments of update_plan: one JSON object with add and
// depend, both optional. It checks the form; Extend checks the meaning. A
// refusal is an *Error with every problem.
func ParseUpdate(text []byte) (Update, error) {
	p := &parser{problems{op: "update_plan"}}
	var u Update
	for _, m := range p.document(text, []string{"add", "depend"}, nil) {
		switch m.key {
		case "add":
			u.Add = p.tasks(m.value, m.key)
		case "depend":
			u.Depend = p.dependencies(m.value, m.key)
		}
	}
	if err := p.err(); err != nil {
		return Update{}, err
	}
	return u, nil
}

// tasks reads a list of tasks. What cannot be read stands in the list with
// harmless values, so that the checks of meaning report nothing twice.
func (p *parser) tasks(value json.RawMessage, at string) []Task {
	var tasks []Task
	for i, item := range p.array(value, at) {
		here := indexed(at, i)
		t := Task{ID: here, DependsOn: []string{}, Effect: None}
		numbers := true
		number := func(into *int, m member) {
			var ok bool
			*into, ok = p.integer(m.value, m.at)
			numbers = numbers && ok
		}
		members := p.object(item, here, taskKeys, without(taskKeys, "depends_on"))
		for _, m := range members {
			switch m.key {
			case "id":
				if id, ok := p.text(m.value, m.at, idLength); ok {
					t.ID = id
				}
			case "title":
				t.Title, _ = p.text(m.value, m.at, titleLength)
			case "instructions":
				t.Instructions, _ = p.text(m.value, m.at, instructionsLength)
			case "depends_on":
				t.DependsOn = p.strings(m.value, m.at, math.MaxInt, idLength)
			case "effect":
				t.Effect = p.effect(m)
			case "optimistic_tokens":
				number(&t.Optimistic, m)
			case "most_likely_tokens":
				number(&t.MostLikely, m)
			case "pessimistic_tokens":
				number(&t.Pessimistic, m)
			case "token_budget":
				var ok bool
				t.Budget, ok = p.budget(m)
				numbers = numbers && ok
			}
		}
		for _, key := range taskKeys[5:] {
			numbers = numbers && has(members, key)
		}
		if !numbers {
			t.Optimistic, t.MostLikely, t.Pessimistic, t.Budget = 1, 1, 1, 1<<10
		}
		tasks = append(tasks, t)
	}
	return tasks
}

func (p *parser) effect(m member) Effect {
	word, _ := p.word(m.value)
	if e := Effect(word); e.Covers(None) {
		return e
	}
	p.report(fault.PlanValue, "at", m.at, "expected", effectNames(" | "))
	return None
}

func (p *parser) budget(m member) (Budget, bool) {
	word, _ := p.word(m.value)
	b, err := ParseBudget(word)
	if err != nil {
		p.report(fault.PlanValue, "at", m.at, "expected", budgetNames(" | "))
	}
	return b, err == nil
}

func (p *parser) dependencies(value json.RawMessage, at string) []Dependency {
	var list []Dependency
	keys := []string{"id", "on"}
	for i, item := range p.array(value, at) {
		var d Dependency
		for _, m := range p.object(item, indexed(at, i), keys, keys) {
			word, _ := p.text(m.value, m.at, idLength)
			if m.key == "id" {
				d.ID = word
			} else {
				d.On = word
			}
		}
		list = append(list, d)
	}
	return list
}
