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

// webServer turns the connections of an HTTP listener into requests.
type webServer struct {
	clientTimeout time.Duration
	server        *http.Server
	conns         chan net.Conn
	retired       chan struct{}
	once          sync.Once
}

// newWebServer serves until it is retired. Its connections end on their own:
// with the client, the idle timeout, or because the load balancer cuts them.
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

// retire takes no more connections; those that it has go on.
func (w *webServer) retire() {
	if w != nil {
		w.once.Do(func() { close(w.retired) })
	}
}

// stop is retire for a listener that is gone: requests in progress are
// answered, and then their connections end; idle ones end at once.
func (w *webServer) stop() {
	if w != nil {
		w.retire()
		w.server.SetKeepAlivesEnabled(false)
	}
}

// serveHTTP hands the connection to the listener's present server.
func (l *listener) serveHTTP(client *conn) {
	l.plane.running.Add(1) // until the server says that the connection is closed
	var c net.Conn = client
	if terminate := l.tls.Load(); terminate != nil {
		c = tls.Server(client, terminate) // the server waits for the handshake, as long as for a header
	}
	for {
		w := l.web.Load()
		select {
		case w.conns <- c:
			return
		case <-w.retired:
		}
		if l.web.Load() == w { // retired for good: the listener is gone
			l.plane.running.Done()
			_ = c.Close()
			return
		}
	}
}

// webListener feeds an http.Server with connections accepted elsewhere.
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

// clientConnKey finds the client's connection in a request's context.
type clientConnKey struct{}

// forwardKey finds, in a request's context, where the request has to go.
type forwardKey struct{}

type forward struct {
	listener    *listener
	client, via netip.AddrPort
}

// newTransport returns the transport of all HTTP listeners. Every request gets
// a member connection of its own, chosen by its listener's pool: no connection
// is kept that a member might close under a request.
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

// tellMetrics answers as an amphora does to Prometheus, with two metrics of the load balancer.
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

// httpHandler forwards requests to members, or tells metrics.
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

// demandTLS adds the header of HSTS.
func (l *listener) demandTLS(r *http.Response) error {
	if t := l.conf.Load().TLS; t != nil && t.HSTS != "" {
		r.Header.Set("Strict-Transport-Security", t.HSTS)
	}
	return nil
}

// rewrite passes the request on as it came, with the headers that the listener inserts.
func (l *listener) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme = "http"
	r.Out.URL.Host = "member" // the pool decides which, when the transport dials
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

// httpError answers for a member that did not: 503 when none could be reached,
// 504 when it took too long, 502 when its answer is no HTTP.
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

// logWriter sends what net/http logs of broken connections to the plane's log.
type logWriter struct{ l *listener }

func (w logWriter) Write(b []byte) (int, error) {
	w.l.plane.logger.V(1).Info("HTTP connection", "listener", w.l.id, "message", strings.TrimSpace(string(b)))
	return len(b), nil
}
