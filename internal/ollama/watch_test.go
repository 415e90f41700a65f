package ollama

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sunaba/fault"
	"sunaba/internal/agent"
)

// slow is a server without a network: each answer is a list of chunks, each
// after a wait; after the last one nothing comes any more.
type slow struct {
	waits  []time.Duration
	status int
	retry  string // Retry-After
	asked  int
	at     []time.Time
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	s.at = append(s.at, time.Now())
	h := http.Header{}
	if s.retry != "" {
		h.Set("Retry-After", s.retry)
	}
	return &http.Response{StatusCode: s.status, Header: h, Body: &slowBody{r.Context(), s.waits}}, nil
}

type slowBody struct {
	ctx   context.Context
	waits []time.Duration
}

func (b *slowBody) Close() error { return nil }

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.waits) == 0 {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	wait := b.waits[0]
	b.waits = b.waits[1:]
	if wait < 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(wait):
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	line := `{"message":{"thinking":"."}}` + "\n"
	if len(b.waits) == 1 && b.waits[0] < 0 {
		line = `{"message":{"content":"ok"},"done":true,"done_reason":"stop"}` + "\n"
	}
	return copy(p, line), nil
}

// TestBoundsOfTime: each bound ends a silent server, none a slow one.
func TestBoundsOfTime(t *testing.T) {
	const end = -1
	for _, c := range []struct {
		name  string
		waits []time.Duration
		cause error // nil: a reply
		after time.Duration
	}{
		{"slow but alive", []time.Duration{100 * time.Second, 50 * time.Second, 50 * time.Second, 50 * time.Second, end}, nil, 250 * time.Second},
		{"never a first chunk", nil, errSilent, 120 * time.Second},
		{"silent in the middle", []time.Duration{time.Second}, errSilent, 61 * time.Second},
		{"alive for too long", []time.Duration{50e9, 50e9, 50e9, 50e9, 50e9, 50e9, 50e9}, errWhole, 300 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New(Config{
					BaseURL: "http://h", Model: "m", Retries: 3,
					RequestTimeout: 300 * time.Second, FirstByte: 120 * time.Second, Idle: 60 * time.Second,
				})
				if err != nil {
					t.Fatal(err)
				}
				server := &slow{waits: c.waits, status: 200}
				client.http.Transport = server
				began := time.Now()
				reply, err := client.Chat(t.Context(), ask)
				if took := time.Since(began); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				if c.cause == nil && (err != nil || reply.Message.Content != "ok") {
					t.Error(reply, err)
				}
				if c.cause != nil && (!errors.Is(err, c.cause) || fault.CodeOf(err) != fault.LLMUnavailable) {
					t.Error(err)
				}
				if server.asked != 1 {
					t.Errorf("asked %d times", server.asked)
				}
			})
		})
	}
}

// Covers: OLL-12
func TestWaitsBetweenAttempts(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		after  string
		want   []time.Duration // at least; at most a half more
	}{
		{"doubled", 503, "", []time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond}},
		{"as the server wishes", 429, "30", []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}},
		{"the server's wish is bounded", 503, "9999", []time.Duration{time.Minute, time.Minute, time.Minute}},
		{"a limit for hours is an answer", 429, "9999", nil},
		{"a date is not read", 503, "Tue, 01 Dec 2026 00:00:00 GMT", []time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New(Config{BaseURL: "http://h", Model: "m", Retries: 3})
				if err != nil {
					t.Fatal(err)
				}
				server := &slow{waits: []time.Duration{-1}, status: c.status, retry: c.after}
				client.http.Transport = server
				if _, err := client.Chat(t.Context(), ask); err == nil {
					t.Fatal("no error")
				}
				if len(server.at) != len(c.want)+1 {
					t.Fatalf("%d attempts", len(server.at))
				}
				for i, want := range c.want {
					if got := server.at[i+1].Sub(server.at[i]); got < want || got > want*5/3 {
						t.Errorf("wait %d: %v, want about %v", i, got, want)
					}
				}
			})
		})
	}
}

// TestContextEnds: the end of the context ends the call wherever it is, and is
// what the caller is told.
//
// Covers: SD-23
func TestContextEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		waits   []time.Duration
		retries int
	}{
		{"while nothing comes", 200, nil, 3},
		{"with no retry left", 200, nil, 0},
		{"between the chunks", 200, []time.Duration{time.Second}, 3},
		{"between the attempts", 503, []time.Duration{-1}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := New(Config{BaseURL: "http://h", Model: "m", Retries: c.retries, Backoff: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				server := &slow{waits: c.waits, status: c.status}
				client.http.Transport = server
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				_, err = client.Chat(ctx, ask)
				if !errors.Is(err, context.DeadlineExceeded) || fault.CodeOf(err) != "" {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != 10*time.Second || server.asked != 1 {
					t.Errorf("%v, asked %d times", took, server.asked)
				}
			})
		})
	}
}

// TestNoRedirectNoProxy: what is configured is what is spoken to.
func TestNoRedirectNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	client, _ := play(t, "## t\nsay ok")
	if transport := client.http.Transport.(*http.Transport); transport.Proxy != nil {
		t.Error("the environment chooses a proxy")
	}
	moved := &redirect{}
	client.http.Transport = moved
	if _, err := client.Chat(t.Context(), agent.ChatRequest{}); fault.CodeOf(err) != fault.LLMFailed || moved.asked != 1 {
		t.Error(err, moved.asked)
	}
}

type redirect struct{ asked int }

func (r *redirect) RoundTrip(*http.Request) (*http.Response, error) {
	r.asked++
	return &http.Response{
		StatusCode: 307, Header: http.Header{"Location": {"http://elsewhere.test/"}},
		Body: io.NopCloser(strings.NewReader("")),
	}, nil
}
