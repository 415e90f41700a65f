// Command sandbox runs a shell command under a policy made in code: it may do
// what it likes in one folder and reaches nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sunaba/policy"
	"sunaba/sandbox"
)

func main() {
	if sandbox.InWorker() { // first of all: Start starts this program again
		fmt.Fprintln(os.Stderr, sandbox.Serve(sandbox.Commands))
		os.Exit(1)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	folder, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	script := "pwd; ls; echo; cat /etc/shadow; touch ../x; curl -s 127.0.0.1"
	if len(os.Args) > 1 {
		script = os.Args[1]
	}
	return inFolder(folder, script)
}

// inFolder is all that it takes.
func inFolder(folder, script string) error {
	in := policy.ForFolder(folder)
	in.Entries = []policy.EntryInput{{Alias: "sh", Path: "/bin/sh"}}
	resolved, err := policy.Resolve(in)
	if err != nil {
		return err
	}
	box, err := sandbox.Start(context.Background(), sandbox.Options{
		Policy: resolved.Effective, Placeholders: sandbox.VolatilePlaceholders(),
	})
	if err != nil {
		return err
	}
	out, err := box.Run(context.Background(), sandbox.Program{Argv: []string{"sh", "-c", script}})
	if err == nil {
		fmt.Print(out.Output.Text())
		fmt.Println("exit code", out.ExitCode)
	}
	if closing := box.Close(); err == nil {
		err = closing
	}
	return err
}
