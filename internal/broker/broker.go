// Package broker is the Sandbox Broker: the trusted side of a Task's sandbox.
// It gives the agent its tools, judges what must be judged outside, writes the
// audit before the act, and hands the act to the confined Worker.
//
// The one rule to keep in mind: what cannot be recorded is not done, and what
// the Worker tells is marked as told.
package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/audit"
	"sunaba/internal/journal"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/tool"
)

// Audit is where the broker writes; an error fails the act.
type Audit interface {
	Append(audit.Record) error
}

// Config is what all Tasks of one server share.
type Config struct {
	Policy   policy.Effective
	Settings Settings
	Audit    Audit
	Run      *journal.Run
	Log      *slog.Logger
	// Refuse reports that an address is a listener of ours, which no sandbox may
	// reach (C-89). It is called from several goroutines. nil: there are none.
	Refuse func(netip.AddrPort) bool
	// Machine are this machine's addresses, to which no name may lead; nil asks the
	// system.
	Machine func() ([]netip.Prefix, error)
}

// Broker opens a Box for every Task.
type Broker struct {
	cfg      Config
	settings []byte
}

// New returns a Broker for one applied policy.
func New(cfg Config) (*Broker, error) {
	settings, err := json.Marshal(cfg.Settings)
	if err != nil {
		return nil, err
	}
	return &Broker{cfg: cfg, settings: settings}, nil
}

// Open returns the Box of one Task and begins to make its sandbox, which takes
// less time than a model takes to plan. ctx is the Task's. The caller must
// Close it.
func (b *Broker) Open(ctx context.Context, sessionID, taskID string) *Box {
	ctx, stop := context.WithCancel(ctx)
	x := &Box{broker: b, session: sessionID, task: taskID, began: time.Now(), stop: stop, stands: make(chan struct{})}
	go func() {
		defer close(x.stands)
		x.failure = x.open(ctx)
	}()
	return x
}

// Box is one Task's tools; it implements agent.Toolbox. One goroutine at a
// time may use it.
type Box struct {
	broker        *Broker
	session, task string
	began         time.Time
	stop          context.CancelFunc // ends the making of the sandbox

	network notices
	stands  chan struct{} // closed when the sandbox stands, or does not; then:
	failure error
	release func() error // gives the workspace up; nil: not claimed
	sandbox *sandbox.Sandbox
}

// Specs returns the catalogue of tools.
func (*Box) Specs() []tool.Spec { return tool.Catalogue() }

// Call runs one tool call. The order is: arguments, the audit, what only the
// broker can judge, the Worker, the audit of what it did.
func (x *Box) Call(ctx context.Context, c agent.Call) (tool.Result, error) {
	args, err := checked(c.Name, c.Arguments)
	if err == nil && len(args) > maxArguments {
		err = fault.New(fault.FSTooLarge, c.Name, "path", c.Name, "limit", strconv.Itoa(maxArguments))
	}
	if err != nil {
		return tool.Fail(tool.NoScope, err), nil
	}
	var j judgement
	if c.Name == tool.RunCommand {
		j = x.broker.judge(args)
	}
	rec := x.record("tool.call", c)
	rec.Digest, rec.Argv0 = digest(args), j.argv0
	if err := x.append(rec); err != nil {
		return tool.Result{}, err
	}
	var result tool.Result
	if j.refusal != nil {
		result = tool.Fail(tool.NoScope, j.refusal)
	} else if result, err = x.act(ctx, c, args, j); err != nil {
		return tool.Result{}, err
	}
	result = x.broker.asked(result)
	return result, x.report(c, result, j)
}

// asked turns a reach outside into what the policy makes of it: under
// approve_outside a person would have to be asked, and no channel can be
// reached in this version (C-08: refused at once, never a hang).
func (b *Broker) asked(r tool.Result) tool.Result {
	if r.Error != nil && r.Error.Code == fault.FSOutsideWorkspace && b.cfg.Policy.Workspace.Policy == "approve_outside" {
		r.Error.Code = fault.ApprovalUnavailable
	}
	return r
}

