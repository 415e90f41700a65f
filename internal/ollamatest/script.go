package ollamatest

import (
	"encoding/json"
	"strings"
	"time"
)

// Script is a parsed script. It is immutable; each Server keeps its own place
// in it.
type Script struct {
	Model        string // "": every model exists
	Capabilities []string
	Context      int  // tokens; 0: the request's num_ctx
	Native       bool // the wire from 0.30 on
	Version      string
	Turns        []Turn
}

// Turn is one section: one answer, given Times times.
type Turn struct {
	Name   string
	Line   int // of its heading, from 1
	Plan   bool
	Times  int // at least 1; Forever
	When   []Condition
	Expect []Condition
	Steps  []Step

	tasks  []json.RawMessage
	skills []string
}

// Forever is the Times of a section that never ends.
const Forever = -1

// Condition is a claim about the messages of a request.
type Condition struct {
	Subject string // last, result, user, any
	Lacks   bool
	Text    string
}

// holds reports whether the claim is true of m.
func (c Condition) holds(m []message) bool {
	var subject string
	switch c.Subject {
	case "any":
		for _, one := range m {
			subject += one.Content + "\n"
		}
	case "user":
		for _, one := range m {
			if one.Role == "user" {
				subject = one.Content
			}
		}
	default:
		if n := len(m); n > 0 && (c.Subject == "last" || m[n-1].Role == "tool") {
			subject = m[n-1].Content
		}
	}
	return strings.Contains(subject, c.Text) != c.Lacks
}

func (t Turn) applies(m []message) bool {
	for _, c := range t.When {
		if !c.holds(m) {
			return false
		}
	}
	return true
}

// Step is one line of a section that says or does something.
type Step struct {
	Verb  string
	Name  string          // of a tool
	Text  string          // what is said; the text of an error
	JSON  json.RawMessage // arguments
	Code  int             // status; seconds of a quota
	Delay time.Duration
}
