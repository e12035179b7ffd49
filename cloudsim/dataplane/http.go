// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// webServer serves the requests on the connections of an HTTP listener.
type webServer struct {
	clientTimeout time.Duration
	server        *http.Server
	conns         chan net.Conn
	retired       chan struct{}
	once          sync.Once
}

// newWebServer starts a server that accepts connections until it is retired. Its connections end
// independently: when the client closes them, at the idle timeout, or when the load balancer closes
// them.
func newWebServer(l *listener, clientTimeout time.Duration) *webServer {
	w := &webServer{
		clientTimeout: clientTimeout,
		conns:         make(chan net.Conn),
		retired:       make(chan struct{}),
	}
	w.server = &http.Server{
		Handler:           l.httpHandler(),
		ReadHeaderTimeout: clientTimeout,
		IdleTimeout:       clientTimeout,
		ErrorLog:          log.New(logWriter{l}, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, clientConnKey{}, clientConn(c))
		},
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				l.plane.running.Done()
			}
		},
	}
	l.plane.running.Go(func() { _ = w.server.Serve(webListener{w}) })
	return w
}

// retire makes the server accept no more connections; existing ones continue.
func (w *webServer) retire() {
	if w != nil {
		w.once.Do(func() { close(w.retired) })
	}
}

// stop retires the server of a removed listener: requests in progress are answered, then their
// connections are closed; idle ones are closed at once.
func (w *webServer) stop() {
	if w != nil {
		w.retire()
		w.server.SetKeepAlivesEnabled(false)
	}
}

// serveHTTP passes the connection to the listener's current server.
func (l *listener) serveHTTP(client *conn) {
	l.plane.running.Add(1) // until the server says that the connection is closed
	var c net.Conn = client
	if terminate := l.tls.Load(); terminate != nil {
		c = tls.Server(client, terminate) // the server waits as long for the handshake as for a header
	}
	for {
		w := l.web.Load()
		select {
		case w.conns <- c:
			return
		case <-w.retired:
		}
		if l.web.Load() == w { // no newer server: the listener was removed
			l.plane.running.Done()
			_ = c.Close()
			return
		}
	}
}

// webListener passes connections that were accepted elsewhere to an http.Server.
type webListener struct{ *webServer }

func (w webListener) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.retired:
		return nil, http.ErrServerClosed
	}
}

func (w webListener) Close() error   { return nil }
func (w webListener) Addr() net.Addr { return &net.TCPAddr{} }

// clientConnKey is the key of the client's connection in a request's context.
type clientConnKey struct{}

// forwardKey is the key of a request's destination in its context.
type forwardKey struct{}

type forward struct {
	listener    *listener
	client, via netip.AddrPort
}

// newTransport returns the transport of all HTTP listeners. Every request gets its own connection
// to a member that the listener's pool chooses. Connections are not reused, because a member might
// close one during a request.
func newTransport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			f := ctx.Value(forwardKey{}).(forward)
			return f.listener.dial(ctx, f.client, f.via)
		},
	}
}

// tellMetrics answers Prometheus as an amphora does, with two metrics of the load balancer.
func tellMetrics(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, name := range []string{"cpu", "memory"} {
		_, _ = fmt.Fprintf(w, "# HELP octavia_loadbalancer_%[1]s Load balancer %[1]s utilization (percentage).\n"+
			"# TYPE octavia_loadbalancer_%[1]s gauge\noctavia_loadbalancer_%[1]s 0.0\n", name)
	}
}

// httpHandler forwards requests to members, or serves metrics.
func (l *listener) httpHandler() http.Handler {
	if l.protocol == "PROMETHEUS" {
		return http.HandlerFunc(tellMetrics)
	}
	proxy := &httputil.ReverseProxy{
		Transport:      l.plane.transport,
		FlushInterval:  -1,
		ErrorLog:       log.New(logWriter{l}, "", 0),
		Rewrite:        func(r *httputil.ProxyRequest) { l.rewrite(r) },
		ModifyResponse: l.demandTLS,
		ErrorHandler:   l.httpError,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.plane.running.Add(1) // a hijacked connection outlives its server's count
		defer l.plane.running.Done()
		c := r.Context().Value(clientConnKey{}).(*conn)
		f := forward{listener: l, client: c.remote(), via: c.local()}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwardKey{}, f)))
	})
}

// demandTLS adds the HSTS header.
func (l *listener) demandTLS(r *http.Response) error {
	if t := l.conf.Load().TLS; t != nil && t.HSTS != "" {
		r.Header.Set("Strict-Transport-Security", t.HSTS)
	}
	return nil
}

// rewrite forwards the request unchanged, except for the headers that the listener inserts.
func (l *listener) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme = "http"
	r.Out.URL.Host = "member" // the pool chooses the member when the transport dials
	r.Out.Host = r.In.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := r.In.Header[h]; v != nil {
			r.Out.Header[h] = slices.Clone(v)
		}
	}
	conf := l.conf.Load()
	if conf.XForwardedFor {
		c := r.In.Context().Value(clientConnKey{}).(*conn)
		r.Out.Header.Add("X-Forwarded-For", c.remote().Addr().String())
	}
	if conf.XForwardedPort {
		r.Out.Header.Set("X-Forwarded-Port", strconv.Itoa(l.port))
	}
	if conf.XForwardedProto {
		scheme := "http"
		if r.In.TLS != nil {
			scheme = "https"
		}
		r.Out.Header.Set("X-Forwarded-Proto", scheme)
	}
}

// httpError answers if no member did: with 503 if none could be reached, 504 if the member took too
// long, 502 if its answer is not HTTP.
func (l *listener) httpError(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadGateway
	var op *net.OpError
	var netErr net.Error
	switch {
	case errors.Is(err, errNoMember), errors.As(err, &op) && op.Op == "dial":
		status = http.StatusServiceUnavailable
	case errors.As(err, &netErr) && netErr.Timeout():
		status = http.StatusGatewayTimeout
	}
	l.plane.logger.V(1).Info("Request not answered by a member", "listener", l.id, "status", status, "reason", err.Error())
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<html><body><h1>"+http.StatusText(status)+"</h1></body></html>\n")
}

// logWriter writes net/http's messages about broken connections to the plane's log.
type logWriter struct{ l *listener }

func (w logWriter) Write(b []byte) (int, error) {
	w.l.plane.logger.V(1).Info("HTTP connection", "listener", w.l.id, "message", strings.TrimSpace(string(b)))
	return len(b), nil
}
