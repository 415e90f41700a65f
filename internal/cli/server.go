package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
	"sunaba/internal/audit"
	"sunaba/internal/broker"
	"sunaba/internal/journal"
	"sunaba/internal/mcpserver"
	"sunaba/internal/ollama"
	"sunaba/internal/prompt"
	"sunaba/internal/session"
	"sunaba/tool"
	"sunaba/workspace"
)

// server is everything one serving process holds.
type server struct {
	*candidate
	logDir string
	log    *slog.Logger
	audit  *audit.Log
	tokens *audit.TokenLog
	broker *broker.Broker
	agent  *agent.Runner
	doors  doors
	desk   *session.Desk
	mcp    *mcpserver.Server
	opened closers
}

// openServer opens logs, journal and ledger and puts the adapters together.
// What was opened is closed again when it fails.
func openServer(c *candidate, stderr io.Writer, recovered journal.Report) (s *server, err error) {
	s = &server{candidate: c, logDir: filepath.Join(c.stateDir, "log")}
	defer func(begun *server) { // s itself is nil by then
		if err != nil {
			err = errors.Join(err, begun.opened.Close())
		}
	}(s)
	began := time.Now()
	hidden := secrets(c.settings)
	appLog, file, err := audit.OpenAppLog(s.logDir, began, c.settings.Logging.Level, stderr, hidden...)
	if err != nil {
		return nil, err
	}
	s.log = appLog
	s.keep(file.Close)
	if s.audit, err = audit.Open(s.logDir, began, audit.NewRedactor(hidden...)); err != nil {
		return nil, err
	}
	s.keep(s.audit.Close)
	if err := s.recordRecovery(recovered); err != nil {
		return nil, err
	}
	run, err := journal.OpenRun(c.stateDir, began)
	if err != nil {
		return nil, err
	}
	s.keep(run.Close)

	model, vision, err := s.openModel(began, hidden)
	if err != nil {
		return nil, err
	}
	if s.broker, err = broker.New(broker.Config{
		// Equal to what was applied in all that counts, with today's places and
		// inodes: an unchanged executable need not be hashed at every start.
		Policy: c.resolved.Effective, Settings: toolSettings(c), Audit: s.audit, Run: run, Log: s.log,
		Refuse: s.doors.has,
	}); err != nil {
		return nil, err
	}
	s.agent = agent.New(s.agentConfig(model))
	ledger, err := session.OpenFile(filepath.Join(run.Dir(), "ledger.jsonl"))
	if err != nil {
		return nil, err
	}
	s.keep(ledger.Close)
	if s.desk, err = session.New(session.Config{
		Run: s.work, Ledger: ledger, Earlier: s.earlierTasks(recovered), TTL: c.settings.MCP.Tasks.TTL,
		Report: func(err error) { s.log.Error("session", "error", err) },
	}); err != nil {
		return nil, err
	}
	v := c.settings.Ollama.Vision
	s.mcp = mcpserver.New(mcpserver.Config{
		Jobs: jobs{s.desk, s.audit}, Texts: c.catalog, Version: Version(),
		Limits:       mcpserver.Limits{MaxImages: v.MaxImages, MaxImageBytes: v.MaxImageBytes, MaxRequestBytes: v.MaxRequestBytes},
		PollInterval: c.settings.MCP.Tasks.PollInterval, TTL: c.settings.MCP.Tasks.TTL,
		Vision: vision, Log: s.log,
	})
	for _, w := range c.settings.Warnings {
		level := slog.LevelWarn
		if w.Reason == "policy_unknown" { // it was taken for the narrowest there is (S3-35)
			level = slog.LevelError
		}
		s.log.Log(context.Background(), level, "configuration", "problem", c.problem(w))
	}
	for _, e := range c.resolved.Effective.Network.Endpoints {
		if e.Closed != "" {
			s.log.Warn("network", "problem",
				c.text("serve.endpoint_closed", "endpoint", e.Name(), "source", e.Source, "why", c.text("view.closed."+e.Closed)))
		}
	}
	return s, nil
}

