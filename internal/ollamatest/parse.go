package ollamatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads a script; name stands in its errors. vars are name, value pairs:
// each "${name}" in text becomes value, as it is (escape it for JSON yourself).
func Parse(name, text string, vars ...string) (*Script, error) {
	if len(vars)%2 != 0 {
		return nil, fmt.Errorf("%s: odd number of name, value arguments", name)
	}
	for i := 0; i < len(vars); i += 2 {
		text = strings.ReplaceAll(text, "${"+vars[i]+"}", vars[i+1])
	}
	p := parser{
		lines:  strings.Split(text, "\n"),
		script: &Script{Capabilities: []string{"completion", "tools", "thinking"}, Version: "0.24.0"},
	}
	for p.next < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.next])
		p.next++
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.next, err)
		}
	}
	for i := range p.script.Turns {
		if err := p.script.Turns[i].closePlan(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.script.Turns[i].Line, err)
		}
	}
	return p.script, nil
}

type parser struct {
	lines  []string
	next   int // index of the line after the present one
	script *Script
}

func (p *parser) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if verb == "##" {
		if rest == "" {
			return fmt.Errorf("a section needs a name")
		}
		p.script.Turns = append(p.script.Turns, Turn{
			Name: rest, Line: p.next, Times: 1, Plan: strings.HasPrefix(rest, "plan"),
		})
		return nil
	}
	if len(p.script.Turns) == 0 {
		return p.property(verb, rest)
	}
	turn := &p.script.Turns[len(p.script.Turns)-1]
	switch verb {
	case "when", "expect":
		c, err := condition(rest)
		if err != nil {
			return err
		}
		if verb == "when" {
			turn.When = append(turn.When, c)
		} else {
			turn.Expect = append(turn.Expect, c)
		}
		return nil
	case "repeat":
		if rest == "forever" {
			turn.Times = Forever
			return nil
		}
		n, err := positive(rest)
		turn.Times = n
		return err
	case "task", "skill":
		if !turn.Plan {
			return fmt.Errorf("%s belongs into a section named plan", verb)
		}
		if verb == "skill" {
			turn.skills = append(turn.skills, rest)
			return nil
		}
		task, err := planTask(rest)
		turn.tasks = append(turn.tasks, task)
		return err
	}
	step, err := p.step(verb, rest)
	turn.Steps = append(turn.Steps, step)
	return err
}

func (p *parser) property(verb, rest string) (err error) {
	switch verb {
	case "model":
		p.script.Model = rest
	case "capabilities":
		p.script.Capabilities = strings.Fields(rest)
	case "context":
		p.script.Context, err = positive(rest)
	case "version":
		p.script.Version = rest
	case "wire":
		if rest != "native" && rest != "parser" {
			return fmt.Errorf("wire is native or parser, not %q", rest)
		}
		p.script.Native = rest == "native"
	default:
		return fmt.Errorf("unknown property %q", verb)
	}
	return err
}

// step reads a line that says or does something.
func (p *parser) step(verb, rest string) (Step, error) {
	s := Step{Verb: verb}
	var err error
	switch verb {
	case "think", "say", "garbage", "fail-midway", "auth":
		s.Text, err = p.text(rest)
	case "call", "text-call", "fenced-call", "xml-call":
		name, raw, _ := strings.Cut(rest, " ")
		s.Name, s.JSON = name, json.RawMessage(strings.TrimSpace(raw))
		if name == "" || !json.Valid(s.JSON) {
			return s, fmt.Errorf("%s needs a name and a JSON value", verb)
		}
	case "malformed":
		s.Name, s.Text, _ = strings.Cut(rest, " ")
	case "finish":
		outcome, summary, _ := strings.Cut(rest, " ")
		if outcome != "done" && outcome != "failed" {
			return s, fmt.Errorf("finish is done or failed, not %q", outcome)
		}
		text, textErr := p.text(strings.TrimSpace(summary))
		s.Verb, s.Name, err = "call", "finish_task", textErr
		s.JSON = encode(struct {
			Summary string `json:"summary"`
			Outcome string `json:"outcome"`
		}{text, outcome})
	case "status":
		code, text, _ := strings.Cut(rest, " ")
		if s.Code, err = positive(code); err == nil && (s.Code < 200 || s.Code > 599) {
			err = fmt.Errorf("no status of an answer: %d", s.Code)
		}
		if err == nil {
			s.Text, err = p.text(strings.TrimSpace(text))
		}
	case "quota":
		s.Code, err = positive(rest)
	case "delay":
		s.Delay, err = time.ParseDuration(rest)
	case "empty", "length", "cut", "hang", "busy", "crash", "overflow", "silent-500":
		if rest != "" {
			err = fmt.Errorf("%s takes nothing", verb)
		}
	default:
		err = fmt.Errorf("unknown word %q", verb)
	}
	return s, err
}

