package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"sunaba/fault"
)

// SessionID names one stored conversation: 1 to 64 lower-case
// letters, digits and hyphens.
type SessionID string

// NewSessionID returns an ID that nobody has.
func NewSessionID() SessionID { return SessionID(uuid.NewString()) }

// valid keeps everything that could lead elsewhere out of file names.
func (id SessionID) valid() bool {
	for _, c := range []byte(id) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}

// Store keeps conversations (C-17). It is safe for concurrent use; the
// conversations of different sessions are independent.
type Store interface {
	// Append adds messages to the end of a session, which begins with its
	// first message. Either all of them are kept or none: when it returns nil
	// they survive what the Store promises to survive. The Store keeps no
	// reference to messages. An id that is not valid is pod.session.
	Append(ctx context.Context, id SessionID, messages ...Message) error
	// Messages returns a session's messages in order; they belong to the
	// caller. A session that was never begun is pod.session.
	Messages(ctx context.Context, id SessionID) ([]Message, error)
}

// maxSession bounds the stored bytes of one session, so that every stored
// session can be read back.
const maxSession = 64 << 20

// record is one line of a stored session: what one Append brought.
type record struct {
	Version  int       `json:"v"`
	Messages []Message `json:"messages"`
}

const recordVersion = 1

// encode checks what every Append checks, and returns messages as one line with
// its line feed. Text that is not valid UTF-8 is kept with replacement characters.
func encode(ctx context.Context, id SessionID, messages []Message) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !id.valid() {
		return nil, unknownSession("append", id)
	}
	line, err := json.Marshal(record{recordVersion, messages})
	if err != nil {
		return nil, fault.Wrap(err, fault.PodStore, "append", "session", string(id), "case", "write")
	}
	return append(line, '\n'), nil
}

// decode reads the lines of a session. Only the last one may lack its line
// feed: it was torn by a crash, belongs to an Append that never returned, and
// is left out. whole is the length of what counts.
func decode(id SessionID, data []byte) (messages []Message, whole int, err error) {
	for n := 1; ; n++ {
		line, rest, complete := bytes.Cut(data[whole:], []byte{'\n'})
		if !complete {
			return messages, whole, nil
		}
		var r record
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil || d.More() || r.Version != recordVersion {
			return nil, 0, fault.Wrap(err, fault.PodStore, "messages",
				"session", string(id), "line", strconv.Itoa(n), "case", "damaged")
		}
		messages = append(messages, r.Messages...)
		whole = len(data) - len(rest)
	}
}

func unknownSession(op string, id SessionID) error {
	return fault.New(fault.PodSession, op, "session", clip(string(id)))
}

func full(id SessionID) error {
	return fault.New(fault.PodStore, "append", "session", string(id), "limit", strconv.Itoa(maxSession), "case", "full")
}

// clip keeps an absurd ID from filling a message.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
