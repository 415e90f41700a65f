package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// trivial is the smallest program that answers a line.
const trivial = `package main

import (
	"bufio"
	"os"
)

func main() {
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	os.Stdout.WriteString(line)
}
`

// starts measures the time from exec to the first MCP reply.
func (s *stage) starts(ctx context.Context) ([]figure, error) {
	source, program := filepath.Join(s.dir, "trivial.go"), filepath.Join(s.dir, "trivial")
	if err := os.WriteFile(source, []byte(trivial), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the trivial program: %w\n%s", err, out)
	}
	ours, floor, err := inTurns(15,
		func() (time.Duration, error) { return s.firstLine(ctx, s.agent, s.config) },
		func() (time.Duration, error) { return s.firstLine(ctx, program) })
	return []figure{{"exec to the first reply", ours, floor, "a trivial Go program that answers a line", ""}}, err
}

// firstLine starts a program, sends it initialize and waits for a line.
func (s *stage) firstLine(ctx context.Context, program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = s.environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = io.WriteString(in, initialize)
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	took := time.Since(began)
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	if waited := cmd.Wait(); err == nil {
		err = waited
	}
	return took, err
}
