package mcpserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// peerVerdict remembers for one connection whether its other end belongs to
// this process's user; a connection does not change hands.
type peerVerdict struct {
	once sync.Once
	same bool
}

type peerKey struct{}

func rememberPeer(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, new(peerVerdict))
}

// fromSameUser reports whether r came from a socket of this process's user.
// What cannot be told is refused.
func (s *Server) fromSameUser(r *http.Request) bool {
	v, ok := r.Context().Value(peerKey{}).(*peerVerdict)
	local, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !known {
		return false
	}
	v.once.Do(func() {
		remote, err := net.ResolveTCPAddr("tcp", r.RemoteAddr) // a literal: no lookup
		if err == nil {
			v.same, err = sameUser(local, remote)
		}
		if err != nil {
			s.log.Warn("the user behind a connection could not be told", "error", err)
		}
	})
	return v.same
}
