package sandbox

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"sunaba/sandbox/internal/relay"
	"sunaba/sandbox/internal/resets"
	"sunaba/sandbox/internal/seccomp"
	"sunaba/sandbox/internal/tally"
	"sunaba/sandbox/internal/wire"
)

// attempt is what somebody inside tried in vain, as the Worker tells it.
type attempt struct {
	Protocol string         `json:"protocol"`
	Address  netip.AddrPort `json:"address"`
	Count    int            `json:"count"`
}

// others stands for attempts too many and various to be told apart.
const others = "other"

// reporter is the Worker's side of notices.
type reporter struct {
	tally     *tally.Tally[attempt]
	resets    []*resets.Watcher
	unwatched []string
}

// newReporter tells attempts on conn. That conn is broken is found out by
// whoever reads it.
func newReporter(conn *wire.Conn) *reporter {
	return &reporter{tally: tally.New(attempt{Protocol: others}, func(a attempt, n int) {
		a.Count = n
		body, err := json.Marshal(a)
		if err == nil {
			_ = conn.Send(wire.Message{Kind: wire.Notice, Body: body})
		}
	})}
}

// watchResets opens what sees connections that nobody took. What cannot be seen
// is refused all the same.
func (r *reporter) watchResets(ipv6 bool) {
	open := []func() (*resets.Watcher, error){resets.IPv4}
	if ipv6 {
		open = append(open, resets.IPv6)
	}
	for _, o := range open {
		w, err := o()
		if err != nil {
			r.blind()
			return
		}
		r.resets = append(r.resets, w)
	}
}

// blind notes that not every refused connection is seen.
func (r *reporter) blind() { r.unwatched = []string{unwatchedConnections} }

// serve begins to tell, of refused sockets too when l is not nil.
func (r *reporter) serve(l *seccomp.Listener) {
	if l != nil {
		r.hear(l)
	} else {
		r.unwatched = append(r.unwatched, unwatchedSockets)
	}
	for _, w := range r.resets {
		go w.Serve(func(a netip.AddrPort) { r.tally.Add(attempt{Protocol: "tcp", Address: a}) })
	}
}

// hear tells of the sockets that l refuses; nil refuses in silence.
func (r *reporter) hear(l *seccomp.Listener) {
	if l != nil {
		go func() { _ = l.Serve(func(s seccomp.Socket) { r.tally.Add(attempt{Protocol: s.String()}) }) }()
	}
}

// flush tells all that was attempted so far.
func (r *reporter) flush() {
	for _, w := range r.resets {
		w.Drain()
	}
	r.tally.Flush()
}

// What nobody may hear of.
const (
	unwatchedSockets     = "sockets"
	unwatchedConnections = "connections"
)

// notices is the broker's side: what the relay let through and what the Worker
// says was refused, on their way to Options.Notify.
type notices struct {
	passed, refused *tally.Tally[Notice]
}

func newNotices(notify func(Notice)) notices {
	tell := func(n Notice, times int) {
		if n.Count = times; notify != nil {
			notify(n)
		}
	}
	return notices{
		passed:  tally.New(Notice{Allowed: true, Protocol: others}, tell),
		refused: tally.New(Notice{Protocol: others, Reported: true}, tell),
	}
}

// relayed takes in what the relay did.
func (n notices) relayed(e relay.Event) {
	told := Notice{Allowed: true, Protocol: "tcp", Host: e.Target.Host, Address: e.Address, Failed: e.Failed}
	switch {
	case e.Failed == relay.Own:
		told.Allowed, told.Failed = false, ""
		n.refused.Add(told)
	default:
		n.passed.Add(told)
	}
}

func (n notices) flush() {
	n.passed.Flush()
	n.refused.Flush()
}

// Bounds of what a Worker may tell in one notice.
const (
	maxProtocol = 64
	maxCount    = 1 << 20
)

// reported takes in what the Worker tells. It is a stranger: anything
// but a well-formed notice is an error.
func (n notices) reported(body []byte, hostOf func(netip.AddrPort) string) error {
	var a attempt
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("notice: %w", err)
	}
	if a.Count < 1 || a.Count > maxCount || !plainWord(a.Protocol) || a.Address.Addr().Zone() != "" {
		return fmt.Errorf("notice: protocol %.80q, count %d", a.Protocol, a.Count)
	}
	n.refused.AddN(Notice{
		Protocol: a.Protocol, Address: a.Address, Host: hostOf(a.Address), Reported: true,
	}, a.Count)
	return nil
}

// plainWord reports whether s is what a reporter calls a protocol.
func plainWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != ' ' {
			return false
		}
	}
	return s != "" && len(s) <= maxProtocol
}
