// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// Options configure a Survey.
type Options struct {
	// LoadBalancers and FloatingIPs list those of the project.
	LoadBalancers func(context.Context) ([]octavia.Listed, error)
	FloatingIPs   func(context.Context) ([]lb.FloatingIP, error)
	// Enqueue requests a pass over a Service.
	Enqueue func(owner.Key)
	Logger  logr.Logger
}

const (
	// patience is how long a changed Service waits for the lists before it is read on its own.
	patience = time.Second
	// mostAlone is how many Services are read on their own at once while the lists are read: enough
	// for the first ones not to wait, few enough not to delay the lists.
	mostAlone = 2
)

// Survey reads the lists once. Until it has ended, Services whose load balancer is not expected to
// need anything wait for it, and a few others are read on their own. It is safe for concurrent use.
type Survey struct {
	Options

	mu sync.Mutex
	// impatient is whether changed Services have waited long enough.
	impatient bool
	ended     bool
	snapshot  *Snapshot
	alone     int
	dropped   bool // whether the next Drop frees the snapshot anyway
	waiting   map[owner.Key]waiter
	// taken are the Services that have used the snapshot, while there is one.
	taken map[owner.Key]bool
}

// waiter is a Service that waits: whether it has changed, and whether a pass over it was requested.
type waiter struct{ changed, woken bool }

// New returns a Survey that begins when Start is called.
func New(o Options) *Survey {
	o.Logger = o.Logger.WithName("survey")
	return &Survey{Options: o, waiting: map[owner.Key]waiter{}, taken: map[owner.Key]bool{}}
}

// Start reads the lists and requests passes over the Services that wait. If a list fails, all
// Services are read on their own.
func (s *Survey) Start(ctx context.Context) error {
	timer := time.AfterFunc(patience, s.losePatience)
	defer timer.Stop()
	snapshot, err := s.read(ctx)
	if ctx.Err() != nil {
		return nil
	}
	for _, key := range s.end(snapshot) {
		s.Enqueue(key)
	}
	if err != nil {
		s.Logger.Error(err, "cannot list what the project has; reading each Service on its own")
	} else {
		s.Logger.Info("listed what the project has", "loadBalancers", len(snapshot.balancers))
	}
	return nil
}

func (s *Survey) read(ctx context.Context) (*Snapshot, error) {
	balancers, err := s.LoadBalancers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list load balancers and their children: %w", err)
	}
	floating, err := s.FloatingIPs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list floating IPs: %w", err)
	}
	return NewSnapshot(balancers, floating), nil
}

// end ends the survey and returns the Services that waited, the changed ones first.
func (s *Survey) end(snapshot *Snapshot) []owner.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.snapshot = true, snapshot
	var changed, others []owner.Key
	for key, w := range s.waiting {
		if w.changed {
			changed = append(changed, key)
		} else {
			others = append(others, key)
		}
	}
	return slices.Concat(changed, others)
}

// Admit reports whether the first pass over a Service may read it now. If so, done must be called
// after it was read. If not, done is nil, and another pass is requested later. Changed reports whether
// the Service wants something else than its load balancer had when it was last confirmed.
func (s *Survey) Admit(key owner.Key, changed func() bool) (done func()) {
	if s.hasEnded() {
		return func() { s.leave(key) }
	}
	is := changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return func() { s.leave(key) }
	case is && s.impatient && s.alone < mostAlone:
		s.alone++
		delete(s.waiting, key)
		return sync.OnceFunc(s.wakeAnother)
	}
	s.waiting[key] = waiter{changed: is}
	return nil
}

// losePatience lets the first changed Services be read on their own.
func (s *Survey) losePatience() {
	s.mu.Lock()
	s.impatient = true
	s.alone += mostAlone
	s.mu.Unlock()
	for range mostAlone {
		s.wakeAnother()
	}
}

// wakeAnother requests a pass over another changed Service, in place of one that was read.
func (s *Survey) wakeAnother() {
	s.mu.Lock()
	s.alone--
	var next *owner.Key
	for key, w := range s.waiting {
		if !s.ended && w.changed && !w.woken {
			s.waiting[key] = waiter{changed: true, woken: true}
			next = &key
			break
		}
	}
	s.mu.Unlock()
	if next != nil {
		s.Enqueue(*next)
	}
}

func (s *Survey) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// leave notes that a Service that may have waited was read.
func (s *Survey) leave(key owner.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, key)
}

// Take returns what the lists show, once for each Service, or nil if that is not known, or not any
// more: whatever is read for the Service later has to be newer.
func (s *Survey) Take(key owner.Key) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil || s.taken[key] {
		return nil
	}
	s.taken[key] = true
	return s.snapshot
}

// Drop frees the memory of the lists. Each sweep calls it. The first call after the end leaves them if
// Services still wait for them, the second one does not: a Service that was deleted never comes.
func (s *Survey) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended && (len(s.waiting) == 0 || s.dropped) {
		s.snapshot, s.taken = nil, nil
	}
	s.dropped = s.ended
}