// act hands the call to the Worker.
func (x *Box) act(ctx context.Context, c agent.Call, args json.RawMessage, j judgement) (tool.Result, error) {
	if j.approved {
		rec := x.record("process.start", c)
		rec.Argv0 = j.argv0
		if err := x.append(rec); err != nil {
			return tool.Result{}, err
		}
	}
	if err := x.ready(ctx); err != nil {
		return tool.Result{}, err
	}
	params, err := json.Marshal(toolCall{Name: c.Name, Arguments: args})
	if err != nil {
		return tool.Result{}, err
	}
	if isReplaced(x.sandbox.Current()) { // nothing was running
		if err := x.renew(ctx); err != nil {
			return tool.Result{}, err
		}
	}
	reply, err := x.handOver(ctx, params)
	if isReplaced(err) {
		rec := x.record("task.sandbox", c)
		rec.Code, rec.Path = fault.PlatformReplaced, replacedPath(err)
		if err := x.append(rec); err != nil {
			return tool.Result{}, err
		}
		return tool.Fail(tool.NoScope, err), x.renew(ctx)
	}
	if err != nil {
		return tool.Result{}, err
	}
	var r tool.Result
	if err := json.Unmarshal(reply, &r); err != nil {
		return tool.Result{}, fault.Wrap(err, fault.PlatformWorker, "broker", "cause", "an unreadable result")
	}
	if r.OK == (r.Error != nil) { // the Worker is not trusted to keep the shape
		return tool.Result{}, fault.New(fault.PlatformWorker, "broker", "cause", "an impossible result")
	}
	x.network.explain(&r)
	return r, nil
}

// handOver has the Worker answer one call.
func (x *Box) handOver(ctx context.Context, params []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, x.broker.callBound())
	defer cancel()
	x.network.begin()
	reply, err := x.sandbox.Call(ctx, callTool, params)
	return reply, errors.Join(x.network.broken(), err)
}

// renew makes the Task's sandbox anew: what a program of the host's put in the
// place of a protected path is protected then (C-84).
func (x *Box) renew(ctx context.Context) error {
	if err := x.end(); err != nil {
		return err
	}
	return x.start(ctx)
}

func replacedPath(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Args["path"]
	}
	return ""
}

func isReplaced(err error) bool { return fault.CodeOf(err) == fault.PlatformReplaced }

// maxArguments bounds the arguments of one call, in bytes: they must fit into
// one message to the Worker.
const maxArguments = 8 << 20

// callGrace is what a call may take beyond the longest command.
const callGrace = 30 * time.Second

// callBound is how long the Worker may take for one call before it counts as
// hung: commands stop themselves earlier.
func (b *Broker) callBound() time.Duration {
	return max(b.cfg.Policy.Resources.Timeout, sandbox.DefaultTimeout) + callGrace
}

