package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// environment is the demo's own, with the state directory of the stage.
func (s *stage) environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "XDG_") {
			env = append(env, e)
		}
	}
	return append(env, "XDG_STATE_HOME="+s.state)
}

// apply has the policy applied, as a person would with "agent-mcp apply". What
// it printed is returned.
func (s *stage) apply(ctx context.Context, agent string) (string, error) {
	cmd := exec.CommandContext(ctx, agent, "apply", "--yes", s.config)
	cmd.Env, cmd.Dir = s.environment(), s.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("agent-mcp apply: %w", err)
	}
	return string(out), nil
}

// client is an MCP client with its server as a child process.
type client struct {
	session *mcp.ClientSession
	stderr  *lockedBuffer
}

// connect starts the server and speaks MCP with it over stdio.
func (s *stage) connect(ctx context.Context, agent string) (*client, error) {
	cmd := exec.Command(agent, s.config)
	cmd.Env, cmd.Dir = s.environment(), s.root
	c := &client{stderr: &lockedBuffer{}}
	cmd.Stderr = c.stderr
	m := mcp.NewClient(&mcp.Implementation{Name: "sunaba-demo", Version: "1"}, nil)
	session, err := m.Connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 20 * time.Second}, nil)
	if err != nil {
		return c, fmt.Errorf("agent-mcp: %w\n%s", err, c.stderr.String())
	}
	c.session = session
	return c, nil
}

// close ends the server by ending its input.
func (c *client) close() error {
	if c.session == nil {
		return nil
	}
	session := c.session
	c.session = nil
	return session.Close()
}

// status is what agent_status tells.
type status struct {
	TaskID   string `json:"task_id"`
	Status   string `json:"status"`
	Progress struct {
		Completed int `json:"completed"`
		Total     int `json:"total"`
	} `json:"progress"`
	Iterations int `json:"iterations"`
	Replans    int `json:"replans"`
	Tokens     struct {
		Input  int `json:"input"`
		Output int `json:"output"`
		Total  int `json:"total"`
	} `json:"tokens"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Result     string `json:"result"`
	NextOffset int    `json:"next_offset"`

	text string // everything the client was told, for the search afterwards
}

func (s status) ended() bool {
	return s.Status == "completed" || s.Status == "failed" || s.Status == "cancelled"
}

// call calls one tool of the server.
func (c *client) call(ctx context.Context, tool string, arguments map[string]any) (status, error) {
	r, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return status{}, err
	}
	var said strings.Builder
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			said.WriteString(t.Text + "\n")
		}
	}
	if r.IsError {
		return status{}, errors.New(strings.TrimSpace(said.String()))
	}
	facts, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return status{}, err
	}
	var s status
	if err := json.Unmarshal(facts, &s); err != nil {
		return status{}, err
	}
	s.text = said.String() + string(facts)
	return s, nil
}

// await asks until the Task has ended, and puts the pages of its answer
// together.
func (c *client) await(ctx context.Context, task string) (status, error) {
	for {
		s, err := c.call(ctx, "agent_status", map[string]any{"task_id": task, "wait_seconds": 20})
		if err != nil {
			return s, err
		}
		if !s.ended() {
			continue
		}
		for next := s.NextOffset; next > 0; {
			more, err := c.call(ctx, "agent_status", map[string]any{"task_id": task, "offset": next})
			if err != nil {
				return s, err
			}
			s.Result, s.text = s.Result+more.Result, s.text+more.text
			next = more.NextOffset
		}
		return s, nil
	}
}

// lockedBuffer keeps what a process writes while it runs.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
