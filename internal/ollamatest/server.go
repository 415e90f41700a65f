package ollamatest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server plays one Script. Made by New it is an http.Handler only; made by
// Start it listens as well. It may be used by several goroutines.
type Server struct {
	script *Script
	http   *http.Server
	url    string

	closing sync.Once
	closed  chan struct{}

	mu       sync.Mutex
	used     []int // how often each turn has answered
	requests []Request
	problems []string
	calls    int // call ids given so far
}

// Request is one request as it arrived.
type Request struct {
	Method, Path string
	Body         []byte
	Turn         string // the section that answered; "" none
	Status       int
}

// New returns a Server that does not listen.
func New(s *Script) *Server {
	return &Server{script: s, used: make([]int, len(s.Turns)), closed: make(chan struct{})}
}

// Start returns a Server that listens on a free port of 127.0.0.1; the caller
// closes it.
func Start(s *Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := New(s)
	srv.url = "http://" + l.Addr().String()
	srv.http = &http.Server{Handler: srv, ReadHeaderTimeout: 10 * time.Second}
	go srv.http.Serve(l)
	return srv, nil
}

// URL is the server's base URL; "" when it does not listen.
func (s *Server) URL() string { return s.url }

// Close ends every answer and stops listening.
func (s *Server) Close() error {
	s.closing.Do(func() { close(s.closed) })
	if s.http == nil {
		return nil
	}
	return s.http.Close()
}

// Requests returns what has arrived so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Chats returns the requests for /api/chat alone.
func (s *Server) Chats() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Path != "/api/chat" })
}

// Problems returns the expectations that did not hold.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Unused returns the names of the sections that never answered.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for i, n := range s.used {
		if n == 0 {
			names = append(names, s.script.Turns[i].Name)
		}
	}
	return names
}

// ServeHTTP answers as an Ollama server does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	request := Request{Method: r.Method, Path: r.URL.Path, Body: body}
	a := s.answer(&request)
	request.Status = a.status
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	a.write(w, r.Context().Done(), s.closed)
}

// answer decides on the answer without sending it.
func (s *Server) answer(r *Request) *answer {
	switch r.Method + " " + r.Path {
	case "GET /", "HEAD /":
		return text(http.StatusOK, "Ollama is running")
	case "GET /api/version":
		return object(http.StatusOK, map[string]any{"version": s.script.Version})
	case "GET /api/tags":
		return object(http.StatusOK, map[string]any{"models": s.models(map[string]any{})})
	case "GET /api/ps":
		return object(http.StatusOK, map[string]any{"models": s.models(map[string]any{"context_length": s.script.Context})})
	case "POST /api/show":
		return s.show(r.Body)
	case "POST /api/chat":
		return s.chat(r)
	default:
		return text(http.StatusNotFound, "404 page not found")
	}
}

// models lists the one model with more members.
func (s *Server) models(more map[string]any) []map[string]any {
	if s.script.Model == "" {
		return []map[string]any{}
	}
	more["name"], more["model"], more["size"] = s.script.Model, s.script.Model, 1<<20
	return []map[string]any{more}
}

// knows reports whether the model exists; the answer says so when it does not.
func (s *Server) knows(model string) (*answer, bool) {
	if s.script.Model == "" || model == s.script.Model || model+":latest" == s.script.Model {
		return nil, true
	}
	return failed(http.StatusNotFound, fmt.Sprintf("model '%s' not found", model)), false
}

// pick returns the turn that answers a request of this kind and uses it up.
func (s *Server) pick(plan bool, m []message) (Turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.script.Turns {
		if t.Plan != plan || (t.Times != Forever && s.used[i] >= t.Times) || !t.applies(m) {
			continue
		}
		s.used[i]++
		for _, c := range t.Expect {
			if !c.holds(m) {
				s.problems = append(s.problems, fmt.Sprintf("%s (line %d): expected otherwise: %+v", t.Name, t.Line, c))
			}
		}
		return t, true
	}
	return Turn{}, false
}

// callID returns the next identifier of a call.
func (s *Server) callID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return fmt.Sprintf("call_%08d", s.calls)
}
