// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Proxy is in front of a cloud, with a listener on loopback for each service that tests use.
// Clients reach all of these services through it. Every call is recorded before it is answered, and
// can be delayed or fail, as with the simulator.
type Proxy struct {
	recorder wire.Recorder
	faults   wire.Faults
	latency  wire.Latency
	tokens   tokens

	origins   map[string]string // of the proxy itself, by service
	authPath  string
	servers   []*http.Server
	transport *http.Transport
	running   sync.WaitGroup
}

// StartProxy starts a proxy for the services at these addresses, which are those
// of the catalogue, by type. Services whose routes are not known are not fronted.
// It must be closed.
func StartProxy(authURL string, endpoints map[string]string) (*Proxy, error) {
	p := &Proxy{origins: map[string]string{}, transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	known, err := routes()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(authURL)
	if err != nil {
		return nil, fmt.Errorf("the address of Keystone: %w", err)
	}
	p.authPath = u.Path
	endpoints = maps.Clone(endpoints)
	endpoints[identity] = authURL
	instead, listeners := map[string]string{}, map[string]net.Listener{}
	for service := range known {
		root := origin(endpoints[service])
		if root == "" {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, closeAll(listeners))
		}
		listeners[service], p.origins[service] = l, "http://"+l.Addr().String()
		instead[root] = p.origins[service]
	}
	rewriter := newRewriter(instead)
	for service, l := range listeners {
		p.serve(l, wire.New(wire.Options{
			Service: service, Mux: known[service], Handler: p.forward(origin(endpoints[service]), rewriter),
			Recorder: &p.recorder, Faults: &p.faults, Latency: &p.latency, Authenticate: p.tokens.accept, KeystoneURI: p.AuthURL(),
		}))
	}
	return p, nil
}

func closeAll(listeners map[string]net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// forward hands requests on to the service at root.
func (p *Proxy) forward(root string, rewriter rewriter) http.Handler {
	to, _ := url.Parse(root) // origin has parsed it
	return &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: rewriter.response,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("the test's proxy has no answer to %s %s: %v", r.Method, r.URL.Path, err), http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

func (p *Proxy) serve(l net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	ctx, cancel := context.WithCancel(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	server.RegisterOnShutdown(cancel)
	p.servers = append(p.servers, server)
	p.running.Go(func() { _ = server.Serve(l) }) // it ends with ErrServerClosed
}

// AuthURL returns where the proxy answers for Keystone.
func (p *Proxy) AuthURL() string { return p.origins[identity] + p.authPath }

// Recorder has the calls that were made through the proxy.
func (p *Proxy) Recorder() *wire.Recorder { return &p.recorder }

// Faults returns the faults of these calls. FaultErrorState does nothing here: no proxy can make a
// real service fail at its work.
func (p *Proxy) Faults() *wire.Faults { return &p.faults }

// Latency returns the additional time of these calls.
func (p *Proxy) Latency() *wire.Latency { return &p.latency }

// ExpireTokens rejects every token that was used so far, with the answer of a service to an invalid
// token.
func (p *Proxy) ExpireTokens() { p.tokens.expire() }

// Tokens returns all tokens with which calls came through the proxy.
func (p *Proxy) Tokens() []string { return p.tokens.all() }

// closeTimeout bounds how long Close waits for requests under way.
const closeTimeout = time.Minute

// Close ends the proxy. Requests under way are given up.
func (p *Proxy) Close() error {
	p.faults.Clear()
	var errs []error
	for _, s := range p.servers {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		errs = append(errs, s.Shutdown(ctx))
		cancel()
	}
	p.running.Wait()
	p.transport.CloseIdleConnections()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the proxy: %w", err)
	}
	return nil
}

// tokens are those that came by.
type tokens struct {
	mu sync.Mutex
	// valid has false for those that were expired.
	valid map[string]bool
}

// accept takes every token but those that were expired: whether it is good is
// for the real service to say.
func (t *tokens) accept(token string) (wire.Identity, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token == "" {
		return wire.Identity{}, true
	}
	if t.valid == nil {
		t.valid = map[string]bool{}
	}
	if valid, known := t.valid[token]; known {
		return wire.Identity{}, valid
	}
	t.valid[token] = true
	return wire.Identity{}, true
}

func (t *tokens) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.valid))
}

func (t *tokens) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for token := range t.valid {
		t.valid[token] = false
	}
}