func (s *server) keep(closer func() error) { s.opened = append(s.opened, closer) }

// openModel returns the model with its logs around it.
func (s *server) openModel(began time.Time, hidden []string) (agent.Model, func(context.Context) (bool, error), error) {
	client, err := ollama.New(modelConfig(s.settings.Ollama))
	if err != nil {
		return nil, nil, err
	}
	s.keep(func() error { client.Close(); return nil })
	var model agent.Model = client
	if s.settings.Logging.LLM {
		llm, err := audit.OpenLLMLog(s.logDir, began, audit.LLMOptions{
			Model: s.settings.Ollama.Model, Redactor: audit.NewRedactor(hidden...), Logger: s.log,
		})
		if err != nil {
			return nil, nil, err
		}
		s.keep(llm.Close)
		model = audit.LogModel(model, llm)
	}
	if s.tokens, err = audit.OpenTokenLog(s.logDir, began); err != nil {
		return nil, nil, err
	}
	s.keep(s.tokens.Close)
	return audit.MeterModel(model, s.tokens), client.Vision, nil
}

func toolSettings(c *candidate) broker.Settings {
	r := c.settings.Agent.Results
	return broker.Settings{
		MayOverwriteUnread: !c.settings.Agent.MustReadFirst,
		Limits: tool.Limits{
			ReadLines: r.ReadLines, ReadBytes: int(r.ReadBytes), Entries: r.Entries, Matches: r.Matches,
			CommandLines: r.CommandLines, CommandBytes: int(r.CommandBytes), EditBytes: c.settings.Agent.EditMemoryLimit,
		},
	}
}

func (s *server) agentConfig(model agent.Model) agent.Config {
	a, e := s.settings.Agent, s.resolved.Effective
	p, _, _ := workspace.ParsePolicy(e.Workspace.Policy)
	return agent.Config{
		Model: model, Texts: s.catalog, Root: e.Workspace.Root,
		System: prompt.Head{
			User: a.UserPromptText, Language: s.catalog.LanguageName(),
			Workspace:    workspace.New(e.Workspace.Root, e.Workspace.Name).WithPolicy(p).Instructions(s.catalog),
			Capabilities: capabilities(s.texts, &e),
		}.String(),
		MaxIterations: a.MaxIterations, MaxRepeatedFailures: a.MaxRepeatedFailures, MaxReplans: a.MaxReplans, MaxTasks: a.MaxTasks,
		NumCtx: s.settings.Ollama.Options.NumCtx, CompactAt: a.CompactAt,
	}
}

// recordRecovery writes what was cleaned up after earlier runs.
func (s *server) recordRecovery(r journal.Report) error {
	for _, e := range r.Undone {
		if err := s.audit.Append(audit.Record{Event: "recovery.undone", Path: e.Path, Channel: string(e.Kind)}); err != nil {
			return err
		}
	}
	return nil
}

// earlierTasks reads the ledgers of processes that are gone. A damaged one
// keeps nobody from working: what can be read of it counts, and the log names
// the file, which stays as it is (CRSH-003).
func (s *server) earlierTasks(r journal.Report) []session.Record {
	var all []session.Record
	for _, path := range r.Ledgers {
		records, err := session.ReadLedger(path)
		if err != nil {
			s.log.Warn("the record of an earlier run is damaged", "file", path, "error", err)
		}
		all = append(all, records...)
	}
	return all
}

// close stops the active Task within a bound and closes everything.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	err := s.desk.Close(ctx)
	if err != nil {
		err = fault.Wrap(err, fault.PlatformWorker, "stop", "cause", "a Task did not stop in time")
	}
	return errors.Join(err, s.audit.Append(audit.Record{Event: "server.stop"}), s.opened.Close())
}
