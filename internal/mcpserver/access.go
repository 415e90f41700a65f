package mcpserver

import (
	"net"
	"net/http"
	"time"
)

// AccessRecord is one line of the HTTP request log (S1-100): what the socket
// and the routing headers say, never query, body or other headers (S1-101).
type AccessRecord struct {
	Remote, Local string // real socket addresses; X-Forwarded-For is ignored (S1-102)
	Method, Path  string
	Status        int
	Duration      time.Duration
	Protocol      string // MCP-Protocol-Version
	MCPMethod     string // Mcp-Method
	MCPName       string // Mcp-Name
}

// logged hands a record of each request to log. A nil log records nothing.
func logged(log func(AccessRecord), next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := AccessRecord{
			Remote: r.RemoteAddr,
			Method: oneLine(r.Method, 32), Path: oneLine(r.URL.Path, 256),
			Protocol:  oneLine(r.Header.Get("MCP-Protocol-Version"), 64),
			MCPMethod: oneLine(r.Header.Get("Mcp-Method"), 128),
			MCPName:   oneLine(r.Header.Get("Mcp-Name"), 128),
		}
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			rec.Local = local.String()
		}
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			rec.Status, rec.Duration = seen.status, time.Since(start)
			log(rec)
		}()
		next.ServeHTTP(seen, r)
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
