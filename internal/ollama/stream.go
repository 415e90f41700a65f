package ollama

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"sunaba/fault"
	"sunaba/internal/agent"
)

const (
	maxLine  = 16 << 20 // bytes of one chunk; a long write_file call is one chunk
	maxReply = 64 << 20 // bytes of all chunks of one reply
)

var (
	errCut     = errors.New("the stream ended before its last chunk")
	errTooLong = errors.New("a reply longer than the client accepts")
)

// readReply reads chunks until the one that says done. progress is called after
// each: thinking counts as progress too.
func readReply(r io.Reader, progress func()) (agent.Reply, *failure) {
	lines := bufio.NewReaderSize(r, 64<<10)
	var (
		b    builder
		read int
	)
	for {
		line, err := readLine(lines)
		if read += len(line); read > maxReply || errors.Is(err, errTooLong) {
			return agent.Reply{}, &failure{fault: fault.Wrap(errTooLong, fault.LLMBadOutput, "chat")}
		}
		if err != nil {
			// Half a line is a cut stream too: what it holds is not whole.
			return agent.Reply{}, unavailable(errors.Join(errCut, err))
		}
		progress()
		if len(line) == 0 {
			continue
		}
		var c chunk
		if err := json.Unmarshal(line, &c); err != nil {
			return agent.Reply{}, unavailable(err)
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			return agent.Reply{}, classify(500, errorText(c.Error), nil)
		}
		b.add(c)
		if c.Done {
			return b.reply(c), nil
		}
	}
}

// readLine returns the next line without its '\n'. Only '\n' ends a line: the
// server sends U+2028 and U+0085 raw inside strings. A last line without '\n'
// counts only when it is whole JSON; otherwise it was cut.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && json.Valid(line):
			return bytes.TrimSpace(line), nil
		default:
			return nil, err
		}
	}
}

// builder collects the parts of one reply.
type builder struct {
	content, thinking strings.Builder
	calls             []agent.ToolCall
}

// add takes the parts of one chunk. Older servers send each call complete in a
// chunk of its own, newer ones all calls in the last chunk, where parallel
// calls may share index 0: a call is known by its id, then by its position.
func (b *builder) add(c chunk) {
	b.content.WriteString(c.Message.Content)
	b.thinking.WriteString(c.Message.Thinking)
	earlier := len(b.calls)
	for _, w := range c.Message.ToolCalls {
		call := agent.ToolCall{ID: w.ID, Name: w.Function.Name, Arguments: w.Function.Arguments}
		again := call.ID != "" && slices.ContainsFunc(b.calls[:earlier], func(e agent.ToolCall) bool {
			return e.ID == call.ID && e.Name == call.Name && string(e.Arguments) == string(call.Arguments)
		})
		if !again {
			b.calls = append(b.calls, call)
		}
	}
}

// reply is the whole answer, last its last chunk.
func (b *builder) reply(last chunk) agent.Reply {
	content, leaked := splitThinking(b.content.String())
	m := agent.Message{
		Role: agent.RoleAssistant, Content: content, Thinking: b.thinking.String() + leaked, ToolCalls: withoutThinking(b.calls),
	}
	return agent.Reply{
		Message: m, Ending: ending(last.DoneReason, m),
		Usage: agent.Usage{Input: tokens(last.PromptEvalCount), Output: tokens(last.EvalCount)},
	}
}

// tokens is a count as a server may truly have measured it; anything else would
// break the sums of a Task and counts as not measured.
func tokens(n json.Number) int {
	if v := integer(n); v > 0 && v <= math.MaxInt32 {
		return v
	}
	return 0
}

// ending reads done_reason. A reason this client does not know counts as a
// reply that was cut, so that no mutating call of it is executed.
func ending(reason string, m agent.Message) agent.Ending {
	switch reason {
	case "", "stop", "tool_calls", "load", "unload":
		if len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content) == "" {
			return agent.EndEmpty
		}
		return agent.EndStop
	default:
		return agent.EndLength
	}
}
