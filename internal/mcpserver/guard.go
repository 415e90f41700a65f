package mcpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxHTTPRequests bounds the requests served at once; more get 503.
const maxHTTPRequests = 256

// guard stands before the SDK's handler: it refuses whom and what must not get
// there, and takes what a request said out of the SDK's error texts. The order
// is: who calls, where to, on whose behalf, how.
func (s *Server) guard(sameUserOnly bool) http.Handler {
	limit := s.lineLimit()
	sdk := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true,
			MaxRequestBodyBytes: limit, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // ours knows the case of names and the Origin
		})
	slots := make(chan struct{}, maxHTTPRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case sameUserOnly && !s.fromSameUser(r):
			http.Error(w, "this server answers its own user only", http.StatusForbidden)
			return
		case r.URL.Path != endpointPath:
			http.NotFound(w, r)
			return
		case !isLoopbackHost(r.Host) || !originsAreLoopback(r.Header.Values("Origin")):
			http.Error(w, "only loopback names are answered", http.StatusForbidden)
			return
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		case !isJSON(r.Header.Get("Content-Type")):
			http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests are open", http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "the request could not be read", http.StatusBadRequest)
			return
		}
		m, problem := parseMessage(body)
		if problem == nil {
			problem = plainName(r.Header, m)
		}
		if problem != nil {
			writeJSON(w, http.StatusBadRequest, encodeReply(problem.id, nil, &problem.Error))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := &capture{header: http.Header{}, status: http.StatusOK}
		sdk.ServeHTTP(answer, r)
		answer.release(w, m)
	})
}

// isLoopbackHost reports whether a Host header names this machine (SD-30): a
// page whose name was rebound to 127.0.0.1 sends its own name.
func isLoopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Zone() == "" && addr.IsLoopback()
}

// originsAreLoopback reports whether every Origin header is a page of this
// machine; programs send none.
func originsAreLoopback(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isLoopbackHost(u.Host) {
			return false
		}
	}
	return true
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// plainName decodes an Mcp-Name header in base64, which the SDK compares as it
// stands, and compares it with taskId, which the SDK does not know.
func plainName(h http.Header, m message) *malformed {
	name := h.Get("Mcp-Name")
	if encoded, ok := strings.CutPrefix(name, "=?base64?"); ok && strings.HasSuffix(encoded, "?=") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil {
			return bad(idOf(m), mcp.CodeHeaderMismatch, "Mcp-Name is not valid base64")
		}
		name = string(raw)
		h.Set("Mcp-Name", name)
	}
	if m.modern && strings.HasPrefix(m.call.Method, "tasks/") {
		var params struct {
			TaskID string `json:"taskId"`
		}
		if json.Unmarshal(m.call.Params, &params) == nil && params.TaskID != "" && params.TaskID != name {
			return bad(idOf(m), mcp.CodeHeaderMismatch, "Mcp-Name does not match taskId")
		}
	}
	return nil
}

func idOf(m message) json.RawMessage {
	if m.call == nil || !m.call.IsCall() {
		return nil
	}
	id, _ := json.Marshal(m.call.ID.Raw())
	return id
}

// capture holds the SDK's answer back until its errors are scrubbed. Answers
// are small: results come in pages.
type capture struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) WriteHeader(status int)      { c.status = status }
func (c *capture) Write(p []byte) (int, error) { return c.body.Write(p) }

// release writes the answer out. The SDK's plain-text refusals of a request
// become JSON-RPC errors, which clients show instead of a bare status.
func (c *capture) release(w http.ResponseWriter, m message) {
	body, status := c.body.Bytes(), c.status
	id := idOf(m)
	var r reply
	switch {
	case isJSON(c.header.Get("Content-Type")):
		if json.Unmarshal(body, &r) == nil && r.Error != nil {
			body = encodeReply(r.ID, nil, r.Error)
		}
	case status >= http.StatusBadRequest && id != nil:
		failure := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(c.body.String())}
		if strings.Contains(failure.Message, "unsupported") && !m.modern {
			failure = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			status = http.StatusOK // before 2026-07-28 errors of a method come with 200
		}
		body = encodeReply(id, nil, failure)
		c.header.Set("Content-Type", "application/json")
	}
	if id == nil && m.call != nil && status == http.StatusBadRequest && !isJSON(c.header.Get("Content-Type")) {
		w.WriteHeader(http.StatusAccepted) // a notification nobody knows is ignored
		return
	}
	for name, values := range c.header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
