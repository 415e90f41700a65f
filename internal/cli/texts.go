package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"sunaba/fault"
	"sunaba/internal/config"
	"sunaba/internal/locale"
	"sunaba/internal/screen"
	"sunaba/policy"
)

// texts is a catalogue whose arguments are escaped: what it returns may be
// printed as it is (C-91).
type texts struct{ catalog *locale.Catalog }

// catalogFor returns the texts in the language of the configuration at path as
// far as that can be known, else in English (I18N-06).
func catalogFor(path string) texts {
	s, err := config.Load(path)
	id := ""
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		id = problems.Language
	} else if err == nil {
		id = s.Application.Language
	}
	return textsIn(id)
}

func textsIn(id string) texts {
	if id != "" {
		if c, err := locale.Load(id); err == nil {
			return texts{c}
		}
	}
	c, err := locale.Load(locale.Fallback)
	if err != nil { // a user's broken en.json: the keys still tell something
		return texts{}
	}
	return texts{c}
}

// text returns the text of key; pairs are named arguments.
func (t texts) text(key string, pairs ...string) string {
	args := fault.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return t.catalog.Text(key, escaped(args))
}

func escaped(args fault.Args) fault.Args {
	out := make(fault.Args, len(args))
	for k, v := range args {
		out[k] = screen.Escape(v)
	}
	return out
}

// fault returns the sentence of e with its hint. Some codes have one sentence
// for each reason.
func (t texts) fault(e *fault.Error) string {
	args := escaped(e.Args)
	if e.Code == fault.PlatformState && args["case"] == "" && filepath.IsAbs(e.Args["path"]) {
		args["case"] = "path"
	}
	message, hint := t.catalog.Fault(e.Code, args)
	switch e.Code {
	case fault.UsageRemoved:
		hint = t.catalog.Text("usage.removed."+args["name"], args)
	case fault.PolicyDeclined:
		hint = t.catalog.Text("policy.declined."+args["reason"], args)
	case fault.PolicyNotApplied:
		message = t.catalog.Text("policy.not_applied."+args["reason"], args)
	}
	message += " [" + string(e.Code) + "]"
	if hint != "" {
		message += "\n  " + hint
	}
	return message
}

// report prints err to w, one paragraph for each problem.
func (t texts) report(w io.Writer, err error) {
	if placed, ok := errors.AsType[placedError](err); ok && placed.place != "" {
		fmt.Fprint(w, screen.Escape(placed.place)+": ")
	}
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		for _, p := range problems.List {
			fmt.Fprintln(w, t.problem(p))
		}
		return
	}
	if problems, ok := errors.AsType[*policy.Problems](err); ok {
		for _, p := range problems.List {
			fmt.Fprintln(w, t.policyProblem(p))
		}
		return
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		fmt.Fprintln(w, t.fault(e))
		return
	}
	fmt.Fprintln(w, screen.Escape(err.Error()))
}

func (t texts) problem(p config.Problem) string {
	line := screen.Escape(p.Position.String()) + ": "
	if p.Key != "" {
		line += screen.Escape(p.Key) + ": "
	}
	return line + t.catalog.Text(p.TextKey(), escaped(p.Args)) + " [" + string(p.Code) + "]"
}

func (t texts) policyProblem(p policy.Problem) string {
	line := ""
	if p.Source != "" {
		line = screen.Escape(p.Source) + ": "
	}
	return line + t.catalog.Text(p.TextKey(), escaped(p.Args)) + " [" + string(p.Code) + "]"
}
