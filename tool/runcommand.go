package tool

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sunaba/fault"
	"sunaba/internal/pattern"
	"sunaba/sandbox"
)

const (
	// defaultTimeout bounds a command when the model names no time (C-87).
	defaultTimeout = 120 * time.Second
	// keptOutput is what is kept of a command's output, in bytes: stdout and
	// stderr together, one half the head, the other the tail.
	keptOutput = 600 << 10
)

type commandArgs struct {
	Argv       []string `json:"argv"`
	Command    string   `json:"command"`
	WorkingDir string   `json:"working_dir"`
	Timeout    int64    `json:"timeout_seconds"`
	Stdin      string   `json:"stdin"`
}

// runCommand starts one command. What may be started is decided here, on open
// handles, before anything runs (PRC-09); what it may then do is the sandbox's.
func (e *Env) runCommand(ctx context.Context, a commandArgs) Result {
	if e.Runner == nil || e.Policy == nil {
		return Fail(NoScope, fault.New(fault.ExecFailed, RunCommand, Case, "unavailable"))
	}
	argv, err := e.argvOf(a)
	if err != nil {
		return e.fail(err)
	}
	dir, at, err := e.FS.OpenDir(orHere(a.WorkingDir))
	if err != nil {
		return e.fail(err)
	}
	defer dir.Close()
	image, err := e.openImage(argv[0], at.Canonical)
	if err != nil {
		return e.fail(err)
	}
	defer image.file.Close()

	timeout := e.timeout(a.Timeout)
	out, err := e.Runner.Run(ctx, sandbox.Command{
		Image:   image.file,
		Script:  isScript(image.file),
		Argv:    append([]string{image.argv0}, argv[1:]...),
		Dir:     dir,
		Stdin:   a.Stdin,
		Timeout: timeout,
		Output:  sandbox.Limit{Head: keptOutput / 2, Tail: keptOutput / 2},
	})
	if err != nil {
		if f := AsFault(err); f.Code != fault.FSFailed {
			return e.fail(f)
		}
		return e.fail(fault.Wrap(err, fault.ExecFailed, RunCommand, "name", clip(argv[0])))
	}
	r := Result{OK: true, Scope: e.label(at)}
	switch {
	case out.Ended:
		r.Fields = []Field{{"exit_code", out.ExitCode}}
		r.Effects = []Effect{{Kind: EffectExecute, Path: image.path, Argv0: image.path, ExitCode: out.ExitCode}}
	case out.Stopped == "timeout":
		r = e.fail(fault.New(fault.ExecTimeout, RunCommand, "seconds", strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64)))
	case out.Stopped == "cancelled":
		r = e.fail(fault.New(fault.AgentCancelled, RunCommand))
	case out.Stopped != "":
		r = e.fail(fault.New(fault.ExecLimit, RunCommand, Case, out.Stopped, "limit", out.Stopped))
	default:
		r = e.fail(fault.New(fault.ExecFailed, RunCommand, "name", clip(argv[0])))
	}
	r.Fields = append(r.Fields, Field{"duration_ms", out.Duration.Milliseconds()})
	text, full := render(out.Output, e.Limits.CommandLines, e.Limits.CommandBytes)
	r.Fields = append(r.Fields, Field{"truncated", full != ""})
	if full != "" {
		id := e.Outputs.Put(full)
		r.Fields = append(r.Fields, Field{"output_id", id})
		text = strings.Replace(text, elisionMark, outputPrefix+id, 1)
	}
	r.Text = text
	if asksBack(out.Output) {
		r.Hint = "noninteractive"
	}
	if out.Ended && out.ExitCode != 0 {
		e.blame(&r, out.Output, at.Canonical)
	}
	return r
}

// argvOf checks the arguments and returns the argument list they ask for.
func (e *Env) argvOf(a commandArgs) ([]string, error) {
	refuse := func(reason string) error {
		return fault.New(fault.ToolArguments, RunCommand, Case, reason, "tool", RunCommand)
	}
	argv := a.Argv
	switch {
	case len(argv) > 0 && a.Command != "":
		return nil, refuse("both")
	case strings.TrimSpace(a.Command) != "":
		shell, err := e.shellFor(a.Command)
		if err != nil {
			return nil, err
		}
		argv = []string{shell, "-c", a.Command}
	case len(argv) == 0 || argv[0] == "":
		return nil, refuse("no_command")
	case !e.allows(argv[0]):
		return nil, e.notAllowed(argv[0])
	}
	for _, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return nil, refuse("nul")
		}
	}
	return argv, nil
}