// ready waits until the sandbox stands.
func (x *Box) ready(ctx context.Context) error {
	select {
	case <-x.stands:
		return x.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open claims the workspace and makes the sandbox.
func (x *Box) open(ctx context.Context) (err error) {
	cfg := x.broker.cfg
	if x.release, err = cfg.Run.Claim(ctx, cfg.Policy.Workspace.Root); err != nil {
		return err
	}
	return x.start(ctx)
}

// start makes the sandbox; a program of the host's that changes protected paths
// meanwhile is waited for, a few times.
func (x *Box) start(ctx context.Context) (err error) {
	const attempts = 5
	for range attempts {
		if err = x.startOnce(ctx); !isReplaced(err) {
			break
		}
	}
	return err
}

func (x *Box) startOnce(ctx context.Context) error {
	cfg := x.broker.cfg
	standing, err := sandbox.Start(ctx, sandbox.Options{
		Policy: cfg.Policy, Config: x.broker.settings,
		Placeholders: &placeholders{run: cfg.Run},
		Cgroups:      &journal.Cgroups{Run: cfg.Run},
		Notify:       x.notice, Refuse: cfg.Refuse, Machine: cfg.Machine,
	})
	if err != nil {
		return err
	}
	x.network.mu.Lock()
	x.sandbox = standing
	x.network.mu.Unlock()
	return nil
}

// end ends the sandbox; nothing of it remains.
func (x *Box) end() error {
	x.network.mu.Lock()
	standing := x.sandbox
	x.sandbox = nil
	x.network.mu.Unlock()
	if standing == nil {
		return nil
	}
	return standing.Close()
}

// Close ends the Task's sandbox; nothing of it remains. It may be called more
// than once.
func (x *Box) Close() error {
	x.stop()
	<-x.stands // bounded: the claim and the start end with their context
	var errs []error
	errs = append(errs, x.end())
	if x.release != nil {
		errs = append(errs, x.release())
		x.release = nil
	}
	return errors.Join(errs...)
}

// report writes what a call did, as the Worker told it.
func (x *Box) report(c agent.Call, r tool.Result, j judgement) error {
	if err := x.reportStopped(c, r, j); err != nil {
		return err
	}
	if r.Error != nil && Denial(r.Error.Code) {
		rec := x.record("tool.denied", c)
		rec.Decision, rec.Code = "deny", r.Error.Code
		rec.Path, rec.Rule = first(r.Error.Args, "resolved", "path"), first(r.Error.Args, "source", "rule")
		if err := x.append(rec); err != nil {
			return err
		}
	}
	for _, e := range r.Effects {
		if e.Kind == tool.EffectExecute && !j.approved {
			if err := x.append(x.told("process.start", c, e.Argv0)); err != nil {
				return err
			}
		}
		rec := x.record(event(e.Kind), c)
		rec.Reported, rec.Path, rec.Digest = true, e.Path, e.Digest
		switch e.Kind {
		case tool.EffectRead:
			continue // a read is the tool.call itself
		case tool.EffectWrite:
			if !e.Changed {
				continue
			}
			rec.Bytes = &e.Bytes
		case tool.EffectExecute:
			rec.Argv0, rec.ExitCode = e.Argv0, &e.ExitCode
		case tool.EffectDelete:
		default:
			return fault.New(fault.PlatformWorker, "broker", "cause", "an unknown effect")
		}
		if err := x.append(rec); err != nil {
			return err
		}
	}
	return nil
}

// reportStopped writes the start and the end of a process that a limit ended:
// it has no effect to tell of.
func (x *Box) reportStopped(c agent.Call, r tool.Result, j judgement) error {
	if r.Error == nil || (r.Error.Code != fault.ExecTimeout && r.Error.Code != fault.ExecLimit) {
		return nil
	}
	if !j.approved {
		if err := x.append(x.told("process.start", c, j.argv0)); err != nil {
			return err
		}
	}
	rec := x.told("process.exit", c, j.argv0)
	rec.Code = r.Error.Code
	if name := r.Error.Args["limit"]; slices.Contains(sandbox.Limits, name) { // in our words, not the Worker's
		rec.Limit = name
	}
	return x.append(rec)
}

// told is a record of what only the Worker can know.
func (x *Box) told(event string, c agent.Call, argv0 string) audit.Record {
	rec := x.record(event, c)
	rec.Reported, rec.Argv0 = true, argv0
	return rec
}

func event(k tool.EffectKind) string {
	switch k {
	case tool.EffectDelete:
		return "file.delete"
	case tool.EffectExecute:
		return "process.exit"
	default:
		return "file.write"
	}
}

// Denial reports whether a code is a refusal by policy, not a mishap.
func Denial(c fault.Code) bool {
	switch c {
	case fault.FSOutOfScope, fault.FSReadOnly, fault.FSNoDelete, fault.FSNoExecute, fault.FSOutsideWorkspace, fault.FSPathTraversal,
		fault.FSDanglingLink, fault.FSHardLink, fault.FSDeniedBeneath,
		fault.ExecUnknownAlias, fault.ExecNotApproved, fault.ExecHashMismatch, fault.ExecShellNotApproved, fault.ExecNotAllowed:
		return true
	}
	return c.Family() == "net" || c.Family() == "approval"
}

func (x *Box) record(event string, c agent.Call) audit.Record {
	return audit.Record{Event: event, SessionID: x.session, TaskID: x.task, PlanTask: c.PlanTask, Tool: c.Name}
}

func (x *Box) append(r audit.Record) error {
	if err := x.broker.cfg.Audit.Append(r); err != nil {
		return errors.Join(fault.Wrap(err, fault.PlatformAudit, "broker"), x.Close())
	}
	return nil
}

func digest(args json.RawMessage) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:])
}

func first(a fault.Args, keys ...string) string {
	for _, k := range keys {
		if a[k] != "" {
			return a[k]
		}
	}
	return ""
}
