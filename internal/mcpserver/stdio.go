package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// drainTime bounds how long replies in flight are waited for once the
	// client has closed its end.
	drainTime = 5 * time.Second
	// maxInFlight bounds the requests one client has open.
	maxInFlight = 1024
)

// ServeStdio serves one client over a pair of pipes, one message a line, until
// in ends, ctx ends or out breaks; all three are ordinary ends and give nil. It
// then asks the Tasks this client owns to stop (REC-04). Nothing but MCP is
// written to out. ready is called once messages are read (S1-097).
//
// A line that is not a message is answered and forgotten, and the next one is
// read. The SDK's own stdio transport ends there, drops replies at the end of
// input, answers cancelled requests and knows one initialize and one protocol
// era; hence this one.
//
// Reading in and writing out cannot be interrupted: when ctx ends, goroutines
// that are blocked there stay behind until the pipes close.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, ready func()) error {
	draining := make(chan struct{})
	owner := "stdio-" + uuid.NewString()
	defer s.jobs.CancelOwned(owner)
	p := &pipe{
		server: s, out: out,
		ctx:    withCaller(context.WithoutCancel(ctx), caller{owner: owner, draining: draining}),
		broken: make(chan struct{}),
		calls:  map[jsonrpc.ID]*openCall{},
	}
	defer p.close()

	lines, stopped := make(chan []byte), make(chan struct{})
	defer close(stopped)
	go func() {
		defer close(lines)
		err := readLines(in, s.lineLimit(), func(line []byte) bool {
			select {
			case lines <- line:
				return true
			case <-stopped:
				return false
			}
		})
		if err != nil {
			s.log.Warn("reading requests failed", "error", err)
		}
	}()
	// A client that does not read blocks this goroutine, not the end.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for line := range lines {
			p.accept(ctx, line)
		}
	}()
	if ready != nil {
		ready()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	case <-p.broken:
		return nil
	}
	close(draining)
	p.drain(drainTime)
	return nil
}

// pipe is one client on stdio. The SDK's server ends a connection at a second
// initialize and mixes up protocol eras, so that a pipe carries several
// connections of the SDK (links) and hands each message to the right one.
type pipe struct {
	server *Server
	ctx    context.Context // of the links; never cancelled, carries the caller

	writing sync.Mutex // held while a line goes out
	out     io.Writer
	broken  chan struct{} // closed when out failed

	mu       sync.Mutex
	isBroken bool
	calls    map[jsonrpc.ID]*openCall
	owed     int           // replies not yet written
	idle     chan struct{} // set while draining, closed at owed == 0
	links    []*link       // every open one
	legacy   *link         // of the last initialize
	modern   *link
}

// openCall is a request that has no reply yet.
type openCall struct {
	link      *link
	method    string
	cancelled bool // by the client: it gets no reply
}

// accept takes one line; nil stands for one that was too long.
func (p *pipe) accept(ctx context.Context, line []byte) {
	if line == nil {
		p.answer(bad(nil, jsonrpc.CodeInvalidRequest, "the message is too long"))
		return
	}
	m, problem := parseMessage(line)
	if problem != nil {
		p.answer(problem)
		return
	}
	if m.call == nil {
		return // a response: this server asks nothing of its client
	}
	if m.call.Method == "notifications/cancelled" {
		p.cancel(ctx, m.call)
		return
	}
	l, refused := p.open(m)
	if refused != nil {
		p.answer(refused)
		return
	}
	if l != nil {
		p.pass(ctx, l, m.call)
	}
}

// open finds the link for m, makes one where needed, and notes that a reply is
// owed. A nil link means that m needs no answer from anyone.
func (p *pipe) open(m message) (*link, *malformed) {
	rawID, _ := json.Marshal(m.call.ID.Raw())
	p.mu.Lock()
	defer p.mu.Unlock()
	if !m.call.IsCall() {
		return p.legacy, nil
	}
	switch {
	case p.calls[m.call.ID] != nil:
		return nil, bad(nil, jsonrpc.CodeInvalidRequest, "a request with this id is still open")
	case len(p.calls) >= maxInFlight:
		return nil, bad(rawID, jsonrpc.CodeInternalError, "too many requests are open")
	}
	var l *link
	switch {
	case m.modern:
		if p.modern == nil {
			p.modern = p.connect()
		}
		l = p.modern
	case m.call.Method == "initialize":
		if p.legacy == nil || p.legacy.initialized {
			p.retire(p.legacy)
			p.legacy = p.connect()
		}
		if l = p.legacy; l != nil {
			l.initialized = true
		}
	case m.call.Method == "ping" || m.call.Method == "server/discover":
		if p.legacy == nil {
			p.legacy = p.connect()
		}
		l = p.legacy
	case p.legacy == nil || !p.legacy.initialized:
		return nil, bad(rawID, jsonrpc.CodeInvalidRequest, "initialize has to come first")
	default:
		l = p.legacy
	}
	if l == nil {
		return nil, bad(rawID, jsonrpc.CodeInternalError, "internal error")
	}
	p.calls[m.call.ID] = &openCall{link: l, method: m.call.Method}
	l.owed++
	p.owed++
	return l, nil
}

// cancel takes the reply of a request back and ends its handler; the Task
// behind it goes on (mcp.cancel). Unknown ids are ignored.
func (p *pipe) cancel(ctx context.Context, note *jsonrpc.Request) {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(note.Params, &params) != nil {
		return
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if err != nil || !id.IsValid() {
		return
	}
	p.mu.Lock()
	c := p.calls[id]
	if c == nil || c.method == "initialize" {
		p.mu.Unlock()
		return
	}
	c.cancelled = true
	p.mu.Unlock()
	p.pass(ctx, c.link, note)
}

func (p *pipe) pass(ctx context.Context, l *link, call *jsonrpc.Request) {
	select {
	case l.in <- call:
	case <-l.done:
	case <-p.broken:
	case <-ctx.Done():
	}
}

// answer writes the reply to a message no link saw.
func (p *pipe) answer(problem *malformed) {
	_ = p.write(encodeReply(problem.id, nil, &problem.Error))
}

// write puts one line out, whole. A failure breaks the pipe.
func (p *pipe) write(line []byte) error {
	p.writing.Lock()
	_, err := p.out.Write(line)
	p.writing.Unlock()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.isBroken {
			p.isBroken = true
			close(p.broken)
			p.server.log.Info("the client no longer reads", "error", err)
		}
	}
	return err
}

// drain waits until no reply is owed, at most limit.
func (p *pipe) drain(limit time.Duration) {
	p.mu.Lock()
	p.idle = make(chan struct{})
	p.settle()
	idle := p.idle
	p.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-p.broken:
	case <-timer.C:
		p.server.log.Warn("replies were still open when the client left")
	}
}

// settle closes idle once nothing is owed. p.mu is held.
func (p *pipe) settle() {
	if p.idle != nil && p.owed == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		_ = l.Close()
	}
}
