package relay

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"
)

// TestIdle: a connection over which nothing comes is ended after its bound, and
// not before.
func TestIdle(t *testing.T) {
	s := newStage(t, Options{}, serve(t, echo))
	c := s.dial()
	s.event()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.relay.endIdleFor(bound)
	if _, err := c.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatalf("ended before its time: %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); {
		s.relay.endIdleFor(time.Millisecond)
		select {
		case err := <-ended:
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v", err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Error("an idle connection stands")
}
