// Package cli is the command line of agent-mcp: three forms and nothing else
// (S1-075), and the only place where the adapters are put together.
//
// The one rule to keep in mind: nothing on the command line overrides a
// setting, and no question is ever answered by a program (S1-081, C-88).
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"sunaba/fault"
	"sunaba/internal/screen"
)

// The exit codes of CONTRACT §1.
const (
	exitOK       = 0
	exitFailure  = 1
	exitInvalid  = 2 // preflight, validation, applied-state mismatch
	exitDeclined = 3 // the person declined apply
	exitUsage    = 64
)

// Streams are the standard streams. Files are used as they are, so that a
// terminal is recognised.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs agent-mcp with args, which lack the program's name, and returns its
// exit code. It never ends the process itself.
func Run(args []string, std Streams) int {
	c, wrong := parse(args)
	if c.path == "" {
		path, err := defaultConfig()
		if err != nil {
			fmt.Fprintln(std.Err, screen.Escape(err.Error()))
			return exitFailure
		}
		c.path = path
	}
	if wrong != nil {
		t := catalogFor(c.path)
		fmt.Fprintln(std.Err, t.fault(wrong))
		if wrong.Code != fault.UsageRemoved {
			fmt.Fprintln(std.Err, t.text("usage.forms"))
		}
		return exitUsage
	}
	switch c.verb {
	case verbHelp:
		fmt.Fprintln(std.Out, catalogFor(c.path).text("usage.help"))
		return exitOK
	case verbVersion:
		fmt.Fprintln(std.Out, "agent-mcp "+Version())
		return exitOK
	case verbApply:
		return apply(context.Background(), std, c.path, c.yes)
	case verbShow:
		return show(context.Background(), std, c.path)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return serve(ctx, std, c.path)
}