// text reads a plain, a quoted or a <<END text.
func (p *parser) text(rest string) (string, error) {
	switch {
	case strings.HasPrefix(rest, `"`):
		return strconv.Unquote(rest)
	case strings.HasPrefix(rest, "<<") && len(rest) > 2:
		end := slices.Index(p.lines[p.next:], rest[2:])
		if end < 0 {
			return "", fmt.Errorf("no line %q ends the text", rest[2:])
		}
		text := strings.Join(p.lines[p.next:p.next+end], "\n")
		p.next += end + 1
		return text, nil
	default:
		return rest, nil
	}
}

func condition(rest string) (Condition, error) {
	words := strings.SplitN(rest, " ", 3)
	if len(words) != 3 || !slices.Contains([]string{"last", "result", "user", "any"}, words[0]) ||
		(words[1] != "contains" && words[1] != "lacks") {
		return Condition{}, fmt.Errorf(`a condition is: last|result|user|any contains|lacks "TEXT"`)
	}
	text, err := strconv.Unquote(words[2])
	return Condition{Subject: words[0], Lacks: words[1] == "lacks", Text: text}, err
}

// planTask reads "ID EFFECT O M P BUDGET [after ID,ID] TITLE | INSTRUCTIONS".
func planTask(rest string) (json.RawMessage, error) {
	head, instructions, found := strings.Cut(rest, "|")
	f := strings.Fields(head)
	if !found || len(f) < 7 {
		return nil, fmt.Errorf("a task is: ID EFFECT O M P BUDGET [after ID,ID] TITLE | INSTRUCTIONS")
	}
	var tokens [3]int
	for i := range tokens {
		n, err := strconv.Atoi(f[2+i])
		if err != nil {
			return nil, fmt.Errorf("tokens of task %s: %w", f[0], err)
		}
		tokens[i] = n
	}
	title, depends := f[6:], []string{}
	if title[0] == "after" && len(title) > 2 {
		depends, title = strings.Split(title[1], ","), title[2:]
	}
	return encode(struct {
		ID           string   `json:"id"`
		Title        string   `json:"title"`
		Instructions string   `json:"instructions"`
		DependsOn    []string `json:"depends_on"`
		Effect       string   `json:"effect"`
		Optimistic   int      `json:"optimistic_tokens"`
		MostLikely   int      `json:"most_likely_tokens"`
		Pessimistic  int      `json:"pessimistic_tokens"`
		Budget       string   `json:"token_budget"`
	}{
		f[0], strings.Join(title, " "), strings.TrimSpace(instructions), depends, f[1],
		tokens[0], tokens[1], tokens[2], f[5],
	}), nil
}

// closePlan turns the task lines of a plan into what the model says.
func (t *Turn) closePlan() error {
	if len(t.tasks) == 0 && len(t.skills) == 0 {
		return nil
	}
	if slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Verb == "say" }) {
		return fmt.Errorf("a plan has task lines or says its text, not both")
	}
	skills := t.skills
	if skills == nil {
		skills = []string{}
	}
	text := encode(struct {
		Tasks  []json.RawMessage `json:"tasks"`
		Skills []string          `json:"skills"`
	}{t.tasks, skills})
	t.Steps = append(t.Steps, Step{Verb: "say", Text: string(text)})
	return nil
}

func positive(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no positive number", s)
	}
	return n, nil
}

// encode prints v without HTML escapes, as the server does.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only for types that JSON cannot hold
		panic("ollamatest: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}
