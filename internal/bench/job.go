package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"sunaba/internal/ollamatest"
)

// shellCalls is how many commands the measured job runs.
const shellCalls = 20

// script is a model that plans one task, runs its commands one by one, and
// ends. It plays as many jobs as are asked for.
func script() (*ollamatest.Script, error) {
	const jobs = 100
	var b strings.Builder
	for range jobs {
		b.WriteString("## plan\ntask t1 execute 300 700 1800 16K Run | Run the commands.\n")
		for i := range shellCalls {
			fmt.Fprintf(&b, "## call\ncall run_command {\"argv\":[\"sh\",\"-c\",\"echo %d\"]}\n", i)
		}
		b.WriteString("## end\nfinish done \"All commands ran.\"\n")
	}
	return ollamatest.Parse("bench", b.String())
}

func startModel() (*ollamatest.Server, error) {
	s, err := script()
	if err != nil {
		return nil, err
	}
	return ollamatest.Start(s)
}

// jobs measures whole jobs through the built server over stdio.
func (s *stage) jobs(ctx context.Context, p printer) error {
	model, err := startModel()
	if err != nil {
		return err
	}
	defer model.Close()
	t, err := newStage(s.agent, model.URL())
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.apply(ctx); err != nil {
		return err
	}

	// The first job is recorded: its prompts are measured, and played again
	// without the product as the floor.
	c, err := t.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if _, err := c.job(); err != nil {
		return err
	}
	recorded := model.Chats()
	floorModel, err := startModel()
	if err != nil {
		return err
	}
	defer floorModel.Close()
	replay := timed(func() error {
		for _, r := range recorded {
			if err := post(ctx, floorModel.URL()+"/api/chat", r.Body); err != nil {
				return err
			}
		}
		return nil
	})
	ours, floor, err := inTurns(10, c.job, replay)
	if err != nil {
		return err
	}
	err = p.table(fmt.Sprintf("a whole job of %d shell calls", shellCalls), []figure{
		{"agent_run to completed", ours, floor, "the same chat turns sent by a bare HTTP client", ""},
	})
	if err != nil {
		return err
	}
	beyond := (ours.median() - floor.median()) / shellCalls
	p.plain("beyond the model, for each call", short(beyond), "2.5 ms")

	peak, err := t.peakMemory(c)
	if err != nil {
		return err
	}
	p.plain("peak memory of server, Worker and commands, "+peak.how, fmt.Sprintf("%.1f MB", float64(peak.all)/1e6), "45 MB")
	p.plain("of it resident in the Worker", fmt.Sprintf("%.1f MiB", float64(peak.worker)/(1<<20)), "12 MiB")
	return prompts(p, recorded)
}

// memory is the most that was held at one moment, in bytes.
type memory struct {
	all    int64  // by the server and everything beneath it
	how    string // all was counted
	worker int64  // resident in the Worker alone
}

// prompts shows what the first request of a task carries.
func prompts(p printer, chats []ollamatest.Request) error {
	if len(chats) < 2 {
		return errors.New("the job made no requests")
	}
	var body struct {
		Messages []struct{ Role, Content string }
		Tools    json.RawMessage
	}
	if err := json.Unmarshal(chats[1].Body, &body); err != nil { // [0] is the planner's
		return err
	}
	system := 0
	for _, m := range body.Messages {
		if m.Role == "system" {
			system += len(m.Content)
		}
	}
	p.plain("first prompt: system text + tools", fmt.Sprintf("%d + %d = %d bytes", system, len(body.Tools), system+len(body.Tools)), "6144 bytes")
	p.plain("whole requests: plan, first of the task, last", fmt.Sprintf("%d, %d, %d bytes", len(chats[0].Body), len(chats[1].Body), len(chats[len(chats)-1].Body)), "-")
	return nil
}

func post(ctx context.Context, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// client speaks MCP with a server it started, one request at a time.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	next int
}

func (s *stage) connect(ctx context.Context) (*client, error) {
	c := &client{cmd: exec.CommandContext(ctx, s.agent, s.config)}
	c.cmd.Env, c.cmd.Stderr = s.environ(), &c.errs
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err = io.WriteString(c.in, initialize); err == nil {
		_, err = c.out.ReadString('\n')
	}
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	c.next = 1
	return c, err
}

func (c *client) close() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait()
}

// tool calls an MCP tool.
func (c *client) tool(name string, args map[string]any) (map[string]any, error) {
	c.next++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n",
		c.next, arguments(map[string]any{"name": name, "arguments": args})); err != nil {
		return nil, err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     int
			Result struct{ StructuredContent map[string]any }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		if m.ID == c.next {
			return m.Result.StructuredContent, nil
		}
	}
}

// job is the act of running one job to its end.
func (c *client) job() (time.Duration, error) {
	began := time.Now()
	ticket, err := c.tool("agent_run", map[string]any{"request": "Run the commands."})
	if err != nil {
		return 0, err
	}
	for err == nil {
		var status map[string]any
		status, err = c.tool("agent_status", map[string]any{"task_id": ticket["task_id"], "wait_seconds": 25})
		switch status["status"] {
		case "queued", "planning", "running":
			continue
		case "completed":
			return time.Since(began), nil
		}
		if err == nil {
			err = fmt.Errorf("the job ended as %v", status)
		}
	}
	return 0, err
}
