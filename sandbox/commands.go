package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"sunaba/fault"
	"sunaba/policy"
)

// callRun is the method of a Commands Handler.
const callRun = "run"

// Program says what Run starts.
type Program struct {
	// Argv is the alias of an approved entry of the policy and its arguments.
	Argv    []string      `json:"argv"`
	Dir     string        `json:"dir,omitempty"`     // absolute; "" is the workspace
	Stdin   string        `json:"stdin,omitempty"`   // "" is an empty input
	Timeout time.Duration `json:"timeout,omitempty"` // 0: DefaultTimeout; clamped to the policy's limit
	Output  Limit         `json:"output"`            // the zero value keeps 64 KiB of either end
}

// ran is the answer to callRun.
type ran struct {
	Outcome Outcome    `json:"outcome"`
	Code    fault.Code `json:"code,omitempty"` // why it was not started
	Args    fault.Args `json:"args,omitempty"`
	Cause   string     `json:"cause,omitempty"`
}

// Commands makes the Handler of a program that uses this package alone: it
// serves Run. Pass it to Serve.
func Commands(in Inside) (Handler, error) { return commands{in}, nil }

type commands struct{ in Inside }

// Handle starts one program; a refusal is a result.
func (c commands) Handle(ctx context.Context, method string, params []byte) ([]byte, error) {
	if method != callRun {
		return nil, fmt.Errorf("unknown method %q", method)
	}
	var p Program
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	o, err := c.run(ctx, p)
	r := ran{Outcome: o}
	if err != nil {
		r.Code, r.Cause = fault.CodeOf(err), err.Error()
		if r.Code == "" {
			r.Code = fault.ExecNotAllowed
		}
		if e, ok := errors.AsType[*fault.Error](err); ok {
			r.Args = e.Args
		}
	}
	return json.Marshal(r)
}

func (c commands) run(ctx context.Context, p Program) (Outcome, error) {
	if len(p.Argv) == 0 {
		return Outcome{}, fault.New(fault.ExecUnknownAlias, "run", "alias", "")
	}
	entry, err := c.entry(p.Argv[0])
	if err != nil {
		return Outcome{}, err
	}
	image, err := entry.Open()
	if err != nil {
		return Outcome{}, err
	}
	defer image.Close()
	if p.Dir == "" {
		p.Dir = c.in.Policy.Workspace.Root
	}
	dir, err := os.Open(p.Dir)
	if err != nil {
		return Outcome{}, err
	}
	defer dir.Close()
	magic := make([]byte, 2)
	if _, err := image.ReadAt(magic, 0); err != nil {
		return Outcome{}, err
	}
	if p.Output == (Limit{}) {
		const kept = 64 << 10
		p.Output = Limit{Head: kept, Tail: kept}
	}
	return c.in.Runner.Run(ctx, Command{
		Image: image, Script: bytes.Equal(magic, []byte("#!")), Argv: append([]string{entry.Logical}, p.Argv[1:]...),
		Dir: dir, Stdin: p.Stdin, Timeout: p.Timeout, Output: p.Output,
	})
}

func (c commands) entry(alias string) (*policy.Entry, error) {
	for i, e := range c.in.Policy.Entries {
		if e.Alias == alias {
			return &c.in.Policy.Entries[i], nil
		}
	}
	return nil, fault.New(fault.ExecUnknownAlias, "run", "alias", alias)
}

// Run starts a program in the sandbox of a Worker that serves Commands, and
// waits for its end; everything it started is dead then. One runs at a time:
// calls from several goroutines wait for each other. An error of family exec
// means that it was not started, one of code platform.worker that the sandbox
// is lost. When ctx ends, the program is ended.
func (s *Sandbox) Run(ctx context.Context, p Program) (Outcome, error) {
	params, err := json.Marshal(p)
	if err != nil {
		return Outcome{}, err
	}
	answer, err := s.Call(ctx, callRun, params)
	if err != nil {
		return Outcome{}, err
	}
	var r ran
	if err := json.Unmarshal(answer, &r); err != nil {
		return Outcome{}, fault.Wrap(err, fault.PlatformWorker, "sandbox", "cause", "an unreadable result")
	}
	if r.Code != "" {
		return Outcome{}, &fault.Error{Code: r.Code, Op: "run", Args: r.Args, Err: errors.New(r.Cause)}
	}
	return r.Outcome, nil
}

// Text is all of a command's output that was kept.
func (c Capture) Text() string {
	if c.Dropped == 0 {
		return string(c.Head) + string(c.Tail)
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", c.Head, c.Dropped, c.Tail)
}

// VolatilePlaceholders makes placeholders that nothing journals: they go when
// the sandbox is closed, and stay on the host when this process is killed
// before. For programs that have no journal of their own.
func VolatilePlaceholders() Placeholders { return &volatile{} }

type volatile struct{ made []Placeholder }

// Make makes those that do not exist.
func (v *volatile) Make(want []Placeholder) ([]Placeholder, error) {
	for _, w := range want {
		err := makePlaceholder(w)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return v.made, fmt.Errorf("placeholder: %w", err)
		}
		v.made = append(v.made, w)
	}
	return v.made, nil
}

func makePlaceholder(w Placeholder) error {
	if w.Dir {
		return os.Mkdir(w.Path, 0o755)
	}
	f, err := os.OpenFile(w.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(w.Content)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

// Remove takes away what is still as it was made.
func (v *volatile) Remove() error {
	var last error
	for i := len(v.made) - 1; i >= 0; i-- {
		w := v.made[i]
		if !w.Dir {
			if text, err := os.ReadFile(w.Path); err != nil || string(text) != w.Content {
				continue // somebody else's by now
			}
		}
		if err := os.Remove(w.Path); err != nil && !os.IsNotExist(err) {
			last = err
		}
	}
	v.made = nil
	return last
}
