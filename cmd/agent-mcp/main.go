// Command agent-mcp is the MCP server, with apply and show beside it. The same
// binary, started again by itself inside a sandbox, is the Worker.
package main

import (
	"fmt"
	"os"

	"sunaba/internal/broker"
	"sunaba/internal/cli"
	"sunaba/sandbox"
)

func main() {
	if sandbox.InWorker() {
		if err := sandbox.Serve(broker.NewWorker); err != nil {
			os.Exit(1)
		}
		return
	}
	if err := sandbox.CloseOnExec(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	std := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Stdout = os.Stderr // nothing but the server itself may reach the client (SEC-INV-12)
	os.Exit(cli.Run(os.Args[1:], std))
}
