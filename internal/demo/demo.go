package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sunaba/internal/audit"
	"sunaba/internal/locale"
	"sunaba/internal/screen"
)

// Options say how the demo is run.
type Options struct {
	Agent    string // the agent-mcp program
	Self     string // the program whose "connect ADDRESS" is Connect
	Language string // en or ja; "" is en
	Host     string // as in OLLAMA_HOST; "" is the default port of this machine
	Model    string // "" takes the first that can call tools
	Keep     bool   // leaves the folder behind
	Out      io.Writer
}

// ErrNotProved says that the job ran, but something the demo is there to show
// does not hold; what it is has been printed.
var ErrNotProved = errors.New("the demo did not hold what it promises")

const (
	scriptedBound = 5 * time.Minute
	realBound     = 45 * time.Minute
)

// Run plays the demo. A nil error means that everything it is there to show
// was found to hold.
func Run(ctx context.Context, o Options) (err error) {
	if o.Language == "" {
		o.Language = locale.Fallback
	}
	catalog, err := locale.LoadFrom(o.Language)
	if err != nil {
		return err
	}
	p := page{out: o.Out, texts: catalog, coloured: screen.Coloured(o.Out)}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	if shell, err = filepath.Abs(shell); err != nil {
		return err
	}
	d, err := openDoor()
	if err != nil {
		return err
	}
	defer d.close()
	s, err := build()
	if s != nil && !o.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(s.root)) }()
	}
	if err != nil {
		return err
	}
	e, err := chooseModel(ctx, o, s, d, p)
	if err != nil {
		return err
	}
	defer e.close()
	bound := realBound
	if e.script != nil {
		bound = scriptedBound
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()

	p.root = s.root
	p.heading("demo.title")
	if e.script != nil {
		p.fact("demo.model", p.text("demo.model_scripted"))
	} else {
		p.fact("demo.model", p.text("demo.model_real", "model", e.model, "url", e.baseURL))
	}
	p.fact("demo.workspace", s.project)
	if err := s.configure(settings{o.Language, e.baseURL, e.model, shell, o.Self}); err != nil {
		return err
	}
	if err := s.before(ctx, shell, o.Self, d); err != nil {
		return err
	}
	p.fact("demo.before", p.text("demo.before_done"))
	if out, err := s.apply(ctx, o.Agent); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	p.fact("demo.policy", "agent-mcp apply --yes agent.yaml")

	config, err := os.ReadFile(s.config)
	if err != nil {
		return err
	}
	t := &trial{stage: s, page: p, engine: e, door: d, shell: shell, visits: d.visits.Load(), config: config}
	return t.run(ctx, o)
}

// chooseModel takes a real model when one can be reached, else the script.
func chooseModel(ctx context.Context, o Options, s *stage, d *door, p page) (engine, error) {
	if e, ok := findModel(ctx, o.Host, o.Model); ok {
		return e, nil
	}
	if o.Model != "" {
		return engine{}, errors.New(p.text("demo.no_model", "model", o.Model, "url", serverURL(o.Host)))
	}
	var words []string
	for _, key := range []string{"title1", "title2", "title3", "title4", "done1", "done2", "done3", "done4"} {
		words = append(words, key, p.text("demo."+key))
	}
	return scripted(s, d.address(), words)
}

// trial is one job with what is needed to judge it afterwards.
type trial struct {
	*stage
	page   page
	engine engine
	door   *door
	shell  string
	visits int64  // of the door, before the job
	config []byte // agent.yaml, before the job
	told   string // everything the MCP client was told
}