// timeout clamps what the model asked for to the policy's limit.
func (e *Env) timeout(seconds int64) time.Duration {
	const week = 7 * 24 * 3600
	t := defaultTimeout
	if seconds > 0 {
		t = time.Duration(min(seconds, week)) * time.Second
	}
	if limit := e.Policy.Resources.Timeout; limit > 0 {
		t = min(t, limit)
	}
	return t
}

func isScript(f *os.File) bool {
	var b [2]byte
	n, _ := f.ReadAt(b[:], 0)
	return n == 2 && b == [2]byte{'#', '!'}
}

// elisionMark stands in an elided text for the id that Put will give.
const elisionMark = "\x00"

// render returns output as the model gets it, and all that was kept of it when
// the model gets less than that; full is "" when nothing is left out.
//
// Bytes are made text before they are cut: what is no character becomes U+FFFD,
// which is longer.
func render(c sandbox.Capture, maxLines, maxBytes int) (text, full string) {
	var head, tail []byte
	if c.Dropped == 0 {
		head = printable(append(c.Head[:len(c.Head):len(c.Head)], c.Tail...))
		if len(head) <= maxBytes && countLines(head) <= maxLines {
			return string(head), ""
		}
		tail = head
	} else {
		head, tail = printable(trimPartialEnd(c.Head)), printable(trimPartialStart(c.Tail))
	}
	first := firstLines(head, (maxLines+1)/2, maxBytes/2)
	last := lastLines(tail, maxLines/2, maxBytes/2)
	left := c.Dropped + int64(len(head)-len(first)-len(last))
	if c.Dropped > 0 {
		left += int64(len(tail))
	}
	glue := func(head []byte, left int64, where string, tail []byte) string {
		text := string(head)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + fmt.Sprintf("[… %d bytes left out%s …]\n", left, where) + string(tail)
	}
	text = glue(first, left, ", see "+elisionMark, last)
	if c.Dropped == 0 {
		return text, string(head)
	}
	return text, glue(head, c.Dropped, "", tail)
}

// printable returns b as valid UTF-8 without NUL, which ends a text for some
// of the programs behind the model. Every run of either becomes one U+FFFD.
func printable(b []byte) []byte {
	return bytes.ToValidUTF8(bytes.ReplaceAll(b, []byte{0}, []byte{0xff}), []byte("\uFFFD"))
}

// blame marks the result of a failed command with what the sandbox refused, or
// with the limit that it ran into.
func (e *Env) blame(r *Result, c sandbox.Capture, dir string) {
	b := e.blocked(c, dir)
	if b.operation == "" {
		if limit := limitReached(c); limit != "" {
			r.Fields = append(r.Fields, Field{"limit", limit})
			r.Hint = "limit_" + limit
		}
		return
	}
	r.Fields = append(r.Fields, Field{"blocked", b.operation})
	r.Hint = "blocked_network"
	if len(e.Policy.Network.Endpoints) > 0 {
		r.Hint = "blocked_endpoint"
	}
	if b.path != "" {
		r.Fields = append(r.Fields, Field{"blocked_path", clip(b.path)})
		r.Hint = "blocked"
	}
	if b.rule != "" {
		r.Fields = append(r.Fields, Field{"blocked_rule", clip(b.rule)})
	}
}

// firstLines returns the first n lines of b, in at most size bytes.
func firstLines(b []byte, n, size int) []byte {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		i := strings.IndexByte(string(b[at:min(len(b), at+size+1)]), '\n')
		if i < 0 {
			at = len(b)
			break
		}
		at += i + 1
	}
	if at > size {
		return trimPartialEnd(b[:size])
	}
	return b[:at]
}

// lastLines returns the last n lines of b, in at most size bytes.
func lastLines(b []byte, n, size int) []byte {
	at := contextStart(b, n)
	if len(b)-at > size {
		return trimPartialStart(b[len(b)-size:])
	}
	return b[at:]
}

// prompt is what the end of an output looks like when a program waits for an
// answer that nobody can give.
var prompt = pattern.Lazy(`(?i)(\[y/n\]|\(y/n\)|\(yes/no\)|password|passphrase|continue|proceed|press [a-z ]+)[^\n]{0,20}$|[?:>] ?$`)

// asksBack reports whether the output ends like a question, or tells that no
// terminal was there.
func asksBack(c sandbox.Capture) bool {
	end := c.Tail
	if len(end) == 0 {
		end = c.Head
	}
	end = end[max(0, len(end)-400):]
	if len(end) == 0 {
		return false
	}
	return prompt().Match(end) || strings.Contains(string(end), "/dev/tty")
}
