// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// server serves one handler on one address.
type server struct {
	listener net.Listener
	http     http.Server
	cancel   context.CancelFunc
	served   chan error

	mu      sync.Mutex
	closing bool
	running sync.WaitGroup // requests being handled
}

// listen listens on the address. For port 0 the kernel chooses one. Clients that connect before
// serve is called wait.
func listen(on func(network, address string) (net.Listener, error), host string, port int) (*server, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := on("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &server{listener: l, served: make(chan error, 1)}, nil
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

func (s *server) serve(h http.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.http = http.Server{
		Handler:           s.counted(h),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: time.Minute,
	}
	go func() { s.served <- s.http.Serve(s.listener) }()
}

// counted counts the requests in progress, so that close can wait for them, which http.Server.Close
// does not.
func (s *server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.running.Add(1)
		s.mu.Unlock()
		defer s.running.Done()
		h.ServeHTTP(w, r)
	})
}

// close stops the server, closes its connections, and returns when no goroutine of it runs any
// more.
func (s *server) close() error {
	if s.cancel == nil {
		return s.listener.Close()
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancel()
	err := s.http.Close()
	s.running.Wait()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
