package blackbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var program string // the built agent-mcp

func TestMain(m *testing.M) {
	dependOnTheProduct()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "blackbox")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "bin", "agent-mcp")
	build := exec.Command("go", "build", "-o", program, "sunaba/cmd/agent-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// house is one person's machine as far as the product sees it.
type house struct {
	t       *testing.T
	dir     string // holds agent.yaml
	ws      string // the workspace
	state   string // XDG_STATE_HOME
	model   *model
	extra   string // appended to agent.yaml
	config  string
	program string   // what is started: agent-mcp, or a name of its own for it
	within  []string // the command that starts the program, in front of it; nil: none

	servers []int    // process ids of all that were started
	placed  []string // directories in which placeholders come and go
}

func newHouse(t *testing.T, extra string) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: dir, ws: filepath.Join(dir, "project"), state: filepath.Join(dir, "state"), model: newModel(t), extra: extra, program: program}
	h.placed = []string{h.ws}
	h.config = filepath.Join(dir, "agent.yaml")
	h.mkdir(h.ws)
	h.configure("sandbox:\n  workspace: { root: ./project }\n  execution: { entries: [ { alias: sh, path: /bin/sh } ] }\n")
	return h
}

// configure writes agent.yaml with the given sandbox part.
func (h *house) configure(sandbox string) {
	h.t.Helper()
	h.write(h.config, fmt.Sprintf("schema_version: 2\nollama: { base_url: %q, model: outsider, retry: { retries: 1, backoff: 10ms } }\n%s%s", h.model.url(), sandbox, h.extra))
}

func (h *house) mkdir(path string) {
	h.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(h.ws, p)
}

