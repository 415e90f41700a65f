// Package mcpserver is the MCP face of the agent: exactly two tools, agent_run
// and agent_status, over stdio and over Streamable HTTP on loopback.
//
// The one rule to keep in mind: what arrives here is a stranger's text. It is
// checked before anything is queued, and no error ever repeats it.
package mcpserver

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/fault"
	"sunaba/internal/session"
)

// Jobs is the work behind the two tools. Its methods are safe for concurrent
// use and return errors that carry a fault.Code.
type Jobs interface {
	// Submit queues a request and returns at once.
	Submit(session.Request) (session.Ticket, error)
	// Status tells the present state of a Task. A sessionID that is not empty
	// must be the Task's. With a positive wait it returns as soon as the state
	// changes, the Task ends or an approval is needed, at the latest after
	// wait. Ending ctx ends only the waiting.
	Status(ctx context.Context, taskID, sessionID string, wait time.Duration) (session.Status, error)
	// Cancel asks for a Task to stop; it does not wait for that.
	Cancel(taskID string) error
	// CancelOwned asks every unfinished Task of owner to stop (REC-04).
	CancelOwned(owner string)
}

// Texts are the sentences of the configured language (I18N-07).
type Texts interface {
	// Text returns the text of a locale key.
	Text(key string, args fault.Args) string
	// Fault returns the sentence of a code and what can be done about it; hint
	// may be empty.
	Fault(code fault.Code, args fault.Args) (message, hint string)
}

// Limits bound what agent_run takes in (ollama.vision of agent.yaml). A zero
// field takes its default: 4 images, 5 MiB each, 16 MiB a request.
type Limits struct {
	MaxImages       int
	MaxImageBytes   int64 // decoded, one image
	MaxRequestBytes int64 // text and decoded images together
}

// Config holds what a Server needs. Jobs and Texts are required.
type Config struct {
	Jobs    Jobs
	Texts   Texts
	Version string
	Limits  Limits
	// PollInterval is the pace suggested to clients with the tasks extension,
	// TTL how long a Task may be asked for there. Zero: 2 s and 24 h.
	PollInterval, TTL time.Duration
	// Vision reports whether the model takes images. Nil or an error means it
	// is not known, and images are let through.
	Vision func(context.Context) (bool, error)
	// Log receives diagnostics without content. Nil discards them.
	Log *slog.Logger
}

// Server answers MCP clients. It is safe for concurrent use and may serve
// several transports at once; each ServeStdio is one owner of Tasks (C-37).
type Server struct {
	jobs   Jobs
	texts  Texts
	limits Limits
	poll   time.Duration
	ttl    time.Duration
	vision func(context.Context) (bool, error)
	log    *slog.Logger
	mcp    *mcp.Server
}

// New returns a Server. It does no I/O.
func New(c Config) *Server {
	s := &Server{
		jobs: c.Jobs, texts: c.Texts, limits: c.Limits,
		poll: c.PollInterval, ttl: c.TTL, vision: c.Vision, log: c.Log,
	}
	if s.limits.MaxImages <= 0 {
		s.limits.MaxImages = 4
	}
	if s.limits.MaxImageBytes <= 0 {
		s.limits.MaxImageBytes = 5 << 20
	}
	if s.limits.MaxRequestBytes <= 0 {
		s.limits.MaxRequestBytes = 16 << 20
	}
	if s.poll <= 0 {
		s.poll = 2 * time.Second
	}
	if s.ttl <= 0 {
		s.ttl = 24 * time.Hour
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.mcp = s.protocol(c.Version)
	return s
}

// protocol assembles the SDK's server. The SDK gets no logger: its internal
// errors print whole results.
func (s *Server) protocol(version string) *mcp.Server {
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	caps.AddExtension(tasksExtension, nil)
	m := mcp.NewServer(&mcp.Implementation{
		Name: "sunaba", Title: "Sunaba", Version: version,
	}, &mcp.ServerOptions{
		Instructions: s.texts.Text("run.instructions", nil),
		Capabilities: caps,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = int(listTTL.Milliseconds()), "public"
		},
	})
	m.AddTool(s.runTool(), s.agentRun)
	m.AddTool(s.statusTool(), s.agentStatus)
	s.addTasks(m)
	m.AddReceivingMiddleware(s.recoverPanics)
	return m
}

// listTTL is how long a client may keep the list of tools: it changes only
// with the language or the program.
const listTTL = 5 * time.Minute

// lineLimit is the most bytes one JSON-RPC message may have: images in base64,
// text with every character escaped, and the envelope. A message in which every
// image is permitted but all together are not still fits: it is refused with a
// sentence that says so, not as a line that nobody read.
func (s *Server) lineLimit() int64 {
	images := max(s.limits.MaxRequestBytes, int64(s.limits.MaxImages)*s.limits.MaxImageBytes)
	return images/3*4 + maxRequestText + 256<<10
}