// run does the job and judges it.
func (t *trial) run(ctx context.Context, o Options) error {
	c, err := t.connect(ctx, o.Agent)
	if err != nil {
		return err
	}
	defer c.close()
	request := t.page.text("demo.request")
	t.page.fact("demo.asked", request)
	ticket, err := c.call(ctx, "agent_run", map[string]any{"request": request})
	if err != nil {
		return fmt.Errorf("agent_run: %w\n%s", err, c.stderr.String())
	}
	end, told, err := t.watch(ctx, c, ticket.TaskID)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.stderr.String())
	}
	t.told = ticket.text + end.text
	t.page.heading("demo.answer")
	t.page.answer(end.Result)
	if end.Error != nil && end.Status != "completed" {
		t.page.answer(end.Error.Code + ": " + end.Error.Message)
	}
	t.page.heading("demo.tokens")
	t.page.fact("demo.measured", t.page.text("demo.measured_value",
		"input", fmt.Sprint(end.Tokens.Input), "output", fmt.Sprint(end.Tokens.Output),
		"total", fmt.Sprint(end.Tokens.Total), "calls", fmt.Sprint(end.Iterations)))
	if err := c.close(); err != nil {
		return fmt.Errorf("agent-mcp: %w\n%s", err, c.stderr.String())
	}
	t.told += c.stderr.String()
	held := t.judge(ctx, end, told)
	t.whereabouts(o.Keep)
	if !held {
		return ErrNotProved
	}
	return nil
}

// watch prints the story while the job runs, and returns its end.
func (t *trial) watch(ctx context.Context, c *client, task string) (status, *story, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		status
		error
	}
	ended := make(chan result, 1)
	go func() {
		s, err := c.await(ctx, task)
		ended <- result{s, err}
	}()
	events, prompts := follow(t.logPattern("audit")), follow(t.logPattern("llm"))
	told := &story{page: t.page, task: task, prompt: func() ([]llmRecord, error) { return records[llmRecord](prompts) }}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var last *result
		select {
		case r := <-ended:
			last = &r
		case <-tick.C:
		}
		news, err := records[audit.Record](events)
		if err != nil {
			return status{}, told, err
		}
		for _, r := range news {
			if err := told.event(r); err != nil {
				return status{}, told, err
			}
		}
		if last != nil {
			return last.status, told, errors.Join(last.error, told.end())
		}
	}
}

// records decodes the new lines of a log.
func records[T any](t *tail) ([]T, error) {
	lines, err := t.next()
	if err != nil {
		return nil, err
	}
	var out []T
	for _, l := range lines {
		var r T
		if err := json.Unmarshal(l, &r); err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// judge finds out beside the server whether the job is done and nothing got out.
func (t *trial) judge(ctx context.Context, end status, told *story) bool {
	t.page.heading("demo.found")
	held := true
	claim := func(holds bool, key string, pairs ...string) {
		t.page.claim(holds, key, pairs...)
		held = held && holds
	}
	claim(end.Status == "completed", "demo.claim_completed", "status", end.Status)
	claim(t.check(ctx, t.shell) == nil, "demo.claim_check")
	if t.engine.script != nil {
		claim(len(t.engine.script.Problems()) == 0 && len(t.engine.script.Unused()) == 0 && told.refused > 0,
			"demo.claim_tried", "count", fmt.Sprint(told.refused))
	}
	file, err := t.leaked()
	claim(err == nil && file == "" && !bytes.Contains([]byte(t.told), []byte(t.token)), "demo.claim_secret")
	claim(missing(t.outside), "demo.claim_outside")
	claim(t.door.visits.Load() == t.visits, "demo.claim_network")
	now, err := os.ReadFile(t.stage.config)
	claim(err == nil && bytes.Equal(now, t.config), "demo.claim_config")
	claim(t.chained(), "demo.claim_audit")
	return held
}

// whereabouts says where the logs lie, and for how long.
func (t *trial) whereabouts(keep bool) {
	t.page.heading("demo.logs")
	for _, kind := range []string{"audit", "llm"} {
		for _, path := range t.logs(kind) {
			t.page.fact("demo.log_"+kind, path)
		}
	}
	if !keep {
		t.page.note("demo.removed")
	}
}
