package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"sunaba/internal/agent"
	"sunaba/internal/broker"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/tool"
)

// The Worker's methods that start a program without any tool.
const (
	bare    = "bare"    // /usr/bin/true
	program = "program" // what params names, an argv; answers with its output
)

// worker is the product's Handler with one method more.
type worker struct {
	sandbox.Handler
	runner sandbox.Runner
	root   string
}

// NewWorker makes the Handler of a Worker that is measured.
func NewWorker(in sandbox.Inside) (sandbox.Handler, error) {
	h, err := broker.NewWorker(in)
	return worker{h, in.Runner, in.Policy.Workspace.Root}, err
}

// Handle answers these itself and leaves the rest to the product.
func (w worker) Handle(ctx context.Context, method string, params []byte) ([]byte, error) {
	switch method {
	case bare:
		_, err := w.run(ctx, []string{"/usr/bin/true"})
		return []byte(`{}`), err
	case program:
		var argv []string
		if err := json.Unmarshal(params, &argv); err != nil {
			return nil, err
		}
		out, err := w.run(ctx, argv)
		return bytes.TrimSpace(out), err
	}
	return w.Handler.Handle(ctx, method, params)
}

func (w worker) run(ctx context.Context, argv []string) ([]byte, error) {
	image, err := os.Open(argv[0])
	if err != nil {
		return nil, err
	}
	defer image.Close()
	dir, err := os.Open(w.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	o, err := w.runner.Run(ctx, sandbox.Command{
		Image: image, Argv: argv, Dir: dir, Output: sandbox.Limit{Head: 1 << 10, Tail: 1 << 10},
	})
	if err == nil && (!o.Ended || o.ExitCode != 0) {
		err = fmt.Errorf("%s: exit %d, stopped %q: %s", argv[0], o.ExitCode, o.Stopped, o.Output.Head)
	}
	return o.Output.Head, err
}

// withoutPlaceholders is the policy without protected names, all of which are
// missing in an empty project.
func (s *stage) withoutPlaceholders() policy.Effective {
	e := s.policy
	e.Protected = nil
	return e
}

// setups measures sandbox.Start against a plain start of the same program,
// and, where it is installed, against bubblewrap.
func (s *stage) setups(ctx context.Context) ([]figure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	without := s.withoutPlaceholders()
	start := func() (time.Duration, error) {
		began := time.Now()
		box, err := sandbox.Start(ctx, sandbox.Options{Policy: without})
		took := time.Since(began)
		if err != nil {
			return 0, err
		}
		return took, box.Close()
	}
	whole := func() error {
		box, err := sandbox.Start(ctx, sandbox.Options{Policy: without})
		if err != nil {
			return err
		}
		return box.Close()
	}
	plain := timed(func() error { return exec.CommandContext(ctx, self, Nothing).Run() })
	const rounds = 25
	list := []comparison{
		{"Start to ready", start, plain, "the same program started plainly, to its end", "ours <= 10 ms"},
		{"Start to ready, first call, with placeholders", s.firstCall(ctx), plain, "the same", ""},
	}
	if peer, ok := bubblewrap(ctx); ok {
		list = append(list, comparison{"Start, then Close", timed(whole), timed(peer), wrapped, "ratio <= 1.5"})
	}
	return measure(rounds, list)
}

// comparison is what becomes a figure.
type comparison struct {
	name        string
	ours, floor act
	against     string
	aim         string
}

// measure does each comparison in turn.
func measure(rounds int, list []comparison) ([]figure, error) {
	var out []figure
	for _, c := range list {
		ours, floor, err := inTurns(rounds, c.ours, c.floor)
		if err != nil {
			return nil, err
		}
		out = append(out, figure{c.name, ours, floor, c.against, c.aim})
	}
	return out, nil
}

// wrapped is what the peer does, in the words of the table.
const wrapped = "bwrap with proc, dev, tmpfs and seccomp, to the end of true"

// bubblewrap returns the act of running true in the peer's sandbox with the
// parts that a Task's has as well; false where it is not installed.
func bubblewrap(ctx context.Context) (do func() error, ok bool) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, false
	}
	return func() error {
		filter, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer filter.Close()
		_, err = w.Write([]byte{0x06, 0, 0, 0, 0, 0, 0xff, 0x7f}) // the shortest filter: allow
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
			"--dev", "/dev", "--tmpfs", "/tmp", "--seccomp", "3", "/usr/bin/true")
		cmd.ExtraFiles = []*os.File{filter}
		_, err = cmd.CombinedOutput()
		return err
	}, true
}

// firstCall opens a Task's box the broker's way: with the audit, the journal
// and placeholders for protected names that do not exist.
func (s *stage) firstCall(ctx context.Context) act {
	return func() (time.Duration, error) {
		box := s.broker.Open(context.Background(), "session", "task")
		began := time.Now()
		r, err := box.Call(ctx, agent.Call{Name: tool.ListFiles, Arguments: arguments(map[string]any{"path": "."})})
		took := time.Since(began)
		if err == nil && !r.OK {
			err = fmt.Errorf("%s: %v", r.Error.Code, r.Error.Args)
		}
		return took, errors.Join(err, box.Close())
	}
}

// commands measures one command in a sandbox that stands.
func (s *stage) commands(ctx context.Context) (_ []figure, err error) {
	box, err := sandbox.Start(ctx, sandbox.Options{Policy: s.withoutPlaceholders()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	inside := func() error {
		_, err := box.Call(ctx, bare, nil)
		return err
	}
	tools := s.broker.Open(context.Background(), "session", "task")
	defer func() { err = errors.Join(err, tools.Close()) }()
	call := agent.Call{Name: tool.RunCommand, Arguments: arguments(map[string]any{"argv": []string{"true"}})}
	asTool := func() error {
		r, err := tools.Call(ctx, call)
		if err == nil && !r.OK {
			err = fmt.Errorf("%s: %v", r.Error.Code, r.Error.Args)
		}
		return err
	}
	plain := func() error {
		_, err := exec.CommandContext(ctx, "/usr/bin/true").CombinedOutput()
		return err
	}
	const rounds, times, floor = 15, 10, "plain fork, exec and capture"
	list := []comparison{
		{"run and capture true", each(times, inside), each(times, plain), floor, "ratio <= 1.3"},
		{"run_command true, judged and recorded", each(times, asTool), each(times, plain), floor, ""},
	}
	if peer, ok := bubblewrap(ctx); ok {
		list = append(list, comparison{"run and capture true", each(times, inside), each(times, peer), wrapped, "ratio <= 0.33"})
	}
	return measure(rounds, list)
}
