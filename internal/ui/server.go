// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui serves the topology page. Every client that can reach the server gets the page itself, which contains no
// data; only clients that the filter admits get the topology. All viewers share one reader of the cluster and the
// cloud, which runs only while there are viewers.
package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Filter protects a handler.
type Filter func(logr.Logger, http.Handler) (http.Handler, error)

// Options configure Serve.
type Options struct {
	Source Source
	Logger logr.Logger
	// Filter admits only clients that may see the topology. Without one, every client that can reach the server
	// may see it, so the server answers only requests to a name of this machine.
	Filter Filter
	// Serve serves the handler, with or without TLS. It returns when the server is shut down.
	Serve func(*http.Server, net.Listener) error
}

// streamLimit limits the duration of a stream of changes if there is a filter, which checks only its
// beginning.
const streamLimit = 5 * time.Minute

// Serve serves the page until the context ends.
func Serve(ctx context.Context, listener net.Listener, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := newHub(ctx, o.Source)
	defer h.close()
	handler, err := newHandler(h, o)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // its end stops the streams
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
	}()
	err = o.Serve(server, listener)
	cancel()
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// newHandler returns the handler of all requests.
func newHandler(h *hub, o Options) (http.Handler, error) {
	var data http.Handler = topologyHandler(h, o.Filter != nil)
	if o.Filter != nil {
		var err error
		data, err = o.Filter(o.Logger, data)
		if err != nil {
			return nil, fmt.Errorf("set up authentication: %w", err)
		}
	}
	pages, err := newPages()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /topology", data)
	mux.Handle("GET /topology/events", data)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.Handle("GET /", pages)
	var all http.Handler = mux
	if o.Filter == nil {
		all = onlyLocalNames(mux)
	}
	return secured(all), nil
}

// secured sets the headers that restrict what a browser does with the responses.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// onlyLocalNames refuses requests to names other than those of this machine. Otherwise a page of another site, whose
// name resolves to this machine (DNS rebinding), could read the topology.
func onlyLocalNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if host != "localhost" && (err != nil || !address.IsLoopback()) {
			http.Error(w, "Without authentication this server answers only requests to localhost, 127.0.0.1 or [::1].", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// topologyHandler answers with the topology, or with a stream of its changes.
func topologyHandler(h *hub, limited bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if limited {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, streamLimit)
			defer cancel()
		}
		defer h.join()()
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/topology/events" {
			stream(ctx, w, h)
			return
		}
		for {
			last, next := h.current()
			if last != nil {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(last.since(nil))
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				http.Error(w, "the topology was not read in time", http.StatusServiceUnavailable)
				return
			}
		}
	})
}

// heartbeat is the interval at which an idle stream sends a sign of life.
const heartbeat = 10 * time.Second

// stream writes server-sent events: first everything, then what has changed.
func stream(ctx context.Context, w http.ResponseWriter, h *hub) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not buffer the stream
	control := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	write := func(format string, args ...any) bool {
		// A viewer that does not read must not block the server.
		_ = control.SetWriteDeadline(time.Now().Add(heartbeat))
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	if !write(": kube-octavia\n\n") {
		return
	}
	var sent *snapshot
	for {
		last, next := h.current()
		if last != nil && last != sent {
			text, err := json.Marshal(last.since(sent))
			if err != nil || !write("event: change\ndata: %s\n\n", text) {
				return
			}
			sent = last
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-beat.C:
			if !write(": heartbeat\n\n") {
				return
			}
		}
	}
}
