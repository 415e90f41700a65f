// Package wire frames the messages between broker and Worker: a length of four
// bytes, big-endian, then one JSON object.
//
// The one rule to keep in mind: the peer is hostile; every frame is bounded
// before it is read.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Version is that of the protocol; both sides are the same binary, so any
// difference is an error.
const Version = 1

// MaxFrame bounds one message, in bytes.
const MaxFrame = 16 << 20

// Kind says what a Message is for.
type Kind string

// The kinds of messages.
const (
	Hello  Kind = "hello"  // broker → Worker, once: the Setup
	Ready  Kind = "ready"  // Worker → broker, once: set-up is done and irreversible
	Failed Kind = "failed" // Worker → broker: set-up failed at a named step
	Call   Kind = "call"   // broker → Worker
	Cancel Kind = "cancel" // broker → Worker: end the call ID early
	Result Kind = "result" // Worker → broker
	Notice Kind = "notice" // Worker → broker: an attempt that was refused
)

// Message is one frame.
type Message struct {
	Version int             `json:"version,omitempty"`
	Kind    Kind            `json:"kind"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Error   string          `json:"error,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// Conn sends and receives Messages over a byte stream. Send may be called from
// several goroutines, Receive from one.
type Conn struct {
	stream io.ReadWriter
	mu     sync.Mutex
}

// New returns a Conn over stream.
func New(stream io.ReadWriter) *Conn { return &Conn{stream: stream} }

// Send writes one message.
func (c *Conn) Send(m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("wire: encode: %w", err)
	}
	if len(body) > MaxFrame {
		return fmt.Errorf("wire: message of %d bytes, limit %d", len(body), MaxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	frame = append(frame, body...)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.stream.Write(frame)
	return err
}

// Receive reads one message; io.EOF means that the peer is gone.
func (c *Conn) Receive() (Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.stream, head[:]); err != nil {
		return Message{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return Message{}, fmt.Errorf("wire: frame of %d bytes, limit %d", n, MaxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.stream, body); err != nil {
		return Message{}, err
	}
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("wire: decode: %w", err)
	}
	return m, nil
}
