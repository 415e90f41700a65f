package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

const bound = 20 * time.Second

// stage is a relay with one listener, and what it told.
type stage struct {
	*testing.T
	relay *Relay
	at    string

	mu   sync.Mutex
	told []Event
	more chan struct{}
}

func newStage(t *testing.T, o Options, addresses ...netip.AddrPort) *stage {
	t.Helper()
	s := &stage{T: t, more: make(chan struct{}, 4*Connections)}
	o.Tell = func(e Event) {
		s.mu.Lock()
		s.told = append(s.told, e)
		s.mu.Unlock()
		s.more <- struct{}{}
	}
	s.relay = New(o)
	t.Cleanup(s.relay.Close)
	l := listen(t)
	s.at = l.Addr().String()
	s.relay.Serve(l, Target{Host: "h", Addresses: addresses})
	return s
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// serve hands every connection to act and closes it.
func serve(t *testing.T, act func(*net.TCPConn)) netip.AddrPort {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				act(c)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// nobody is an address that refuses.
func nobody(t *testing.T) netip.AddrPort {
	t.Helper()
	l := listen(t)
	l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func (s *stage) dial() *net.TCPConn {
	s.Helper()
	c, err := s.try()
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *stage) try() (*net.TCPConn, error) {
	s.Helper()
	c, err := net.DialTimeout("tcp", s.at, bound)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(bound)); err != nil {
		s.Fatal(err)
	}
	return c.(*net.TCPConn), nil
}

// broken connects and demands that the connection breaks, be it at once.
func (s *stage) broken() {
	s.Helper()
	c, err := s.try()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		s.Errorf("the client got %v", err)
	}
}

// event waits for the next one.
func (s *stage) event() Event {
	s.Helper()
	select {
	case <-s.more:
	case <-time.After(bound):
		s.Fatal("nothing was told")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.told[0]
	s.told = s.told[1:]
	return e
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// TestHalfClose: one side's end reaches the other, which may still answer.
func TestHalfClose(t *testing.T) {
	s := newStage(t, Options{}, serve(t, func(c *net.TCPConn) {
		all, err := io.ReadAll(c)
		if err == nil {
			_, _ = c.Write(append([]byte("got "), all...))
		}
	}))
	c := s.dial()
	if _, err := c.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "got question" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestBothWays: a lot goes through in both directions at once, unchanged.
func TestBothWays(t *testing.T) {
	s := newStage(t, Options{}, serve(t, echo))
	c := s.dial()
	data := bytes.Repeat([]byte("0123456789abcdefg"), 1<<20)
	go func() {
		_, _ = c.Write(data)
		_ = c.CloseWrite()
	}()
	sum := sha256.New()
	n, err := io.Copy(sum, c)
	if err != nil || n != int64(len(data)) || [32]byte(sum.Sum(nil)) != sha256.Sum256(data) {
		t.Errorf("%d of %d bytes, %v", n, len(data), err)
	}
}

// TestResets: a broken connection is not taken for an ended one.
func TestResets(t *testing.T) {
	t.Run("by the endpoint", func(t *testing.T) {
		s := newStage(t, Options{}, serve(t, func(c *net.TCPConn) {
			_, _ = c.Write([]byte("part"))
			_, _ = io.ReadFull(c, make([]byte, 2))
			_ = c.SetLinger(0)
		}))
		c := s.dial()
		part := make([]byte, 4)
		if _, err := io.ReadFull(c, part); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("ok")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(part); err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("by the client", func(t *testing.T) {
		ended := make(chan error, 1)
		s := newStage(t, Options{}, serve(t, func(c *net.TCPConn) {
			_, err := io.Copy(c, c)
			ended <- err
		}))
		c := s.dial()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		abort(c)
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the endpoint saw an ordinary end")
			}
		case <-time.After(bound):
			t.Error("the endpoint heard nothing")
		}
	})
}

// TestOrder: addresses are tried in order; what must not be dialled is not; why
// none was reached is told, and the client is not left waiting.
func TestOrder(t *testing.T) {
	good, bad := serve(t, echo), nobody(t)
	for name, c := range map[string]struct {
		o         Options
		addresses []netip.AddrPort
		want      Event
	}{
		"first":          {Options{}, []netip.AddrPort{good, bad}, Event{Address: good}},
		"second":         {Options{}, []netip.AddrPort{bad, good}, Event{Address: good}},
		"none answers":   {Options{}, []netip.AddrPort{bad}, Event{Address: bad, Failed: Refused}},
		"nothing to try": {Options{}, nil, Event{Failed: Unreachable}},
		"own door":       {Options{Refuse: func(host string, a netip.AddrPort) bool { return host == "h" && a == good }}, []netip.AddrPort{good}, Event{Address: good, Failed: Own}},
		"own door first": {Options{Refuse: func(_ string, a netip.AddrPort) bool { return a == bad }}, []netip.AddrPort{bad, good}, Event{Address: good}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.o, c.addresses...)
			if c.want.Failed != "" {
				s.broken()
			} else {
				s.dial()
			}
			e := s.event()
			if e.Address != c.want.Address || e.Failed != c.want.Failed || e.Target.Host != "h" {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestWhy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err := dialOne(ctx, nobody(t), 1)
	if got := why(err); got != Timeout {
		t.Errorf("%v: %s", err, got)
	}
	if got := why(&net.OpError{Err: errors.New("something else")}); got != Unreachable {
		t.Errorf("%s", got)
	}
}

// TestPlaces: more connections than there are places end at once, and a place
// that becomes free is used again.
func TestPlaces(t *testing.T) {
	s := newStage(t, Options{}, serve(t, echo))
	var held []*net.TCPConn
	for range Connections {
		held = append(held, s.dial())
	}
	for range Connections {
		if e := s.event(); e.Failed != "" {
			t.Fatalf("%+v", e)
		}
	}
	for range 20 {
		s.broken()
		if e := s.event(); e.Failed != TooMany {
			t.Errorf("%+v", e)
		}
	}
	if err := held[0].Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); {
		_, _ = s.try() // the place may not be free yet
		if e := s.event(); e.Failed == "" {
			return
		}
	}
	t.Error("a free place was not used")
}

// TestClose: nothing is left of a closed relay.
func TestClose(t *testing.T) {
	ended := make(chan struct{}, 10)
	s := newStage(t, Options{}, serve(t, func(c *net.TCPConn) {
		echo(c)
		ended <- struct{}{}
	}))
	for range 10 {
		c := s.dial()
		if e := s.event(); e.Failed != "" {
			t.Fatalf("%+v", e)
		}
		defer c.Close()
	}
	s.relay.Close()
	for range 10 {
		select {
		case <-ended:
		case <-time.After(bound):
			t.Fatal("a connection stands")
		}
	}
	if _, err := net.DialTimeout("tcp", s.at, bound); err == nil {
		t.Error("it still listens")
	}
	s.relay.Serve(listen(t), Target{}) // closed at once
	s.relay.Close()
}
