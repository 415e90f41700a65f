package broker

import (
	"slices"
	"strings"
	"sync"

	"sunaba/fault"
	"sunaba/internal/audit"
	"sunaba/policy"
	"sunaba/sandbox"
	"sunaba/tool"
)

// notices is what a Task hears of its network. Its methods may be called from
// several goroutines.
type notices struct {
	mu      sync.Mutex
	refused []string // connections of the present call, for the model
	offline bool     // the present call wanted a TCP socket where there is no network
	failure error    // a notice could not be recorded
}

// mostExplained is how many refused connections the model is told of.
const mostExplained = 4

func (n *notices) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused, n.offline = nil, false
}

// broken is why the Task must not go on.
func (n *notices) broken() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}

// explain adds to the result of a failed command what connections were refused
// to it, or that there is no network. Other sockets than TCP's are not told: many
// programs try some that they do not need.
func (n *notices) explain(r *tool.Result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.refused) == 0 && !n.offline || !slices.ContainsFunc(r.Effects, failed) && r.OK {
		return
	}
	named := func(name string) bool {
		return slices.ContainsFunc(r.Fields, func(f tool.Field) bool { return f.Name == name })
	}
	file := named("blocked_path") // a file's refusal keeps its own mark and hint
	if !file && !named("blocked") {
		r.Fields = append(r.Fields, tool.Field{Name: "blocked", Value: "network"})
	}
	hint := "blocked_network"
	if len(n.refused) > 0 {
		r.Fields = append(r.Fields, tool.Field{Name: "blocked_endpoints", Value: strings.Join(n.refused, ", ")})
		hint = "blocked_endpoint"
	}
	if !file {
		r.Hint = hint
	}
}

func failed(e tool.Effect) bool { return e.Kind == tool.EffectExecute && e.ExitCode != 0 }

// notice records what the network let through or refused. It runs before
// anything passes through a connection; when it cannot be recorded, the Task's
// sandbox is ended.
func (x *Box) notice(n sandbox.Notice) {
	p := &x.broker.cfg.Policy.Network
	rec := audit.Record{
		Event: "network.allow", Decision: "allow", SessionID: x.session, TaskID: x.task,
		Protocol: n.Protocol, Failed: n.Failed, Reported: n.Reported, Rule: p.Source,
	}
	if !n.Allowed {
		rec.Event, rec.Decision, rec.Code = "network.deny", "deny", fault.NetDenied
	}
	if n.Count > 1 {
		rec.Count = n.Count
	}
	if n.Address.IsValid() {
		rec.Address = n.Address.String()
	}
	named := policy.Endpoint{Host: n.Host, Port: int(n.Address.Port())}
	if n.Host != "" || n.Allowed && n.Address.IsValid() {
		rec.Endpoint = named.Name()
	}
	for _, e := range p.Endpoints {
		if n.Address.IsValid() && e.Host == named.Host && e.Port == named.Port {
			rec.Rule = e.Source // also of a closed one: that is what decided
		}
	}
	x.network.mu.Lock()
	defer x.network.mu.Unlock()
	if !n.Allowed && n.Protocol == "tcp" && n.Address.IsValid() {
		what := rec.Endpoint
		if what == "" {
			what = rec.Address
		}
		if len(x.network.refused) < mostExplained && !slices.Contains(x.network.refused, what) {
			x.network.refused = append(x.network.refused, what)
		}
	}
	if !n.Allowed && p.Mode == "none" && (n.Protocol == "inet stream" || n.Protocol == "inet6 stream") {
		x.network.offline = true
	}
	if x.network.failure != nil {
		return
	}
	if err := x.broker.cfg.Audit.Append(rec); err != nil {
		x.network.failure = fault.Wrap(err, fault.PlatformAudit, "broker")
		go x.abandon() // it waits for whoever told this
	}
}

// abandon ends the sandbox of a Task that cannot be recorded any more.
func (x *Box) abandon() {
	<-x.stands
	x.network.mu.Lock()
	s := x.sandbox
	x.network.mu.Unlock()
	if s != nil {
		_ = s.Close() // the Task's own Close tells the same
	}
}
