// Command bench measures this tree on this machine: "make bench". It prints
// figures as ratios to a floor or a peer of the same run, and judges nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"sunaba/internal/bench"
	"sunaba/sandbox"
)

func main() {
	if sandbox.InWorker() {
		if err := sandbox.Serve(bench.NewWorker); err != nil {
			os.Exit(1)
		}
		return
	}
	if played, err := bench.Part(os.Args[1:]); played {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err == nil {
		err = bench.Run(ctx, filepath.Join(filepath.Dir(self), "agent-mcp"), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}
