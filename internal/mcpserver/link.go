package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection of the SDK within a pipe: both its transport and its
// connection.
type link struct {
	pipe *pipe
	in   chan jsonrpc.Message
	done chan struct{}
	end  sync.Once

	// guarded by pipe.mu
	initialized bool
	retired     bool // closes once its last reply is out
	owed        int
}

// connect opens a link, nil when the SDK refuses it. p.mu is held.
func (p *pipe) connect() *link {
	l := &link{pipe: p, in: make(chan jsonrpc.Message), done: make(chan struct{})}
	if _, err := p.server.mcp.Connect(p.ctx, l, nil); err != nil {
		p.server.log.Error("connecting failed", "error", err)
		return nil
	}
	p.links = append(p.links, l)
	return l
}

// retire lets l finish what it owes and then closes it. p.mu is held.
func (p *pipe) retire(l *link) {
	if l == nil {
		return
	}
	l.retired = true
	p.closeRetired(l)
}

func (p *pipe) closeRetired(l *link) {
	if l.retired && l.owed == 0 {
		_ = l.Close()
		p.links = slices.DeleteFunc(p.links, func(o *link) bool { return o == l })
	}
}

// Connect implements mcp.Transport.
func (l *link) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// Read implements mcp.Connection.
func (l *link) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.in:
		return msg, nil
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. A reply to a cancelled request is dropped.
func (l *link) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		line, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		return l.pipe.write(append(line, '\n'))
	}
	p := l.pipe
	p.mu.Lock()
	c := p.calls[resp.ID]
	if c == nil {
		p.mu.Unlock()
		return nil
	}
	// The client may use the id again as soon as it has the reply.
	delete(p.calls, resp.ID)
	if resp.Error != nil && c.method == "initialize" && p.legacy == l {
		p.legacy = nil // it serves nothing; the next initialize gets another
		l.retired = true
	}
	p.mu.Unlock()

	var err error
	if !c.cancelled {
		id, _ := json.Marshal(resp.ID.Raw())
		err = p.write(encodeReply(id, resp.Result, wireError(resp.Error)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.owed--
	p.owed--
	p.closeRetired(l)
	p.settle()
	return err
}

// Close implements mcp.Connection.
func (l *link) Close() error {
	l.end.Do(func() { close(l.done) })
	return nil
}

// SessionID implements mcp.Connection; there is none.
func (l *link) SessionID() string { return "" }

// wireError keeps the code the SDK wrapped and the outermost sentence.
func wireError(err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &jsonrpc.Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	}
	return &jsonrpc.Error{Message: err.Error()}
}
