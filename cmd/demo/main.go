// Command demo plays one whole job through the real server and the real
// sandbox: "make demo". It uses a model of a reachable Ollama when there is one,
// else a scripted one. DEMO_MODEL names the model, DEMO_LANG the language (en,
// ja), DEMO_KEEP=1 leaves the folder behind; OLLAMA_HOST is honoured.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"sunaba/internal/demo"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "connect" { // started by the model, in the sandbox
		os.Exit(demo.Connect(os.Args[2], os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return demo.Run(ctx, demo.Options{
		Agent: filepath.Join(filepath.Dir(self), "agent-mcp"), Self: self,
		Language: os.Getenv("DEMO_LANG"), Host: os.Getenv("OLLAMA_HOST"), Model: os.Getenv("DEMO_MODEL"),
		Keep: os.Getenv("DEMO_KEEP") == "1", Out: os.Stdout,
	})
}
