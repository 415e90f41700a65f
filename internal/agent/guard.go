package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"sunaba/fault"
	"sunaba/tool"
)

// Identical calls with identical results are told to the model at the third
// and end the attempt at the fifth (LLM-012). Cycles and calls that differ in a
// counter are caught by the limit of iterations.
const (
	tellSame = 3
	stopSame = 5
)

// guard counts what goes wrong or in circles within one Task.
type guard struct {
	denied   map[string]*denial // by call
	seen     map[string]*repeat // by call, since the last change in the world
	cause    string             // of the present run of failures
	failures int                // how long that run is (AGT-03)
}

type denial struct {
	failure tool.Failure
	repeats int
}

type repeat struct {
	result [sha256.Size]byte
	count  int
}

func newGuard() guard {
	return guard{denied: map[string]*denial{}, seen: map[string]*repeat{}}
}

// identity is the same for two calls exactly when tool and arguments are,
// whatever the order of the members.
func identity(name string, arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	canonical := []byte(arguments)
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			canonical = b
		}
	}
	return fmt.Sprintf("%s %x", name, sha256.Sum256(canonical))
}

// isDenial reports whether a code says no by rule or by a person (C-54): trying
// the same again cannot help.
func isDenial(code fault.Code) bool {
	switch code {
	case fault.FSOutOfScope, fault.FSReadOnly, fault.FSNoDelete, fault.FSNoExecute,
		fault.FSOutsideWorkspace, fault.FSPathTraversal, fault.FSHardLink,
		fault.FSDeniedBeneath,
		fault.ExecUnknownAlias, fault.ExecNotApproved, fault.ExecHashMismatch,
		fault.ExecShellNotApproved, fault.ExecNotAllowed:
		return true
	}
	return code.Family() == "net" || code.Family() == "approval"
}

// failed books one failure and returns how many of its cause came in a row.
func (g *guard) failed(name string, code fault.Code, target string) int {
	cause := name + " " + string(code) + " " + target
	if cause != g.cause {
		g.cause, g.failures = cause, 0
	}
	g.failures++
	return g.failures
}

// succeeded books one success: the run of failures is over.
func (g *guard) succeeded() { g.cause, g.failures = "", 0 }

// changed says that the world is another one: asking again is no repetition.
func (g *guard) changed() { clear(g.seen) }

// same books the result of a call that went well and returns how often that
// call gave exactly this result.
func (g *guard) same(call string, r tool.Result) int {
	sum := sha256.Sum256([]byte(likeness(r)))
	s := g.seen[call]
	if s == nil || s.result != sum {
		s = &repeat{result: sum}
		g.seen[call] = s
	}
	s.count++
	return s.count
}

// likeness is what of a result matters for being the same: not how long it
// took, nor where its output was put.
func likeness(r tool.Result) string {
	var b bytes.Buffer
	for _, f := range r.Fields {
		if f.Name != "duration_ms" && f.Name != "output_id" {
			fmt.Fprintf(&b, "%s=%v\n", f.Name, f.Value)
		}
	}
	b.WriteString(r.Text)
	return b.String()
}

// target is what a failure was about: its path or alias, else nothing, so that
// variants of one mistake count as one cause (LLM-014).
func target(f tool.Failure) string {
	if p := f.Args["path"]; p != "" {
		return p
	}
	if a := f.Args["alias"]; a != "" {
		return a
	}
	return f.Args["name"]
}
