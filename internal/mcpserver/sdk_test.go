package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sunaba/internal/session"
)

// The SDK's own client works with the server over both transports, with the
// newest protocol and with the one before.
//
// Covers: MCP-TR-01, MCP-TR-02, MCP-2026-03, S1-059, S1-060, AT-01, AT-04
func TestSDKClient(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{"2026-07-28", "2025-11-25", "2024-11-05"} {
			t.Run(transport+" "+version, func(t *testing.T) {
				jobs := newFakeJobs()
				var tr mcp.Transport
				switch transport {
				case "http":
					h := serveHTTP(t, Config{Jobs: jobs}, "any")
					tr = &mcp.StreamableClientTransport{Endpoint: h.url, DisableStandaloneSSE: true}
				case "stdio":
					inR, inW := io.Pipe()
					outR, outW := io.Pipe()
					done := make(chan error, 1)
					ready := make(chan struct{})
					go func() {
						done <- New(Config{Jobs: jobs, Texts: locale(t, "en")}).ServeStdio(context.Background(), inR, outW, func() { close(ready) })
						outW.Close()
					}()
					<-ready
					tr = &mcp.IOTransport{Reader: outR, Writer: inW}
					t.Cleanup(func() {
						inW.Close()
						if err := <-done; err != nil {
							t.Error(err)
						}
						if len(jobs.ended) != 1 {
							t.Errorf("ended owners %v", jobs.ended)
						}
					})
				}
				c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{})
				cs, err := c.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				if got := cs.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("negotiated %s", got)
				}
				tools, err := cs.ListTools(t.Context(), nil)
				if err != nil || len(tools.Tools) != 2 {
					t.Fatalf("%v, %v", tools, err)
				}
				for _, empty := range []func() error{
					func() error { _, err := cs.ListPrompts(t.Context(), nil); return err },
					func() error { _, err := cs.ListResources(t.Context(), nil); return err },
				} {
					if err := empty(); err != nil {
						t.Errorf("a list nobody declared: %v", err)
					}
				}
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_run", Arguments: map[string]any{"request": "x"}})
				if err != nil || res.IsError {
					t.Fatalf("%v, %v", res, err)
				}
				var queued queuedFacts
				structured(t, res, &queued)
				jobs.set(queued.TaskID, func(s *session.Status) { s.State, s.Result = session.Completed, "the answer" })
				res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_status", Arguments: map[string]any{"task_id": queued.TaskID, "wait_seconds": 5}})
				if err != nil || !strings.Contains(textOf(t, res), "the answer") {
					t.Errorf("%v, %v", res, err)
				}
				_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_run", Arguments: json.RawMessage(`["x"]`)})
				if err == nil {
					t.Error("arguments that are no object were taken")
				}
			})
		}
	}
}
