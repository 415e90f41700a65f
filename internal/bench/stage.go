package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sunaba/internal/audit"
	"sunaba/internal/broker"
	"sunaba/internal/config"
	"sunaba/internal/journal"
	"sunaba/policy"
	"sunaba/tool"
)

// Nothing is the argument with which the measuring program ends at once.
const Nothing = "nothing"

// stage is a throw-away project with a policy that a person could have
// approved, and what the broker needs to work under it.
type stage struct {
	agent  string // the built agent-mcp
	dir    string
	config string
	policy policy.Effective
	audit  *audit.Log
	run    *journal.Run
	broker *broker.Broker
}

// newStage makes the folders; model is the base URL that agent.yaml names.
func newStage(agent, model string) (s *stage, err error) {
	s = &stage{agent: agent}
	if s.dir, err = os.MkdirTemp("", "sunaba-bench-"); err != nil {
		return nil, err
	}
	if s.dir, err = filepath.EvalSymlinks(s.dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(s.dir, "project"), 0o755); err != nil {
		return nil, err
	}
	s.config = filepath.Join(s.dir, "agent.yaml")
	text := fmt.Sprintf(`schema_version: 2
ollama: { base_url: %q, model: scripted }
sandbox:
  profile: development
  workspace: { root: ./project }
  execution: { entries: [ { alias: sh, path: /bin/sh }, { alias: "true", path: /usr/bin/true } ] }
`, model)
	return s, os.WriteFile(s.config, []byte(text), 0o600)
}

// open resolves the policy as serve does and opens a broker under it.
func (s *stage) open() error {
	settings, err := config.Load(s.config)
	if err != nil {
		return err
	}
	state := filepath.Join(s.dir, "broker")
	resolved, err := policy.Resolve(settings.PolicyInput(policy.Own{Executable: s.agent, StateDir: state}))
	if err != nil {
		return err
	}
	s.policy = resolved.Effective
	if s.audit, err = audit.Open(filepath.Join(state, "log"), time.Now(), audit.NewRedactor()); err != nil {
		return err
	}
	if s.run, err = journal.OpenRun(state, time.Now()); err != nil {
		return err
	}
	r := settings.Agent.Results
	s.broker, err = broker.New(broker.Config{
		Policy: s.policy, Audit: s.audit, Run: s.run, Log: slog.New(slog.DiscardHandler),
		Settings: broker.Settings{Limits: tool.Limits{
			ReadLines: r.ReadLines, ReadBytes: int(r.ReadBytes), Entries: r.Entries, Matches: r.Matches,
			CommandLines: r.CommandLines, CommandBytes: int(r.CommandBytes), EditBytes: settings.Agent.EditMemoryLimit,
		}},
	})
	return err
}

// apply approves the policy for the built server.
func (s *stage) apply(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, s.agent, "apply", "--yes", s.config)
	cmd.Env = s.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("agent-mcp apply: %w\n%s", err, out)
	}
	return nil
}

func (s *stage) environ() []string {
	return []string{"HOME=" + s.dir, "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" + filepath.Join(s.dir, "state")}
}

func (s *stage) close() {
	if s.run != nil {
		_ = s.run.Close()
	}
	if s.audit != nil {
		_ = s.audit.Close()
	}
	_ = os.RemoveAll(s.dir)
}

func arguments(v any) json.RawMessage {
	b, _ := json.Marshal(v) // of maps and strings: cannot fail
	return b
}
