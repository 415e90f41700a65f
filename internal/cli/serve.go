package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sunaba/internal/audit"
	"sunaba/internal/config"
	"sunaba/internal/journal"
	"sunaba/internal/mcpserver"
)

// stopBound is how long the end of the server waits for the active Task.
const stopBound = 10 * time.Second

// connect puts together what apply and show need besides the configuration.
func connect(c *candidate) outside {
	return outside{
		Model:    modelProbe{c.settings.Ollama},
		Platform: platform{c.texts, c.resolved.Effective},
		Recorder: auditFile{c.stateDir, secrets(c.settings)},
	}
}

// serve validates the configuration, compares it with what was applied, tries
// the platform, cleans up after earlier runs, and only then serves MCP (S1-095,
// S1-218, S1-221, SEC-INV-11). It returns 0 at the end of the client or on a
// signal.
func serve(ctx context.Context, std Streams, path string) int {
	c, t, err := prepare(path, true)
	if err == nil {
		err = c.applicable()
	}
	if err != nil {
		t.report(std.Err, err)
		t.reportChanges(std.Err, c)
		return exitInvalid
	}
	// Before the preflight: it must not meet placeholders that are about to go.
	recovered, err := journal.Recover(c.stateDir, nil)
	if err != nil {
		t.report(std.Err, err)
		return exitInvalid
	}
	probed := make(chan error, 1)
	go func() { // the kernel sets a sandbox up while the disk syncs
		_, err := preflight(ctx, c.stateDir, c.resolved.Effective)
		probed <- err
	}()
	s, err := openServer(c, std.Err, recovered)
	if err != nil {
		t.report(std.Err, err)
		return exitInvalid
	}
	if err := <-probed; err != nil || ctx.Err() != nil {
		code := exitOK
		if ctx.Err() == nil { // else told to end before it began: nothing to say
			fmt.Fprintln(std.Err, t.platformFault(err))
			code = exitInvalid
		}
		if err := s.opened.Close(); err != nil {
			t.report(std.Err, err)
		}
		return code
	}
	err = s.serve(ctx, std)
	if err = errors.Join(err, s.close()); err != nil {
		t.report(std.Err, err)
		return exitFailure
	}
	return exitOK
}

// serve answers clients until the transport ends.
func (s *server) serve(ctx context.Context, std Streams) error {
	m := s.candidate.settings.MCP
	if err := s.audit.Append(audit.Record{Event: "server.start", Path: s.candidate.settings.Path, Channel: m.Transport}); err != nil {
		return err
	}
	pid, log := fmt.Sprint(os.Getpid()), s.logDir
	if m.Transport == "http" {
		return s.mcp.ListenAndServe(ctx, m.HTTP.Listen, m.HTTP.Peer, func(endpoints []string) {
			s.doors.add(endpoints)
			for _, e := range endpoints {
				fmt.Fprintln(std.Err, s.text("serve.ready_http", "endpoint", e, "protocol", protocol, "pid", pid, "log", log))
			}
		}, s.access)
	}
	return s.mcp.ServeStdio(ctx, std.In, std.Out, func() {
		fmt.Fprintln(std.Err, s.text("serve.ready_stdio", "protocol", protocol, "pid", pid, "log", log))
	})
}

// protocol is the main path's version (MCP-2026-01).
const protocol = "MCP 2026-07-28"

// access records one HTTP request (S1-100, S1-101).
func (s *server) access(r mcpserver.AccessRecord) {
	s.log.Info("http", "remote", r.Remote, "local", r.Local, "method", r.Method, "path", r.Path, "status", r.Status,
		"duration_ms", r.Duration.Milliseconds(), "protocol", r.Protocol, "mcp_method", r.MCPMethod, "mcp_name", r.MCPName)
}

// secrets are the values no log may hold: those of the commands' environment.
func secrets(s *config.Settings) []string {
	var out []string
	for _, v := range s.Sandbox.Workspace.Properties.Environment {
		out = append(out, v)
	}
	return out
}

// closers are closed in reverse order of their opening.
type closers []func() error

// Close closes all and joins their errors.
func (c closers) Close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i]())
	}
	return errors.Join(errs...)
}
