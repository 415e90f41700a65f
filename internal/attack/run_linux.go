package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sunaba/fault"
	"sunaba/internal/attack/act"
	"sunaba/internal/broker"
	"sunaba/sandbox"
	"sunaba/tool"
)

func background() context.Context { return context.Background() }

// Run plays the attacks one after the other and hands each result to tell.
// twins says whether they are played as well; without, what fails inside counts
// as stopped. An error means that there is no stage to play on.
func Run(attacks []Attack, twins bool, tell func(Result)) (err error) {
	s, err := newStage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, a := range attacks {
		r, err := s.play(a, twins)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		tell(r)
	}
	return nil
}

// play is one attack and its twin.
func (s *stage) play(a Attack, twins bool) (Result, error) {
	r := Result{Attack: a, Status: Stopped}
	if err := s.open(a.Box); err != nil {
		return r, err
	}
	if err := s.sweep(); err != nil {
		return r, err
	}
	if a.Host != nil {
		if err := a.Host(s.inside); err != nil {
			return r, err
		}
	}
	done, said, err := s.try(a)
	switch {
	case fault.CodeOf(err) == fault.PlatformReplaced: // ended on purpose
		r.Inside = string(fault.PlatformReplaced)
		if err := s.again(); err != nil {
			return r, err
		}
	case err != nil: // the Worker is gone: whoever can end it has escaped
		r.Status, r.Inside = Escaped, err.Error()
	case done:
		r.Status = Escaped
	}
	if said != "" {
		r.Inside = strings.TrimSpace(said)
	}
	if r.Status == Escaped {
		return r, s.again()
	}
	if !twins || a.Twin == Twinless {
		return r, nil
	}
	if touches(a) {
		if err := s.freshTwin(); err != nil {
			return r, err
		}
	}
	if why := s.playTwin(a); why != "" {
		r.Status, r.Reason = Unproved, why
	}
	return r, nil
}

// touches reports whether an attack is about the tree.
func touches(a Attack) bool {
	for _, arg := range slices.Concat(a.Args, a.TwinArgs, []string{a.Tool}) {
		if strings.Contains(arg, "{") || strings.Contains(arg, "cwd") || a.Tool != "" {
			return true
		}
	}
	return false
}

// try does the act inside: done says that it succeeded.
func (s *stage) try(a Attack) (done bool, said string, err error) {
	args := expand(a.Args, s.inside)
	if a.Tool != "" {
		return s.tryTool(a.Tool, args)
	}
	o := order{Argv: append([]string{s.program, act.Word, a.Act}, args...), Dir: s.inside.Workspace, Timeout: a.Timeout}
	var out sandbox.Outcome
	if err := s.call("command", o, &out); err != nil {
		return false, "", err
	}
	said = string(out.Output.Head) + string(out.Output.Tail)
	if out.Stopped != "" {
		said = "stopped: " + out.Stopped
	}
	done = out.Ended && out.ExitCode == 0
	if a.Evidence != "" {
		time.Sleep(2 * evidenceDelay) // it would be there by now
		_, err := os.Lstat(expand([]string{a.Evidence}, s.inside)[0])
		done = err == nil
	}
	return done, said, nil
}

// evidenceDelay is what an act with evidence takes until it shows.
const evidenceDelay = 400 * time.Millisecond

func (s *stage) tryTool(name string, args []string) (done bool, said string, err error) {
	arguments := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "argv0" {
			arguments["argv"] = []string{args[i+1]}
			continue
		}
		arguments[args[i]] = args[i+1]
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return false, "", err
	}
	var r tool.Result
	if err := s.call("tool", map[string]any{"name": name, "arguments": json.RawMessage(raw)}, &r); err != nil {
		return false, "", err
	}
	if r.Error != nil {
		said = string(r.Error.Code)
	}
	return r.OK, said, nil
}

func (s *stage) call(method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(background(), time.Minute)
	defer cancel()
	answer, err := s.task.Call(ctx, method, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, result)
}

// playTwin does the act without the sandbox and says why it failed, "" if it
// succeeded.
func (s *stage) playTwin(a Attack) string {
	args := a.TwinArgs
	if args == nil {
		args = a.Args
	}
	args = expand(args, s.twin)
	argv := append([]string{s.program, act.Word, a.Act}, args...)
	if a.Twin == Child {
		argv = append([]string{"/bin/sh", "-c", `"$@"; exit $?`, "sh"}, argv...)
	}
	ctx, cancel := context.WithTimeout(background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = s.twin.Workspace
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &out, time.Second
	if a.Twin == Master {
		c.SysProcAttr = master()
	}
	err := c.Run()
	if err == nil && a.Evidence != "" {
		time.Sleep(2 * evidenceDelay)
		_, err = os.Lstat(expand([]string{a.Evidence}, s.twin)[0])
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return ""
	}
	said, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	if said == "" {
		said = err.Error()
	}
	return said
}

// master gives a process all rights over namespaces of its own.
func master() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP,
		Unshareflags: unix.CLONE_NEWNS, // and what is mounted there stays there
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

func expand(args []string, p Places) []string {
	r := strings.NewReplacer("{ws}", p.Workspace, "{out}", p.Outside, "{ro}", p.ReadOnly, "{rw}", p.ReadWrite, "{rwd}", p.Deleted,
		"{tmp}", p.Scratch, "{tcp}", p.TCP, "{udp}", p.UDP, "{unix}", p.Unix, "{dgram}", p.Datagram)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = r.Replace(a)
	}
	return out
}

// comm is our own name as /proc shows it.
func comm() string {
	text, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return filepath.Base(os.Args[0])
	}
	return strings.TrimSpace(string(text))
}

// order is one command.
type order struct {
	Argv    []string
	Dir     string
	Timeout time.Duration
}

// worker is the product's Handler, and commands that no tool would start.
type worker struct {
	tools  sandbox.Handler
	runner sandbox.Runner
}

// NewWorker makes the Handler of the suite's Workers.
func NewWorker(in sandbox.Inside) (sandbox.Handler, error) {
	h, err := broker.NewWorker(in)
	return worker{h, in.Runner}, err
}

// Handle runs a command, or leaves a tool to the product.
func (w worker) Handle(ctx context.Context, method string, params []byte) ([]byte, error) {
	if method != "command" {
		return w.tools.Handle(ctx, method, params)
	}
	var o order
	if err := json.Unmarshal(params, &o); err != nil {
		return nil, err
	}
	image, err := os.Open(o.Argv[0])
	if err != nil {
		return nil, err
	}
	defer image.Close()
	dir, err := os.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	const kept = 4 << 10
	out, err := w.runner.Run(ctx, sandbox.Command{
		Image: image, Argv: o.Argv, Dir: dir, Timeout: o.Timeout, Output: sandbox.Limit{Head: kept, Tail: kept},
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
