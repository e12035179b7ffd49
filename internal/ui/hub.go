// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

// Source reads topologies.
type Source interface {
	// Watch reads until the context ends, and publishes each topology. It is not called while it runs.
	Watch(ctx context.Context, publish func(topology.Topology))
}

// linger is the time for which reading continues after the last viewer has left, so that reloading the page needs no
// new watches.
const linger = 15 * time.Second

// hub lets all viewers share one reader of the cluster and the cloud, which runs only while there are
// viewers.
type hub struct {
	source Source
	// context is the context of the server.
	context context.Context

	mu      sync.Mutex
	viewers int
	// cancel stops the reader; nil if none runs. done is closed when it has stopped.
	cancel context.CancelFunc
	done   chan struct{}
	leave  *time.Timer
	last   *snapshot
	// history has the changes. It stays while there are no viewers.
	history topology.History
	// next is closed when there is another snapshot.
	next chan struct{}
}

func newHub(ctx context.Context, source Source) *hub {
	return &hub{source: source, context: ctx, next: make(chan struct{})}
}

// join adds a viewer. Leave removes it.
func (h *hub) join() (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers++
	if h.leave != nil {
		h.leave.Stop()
		h.leave = nil
	}
	if h.cancel == nil {
		h.begin()
	}
	return sync.OnceFunc(h.left)
}

// begin starts the reader after an earlier one has stopped.
func (h *hub) begin() {
	ctx, cancel := context.WithCancel(h.context)
	before, done := h.done, make(chan struct{})
	h.cancel, h.done = cancel, done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		h.source.Watch(ctx, h.publish)
	}()
}

func (h *hub) left() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	if h.viewers == 0 {
		h.leave = time.AfterFunc(linger, h.rest)
	}
}

// rest stops the reader if there are no viewers.
func (h *hub) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.cancel != nil {
		h.cancel()
		h.cancel, h.last = nil, nil // the next reader starts afresh
	}
}

// close stops the reader and waits until it has stopped.
func (h *hub) close() {
	h.mu.Lock()
	if h.leave != nil {
		h.leave.Stop()
	}
	if h.cancel != nil {
		h.cancel()
	}
	done := h.done
	h.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (h *hub) publish(t topology.Topology) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.cancel == nil {
		return
	}
	h.history = h.history.Observe(t, time.Now())
	s, err := newSnapshot(t, h.history)
	if err != nil || s.equal(h.last) { // a topology is plain data, so there is never an error
		return
	}
	h.last = s
	close(h.next)
	h.next = make(chan struct{})
}

// current returns the last snapshot, or nil before the first one, and a channel that is closed when there is a
// newer one.
func (h *hub) current() (*snapshot, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.next
}