func (h *house) write(path, content string) {
	h.t.Helper()
	h.mkdir(filepath.Dir(h.path(path)))
	if err := os.WriteFile(h.path(path), []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// read returns a file's content; "<missing>" when there is none.
func (h *house) read(path string) string {
	h.t.Helper()
	b, err := os.ReadFile(h.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "<missing>"
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func (h *house) environ() []string {
	return []string{"HOME=" + filepath.Join(h.state, "home"), "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" + h.state, "XDG_CONFIG_HOME=" + h.dir + "/config", "SUNABA_TEST_SECRET=s3cr3t",
		"APP_KEYS_0=s3cr3t-key", "BLOB={\n \"token\":\"s3cr3t-blob\"\n}", "AWS_SECRET_ACCESS_KEY=s3cr3t-aws", "LD_PRELOAD_X=s3cr3t"}
}

// command is the program with args on this house's machine.
func (h *house) command(args ...string) *exec.Cmd {
	line := append(append(slices.Clone(h.within), h.program), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env, cmd.Dir = h.environ(), h.dir
	return cmd
}

// agent runs the program to its end.
func (h *house) agent(args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	cmd := h.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String(), errs.String()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return 0, out.String(), errs.String()
}

func (h *house) apply() {
	h.t.Helper()
	if code, out, errs := h.agent("apply", "--yes", h.config); code != 0 {
		h.t.Fatalf("apply: exit %d\n%s%s", code, out, errs)
	}
}

// client is a raw MCP client on the server's standard streams.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	ended  func() int // waits for the server and returns its exit code
	in     io.WriteCloser
	lines  chan string
	stderr *lockedBuffer
	next   int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts the server and initializes.
func (h *house) serve() *client {
	h.t.Helper()
	c := h.begin((*exec.Cmd).Start)
	c.living(c.initialize())
	return c
}

// begin starts the server with start.
func (h *house) begin(start func(*exec.Cmd) error) *client {
	h.t.Helper()
	cmd := h.command(h.config)
	c := &client{t: h.t, cmd: cmd, lines: make(chan string, 100), stderr: &lockedBuffer{}}
	c.ended = func() int {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	}
	cmd.Stderr = c.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := start(cmd); err != nil {
		h.t.Fatal(err)
	}
	h.servers = append(h.servers, cmd.Process.Pid)
	c.in = in
	go func() {
		defer close(c.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() { c.stop() })
	return c
}

// living ends the test where the server has ended.
func (c *client) living(ok bool) {
	c.t.Helper()
	if !ok {
		c.t.Fatalf("the server ended\n%s", c.stderr)
	}
}

// initialize reports whether the server lived to answer.
func (c *client) initialize() bool {
	c.t.Helper()
	_, ok := c.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"outsider","version":"1"}}`)
	return ok && c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// stop closes the server's input and returns its exit code.
func (c *client) stop() int {
	if c.cmd.ProcessState != nil {
		return c.cmd.ProcessState.ExitCode()
	}
	c.in.Close()
	timer := time.AfterFunc(30*time.Second, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	for range c.lines {
	}
	return c.ended()
}

func (c *client) send(line string) {
	c.t.Helper()
	c.living(c.write(line))
}

// write reports whether there was a server to write to.
func (c *client) write(line string) bool {
	_, err := io.WriteString(c.in, line+"\n")
	return err == nil
}

// receive returns the next line, which must be a JSON-RPC message.
func (c *client) receive() map[string]any {
	c.t.Helper()
	m, ok := c.message()
	c.living(ok)
	return m
}

// message is receive, or false at the end of the server.
func (c *client) message() (map[string]any, bool) {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			return nil, false
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["jsonrpc"] != "2.0" {
			c.t.Fatalf("stdout carries something else than MCP: %q", line)
		}
		return m, true
	case <-time.After(60 * time.Second):
		c.t.Fatalf("no answer\n%s", c.stderr)
		return nil, false
	}
}

// call sends a request and returns its result.
func (c *client) call(method, params string) map[string]any {
	c.t.Helper()
	r, ok := c.ask(method, params)
	c.living(ok)
	return r
}

// ask is call, or false at the end of the server.
func (c *client) ask(method, params string) (map[string]any, bool) {
	c.t.Helper()
	c.next++
	if !c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.next, method, params)) {
		return nil, false
	}
	for {
		m, ok := c.message()
		if !ok {
			return nil, false
		}
		if id, ok := m["id"].(float64); ok && int(id) == c.next {
			if m["error"] != nil {
				return map[string]any{"error": m["error"]}, true
			}
			return m["result"].(map[string]any), true
		}
	}
}

// tool calls an MCP tool and returns its structured content and text.
func (c *client) tool(name string, args map[string]any) (map[string]any, string) {
	c.t.Helper()
	structured, text, ok := c.askTool(name, args)
	c.living(ok)
	return structured, text
}

// askTool is tool, or false at the end of the server.
func (c *client) askTool(name string, args map[string]any) (structured map[string]any, text string, ok bool) {
	c.t.Helper()
	params, err := json.Marshal(map[string]any{"name": name, "arguments": args})
	if err != nil {
		c.t.Fatal(err)
	}
	r, ok := c.ask("tools/call", string(params))
	if !ok {
		return nil, "", false
	}
	if content, ok := r["content"].([]any); ok {
		for _, item := range content {
			if s, ok := item.(map[string]any)["text"].(string); ok {
				text += s
			}
		}
	}
	structured, _ = r["structuredContent"].(map[string]any)
	if structured == nil {
		structured = map[string]any{}
	}
	if r["isError"] == true {
		structured["isError"] = true
	}
	return structured, text, true
}

// job runs one request to its end and returns the last status.
func (c *client) job(request string) (map[string]any, string) {
	c.t.Helper()
	ticket, text := c.tool("agent_run", map[string]any{"request": request})
	id, _ := ticket["task_id"].(string)
	if id == "" {
		c.t.Fatalf("agent_run: %v\n%s", ticket, text)
	}
	return c.end(id)
}

// end waits until a job has ended: a wait returns at every change of state.
func (c *client) end(id any) (map[string]any, string) {
	c.t.Helper()
	for range 20 {
		status, text := c.tool("agent_status", map[string]any{"task_id": id, "wait_seconds": 25})
		switch status["status"] {
		case "completed", "failed", "cancelled":
			return status, text
		}
	}
	c.t.Fatalf("the job does not end\n%s", c.stderr)
	return nil, ""
}

// audit returns all audit records of the house, in order of files and lines.
func (h *house) audit() []map[string]any {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.state, "agent-mcp", "log", "audit-*.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	var all []map[string]any
	for _, f := range files {
		for line := range strings.Lines(h.read(f)) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				h.t.Fatalf("%s: %v: %q", f, err, line)
			}
			all = append(all, m)
		}
	}
	return all
}
