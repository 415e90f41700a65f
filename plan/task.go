package plan

import (
	"slices"
	"strings"
	"unicode"
)

// DefaultMaxTasks is the ceiling of a TaskGraph's size, not a quota (PLN-02).
const DefaultMaxTasks = 32

// Effect is what must be observed before a Task may complete. The zero value
// is not an effect and is refused.
type Effect string

// The effects, weakest first; None is an explanation (S1-108).
const (
	None    Effect = "none"
	Read    Effect = "read"
	Write   Effect = "write"
	Execute Effect = "execute"
)

var effects = []Effect{None, Read, Write, Execute}

// Covers reports whether observing e satisfies a Task that demands want: a
// stronger effect covers a weaker one (C-81). An unknown effect covers nothing
// and is covered by nothing.
func (e Effect) Covers(want Effect) bool {
	has, needs := slices.Index(effects, e), slices.Index(effects, want)
	return needs >= 0 && has >= needs
}

func effectNames(separator string) string {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = string(e)
	}
	return strings.Join(names, separator)
}

// Task is one semantic unit of work (PLN-06). Its JSON form is CONTRACT §4's.
type Task struct {
	ID           string   `json:"id"` // unique without regard to case
	Title        string   `json:"title"`
	Instructions string   `json:"instructions"`
	DependsOn    []string `json:"depends_on"` // IDs that must be completed first
	Effect       Effect   `json:"effect"`
	Optimistic   int      `json:"optimistic_tokens"` // LLM tokens of the whole Task
	MostLikely   int      `json:"most_likely_tokens"`
	Pessimistic  int      `json:"pessimistic_tokens"`
	Budget       Budget   `json:"token_budget"`
}

// Expected returns the Task's Token PERT cost, (O + 4M + P) / 6 (S1-125).
func (t Task) Expected() Cost { return Cost(t.Optimistic + 4*t.MostLikely + t.Pessimistic) }

// estimated reports the invariant 0 < O ≤ M ≤ P ≤ budget (S1-124).
func (t Task) estimated() bool {
	return 0 < t.Optimistic && t.Optimistic <= t.MostLikely && t.MostLikely <= t.Pessimistic &&
		t.Pessimistic <= int(t.Budget) && t.Budget.valid()
}

func (t Task) clone() Task {
	t.DependsOn = slices.Clone(t.DependsOn)
	return t
}

// fold is the form in which IDs are compared: models vary case and blanks.
func fold(id string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(id))) }

// Single is the deterministic plan of one Task for a request that no model
// planned. Nothing tells whether the request is a mere question, so the Task
// demands the weakest observable effect rather than none: a claim without any
// act does not complete it (AGT-04).
func Single(request string) []Task {
	return []Task{{
		ID: "t1", Title: title(request), Instructions: request, Effect: Read,
		Optimistic: 512, MostLikely: 2048, Pessimistic: 8192, Budget: 8 << 10,
	}}
}

// title is the first line of text that says something, cut to titleLength.
func title(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool {
			return unicode.IsSpace(r) || !unicode.IsPrint(r)
		}), " ")
		if runes := []rune(line); len(runes) > titleLength {
			line = string(runes[:titleLength-1]) + "…"
		}
		if line != "" {
			return line
		}
	}
	return "t1"
}

// Dependency says that the Task ID waits for the Task On.
type Dependency struct {
	ID string `json:"id"`
	On string `json:"on"`
}
