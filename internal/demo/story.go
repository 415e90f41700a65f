package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"sunaba/internal/audit"
	"sunaba/plan"
)

// story turns the records of the audit and of the LLM log into lines for a
// person. The audit says what happened; the LLM log adds what the model asked
// for, and what the plan was.
type story struct {
	page   page
	task   string                      // the Task's ID; "" until it is known
	prompt func() ([]llmRecord, error) // the new records of the LLM log

	planned string // the planner's last answer
	calls   []*call
	asked   int // calls before it have met their audit record
	told    int // calls before it have met their result
	heard   int // messages of the conversation read so far
	pending *line

	refused int // calls
}

// llmRecord is what the story needs of one line of the LLM log.
type llmRecord struct {
	TaskID   string     `json:"task_id"`
	Phase    string     `json:"phase"`
	From     int        `json:"from"`
	Messages []llmEntry `json:"messages"`
	Response *llmEntry  `json:"response"`
}

type llmEntry struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolName  string `json:"tool_name"`
	ToolCalls []struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

// call is one call the model asked for.
type call struct {
	name, subject string
	result        string // as the model was told; "" not yet
}

// line is a call whose verdict is not complete yet.
type line struct {
	audit.Record
	call   *call
	denied string
	exit   *int
	wrote  bool
}

// event takes one record of the audit.
func (s *story) event(r audit.Record) error {
	if s.task == "" || r.TaskID != s.task {
		return nil
	}
	switch r.Event {
	case "process.exit":
		if s.pending != nil {
			s.pending.exit = r.ExitCode
		}
		return nil
	case "file.write", "file.delete":
		if s.pending != nil {
			s.pending.wrote = true
		}
		return nil
	case "tool.denied":
		if s.pending != nil {
			s.pending.denied = string(r.Code)
		}
		return nil
	case "process.start", "task.tool_refused", "task.queued", "task.start":
		return nil
	}
	if err := s.listen(); err != nil {
		return err
	}
	s.flush()
	switch r.Event {
	case "tool.call":
		s.pending = &line{Record: r, call: s.match(r.Tool)}
	case "task.plan":
		s.plan()
	case "task.replan":
		s.page.note("demo.replan")
	case "task.no_effect":
		s.page.note("demo.no_effect")
	}
	return nil
}

// end prints what is left.
func (s *story) end() error {
	err := s.listen()
	s.flush()
	return err
}

// listen reads on in the LLM log.
func (s *story) listen() error {
	records, err := s.prompt()
	for _, r := range records {
		if r.TaskID != s.task {
			continue
		}
		for i, m := range r.Messages {
			if index := r.From + i; r.Phase == "work" && index >= s.heard {
				s.heard = index + 1
				s.hear(m)
			}
		}
		switch {
		case r.Response == nil:
		case r.Phase == "plan":
			s.planned = r.Response.Content
		default:
			for _, c := range r.Response.ToolCalls {
				s.calls = append(s.calls, &call{name: c.Name, subject: subject(c.Arguments)})
			}
		}
	}
	return err
}

// hear books the result of a call.
func (s *story) hear(m llmEntry) {
	if m.Role != "tool" {
		return
	}
	for i := s.told; i < len(s.calls); i++ {
		if s.calls[i].name == m.ToolName {
			s.calls[i].result = m.Content
			s.told = i + 1
			return
		}
	}
}

// match finds the call an audit record is about.
func (s *story) match(tool string) *call {
	for i := s.asked; i < len(s.calls); i++ {
		if s.calls[i].name == tool {
			s.asked = i + 1
			return s.calls[i]
		}
	}
	return &call{name: tool}
}

// flush prints the pending call with its verdict.
func (s *story) flush() {
	l := s.pending
	if l == nil {
		return
	}
	s.pending = nil
	code, output := outcome(l.call.result)
	v := verdict{tone: good, word: "demo.allowed"}
	switch {
	case l.denied != "":
		v = verdict{bad, "demo.refused", l.denied, ""}
		s.refused++
	case l.exit != nil && *l.exit != 0:
		v = verdict{warn, "demo.ran", "", fmt.Sprintf("exit %d: %s", *l.exit, output)}
	case l.exit != nil:
		v = verdict{good, "demo.ran", "", "exit 0: " + output}
	case code != "":
		v = verdict{warn, "demo.failed", code, ""}
	default:
		if l.wrote {
			v.note = s.page.text("demo.wrote")
		}
	}
	s.page.call(l.PlanTask, l.Tool, l.call.subject, v)
}

// plan prints the TaskGraph with its figures.
func (s *story) plan() {
	text := s.planned
	if from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}'); from >= 0 && to > from {
		text = text[from : to+1]
	}
	a, err := plan.Parse([]byte(text))
	if err != nil {
		s.page.note("demo.no_plan")
		return
	}
	g, err := plan.New(a.Tasks, len(a.Tasks))
	if err != nil {
		s.page.note("demo.no_plan")
		return
	}
	s.page.plan(g)
}

// subject is the one argument a person wants to see.
func subject(arguments string) string {
	var a struct {
		Path, From, To, Pattern, Command string
		Argv                             []string
	}
	if json.Unmarshal([]byte(arguments), &a) != nil {
		return ""
	}
	for _, s := range []string{strings.Join(a.Argv, " "), a.Command, a.Path, a.From, a.Pattern} {
		if s != "" {
			return s
		}
	}
	return ""
}

// outcome reads a result as the model was told it: the code of a failure, and
// the first line of the text.
func outcome(result string) (code, output string) {
	first, text, _ := strings.Cut(result, "\n")
	var r struct {
		Error struct{ Code string }
	}
	if json.Unmarshal([]byte(first), &r) != nil {
		return "", ""
	}
	output, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return r.Error.Code, output
}
