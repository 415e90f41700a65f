package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"sunaba/fault"
)

const (
	endpointPath = "/mcp"
	// stopTime bounds how long requests in flight are waited for at the end.
	stopTime = 5 * time.Second
)

// ListenAndServe serves Streamable HTTP at /mcp on every address until ctx
// ends, which gives nil (MCP-TR-02, MCP-2026-01..03). Addresses are loopback
// literals with a port; port 0 takes a free one. peer is "same_user" (also "")
// or "any": with the first, only sockets of this process's user are answered
// (C-43), and where that cannot be told nothing is served. ready gets the
// endpoints once all of them listen (S1-097); accessLog, which may be nil, gets
// one record a request and must be safe for concurrent use.
//
// Errors have the codes mcp.not_loopback, mcp.peer_check and mcp.listen.
func (s *Server) ListenAndServe(ctx context.Context, addrs []string, peer string,
	ready func(endpoints []string), accessLog func(AccessRecord)) error {
	if peer != "any" {
		if err := checkPeersCanBeTold(ctx, peer); err != nil {
			return err
		}
	}
	listeners, err := listen(ctx, addrs)
	if err != nil {
		return err
	}
	draining := make(chan struct{})
	base := withCaller(context.WithoutCancel(ctx), caller{draining: draining})
	srv := &http.Server{
		Handler: logged(accessLog, s.guard(peer != "any")),
		// A wait of agent_status fits into WriteTimeout, which starts with the
		// request's header.
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30*time.Second + maxWait + 15*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       rememberPeer,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, len(listeners))
	endpoints := make([]string, len(listeners))
	for i, l := range listeners {
		endpoints[i] = "http://" + l.Addr().String() + endpointPath
		go func() { ended <- srv.Serve(l) }()
	}
	if ready != nil {
		ready(endpoints)
	}
	select {
	case <-ctx.Done():
	case err = <-ended:
		err = fault.Wrap(err, fault.MCPListen, "serve", "address", addrs[0])
	}
	close(draining)
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer done()
	if shut := srv.Shutdown(stopping); shut != nil {
		s.log.Warn("requests were still open at the end", "error", shut)
		_ = srv.Close()
	}
	return err
}

// listen opens every address, or none.
func listen(ctx context.Context, addrs []string) ([]net.Listener, error) {
	var listeners []net.Listener
	fail := func(err error) ([]net.Listener, error) {
		for _, l := range listeners {
			_ = l.Close()
		}
		return nil, err
	}
	if len(addrs) == 0 {
		return fail(fault.New(fault.MCPListen, "listen", "address", "-"))
	}
	for _, text := range addrs {
		addr, err := netip.ParseAddrPort(text)
		if err != nil || !addr.Addr().IsLoopback() || addr.Addr().Zone() != "" || addr.Addr().Is4In6() {
			return fail(fault.Wrap(err, fault.MCPNotLoopback, "listen", "address", oneLine(text, 200)))
		}
		network := "tcp6"
		if addr.Addr().Is4() {
			network = "tcp4"
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, network, addr.String())
		if err != nil {
			return fail(fault.Wrap(err, fault.MCPListen, "listen", "address", text))
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// checkPeersCanBeTold proves, by using it, that the user behind a loopback
// connection can be told here.
func checkPeersCanBeTold(ctx context.Context, peer string) error {
	refuse := func(err error) error { return fault.Wrap(err, fault.MCPPeerCheck, "listen") }
	if peer != "" && peer != "same_user" {
		return refuse(errors.New("unknown kind of peer"))
	}
	listeners, err := listen(ctx, []string{"127.0.0.1:0"})
	if err != nil {
		return refuse(err)
	}
	defer listeners[0].Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp4", listeners[0].Addr().String())
	if err != nil {
		return refuse(err)
	}
	defer conn.Close()
	same, err := sameUser(conn.RemoteAddr(), conn.LocalAddr())
	if err != nil || !same {
		return refuse(err)
	}
	return nil
}
