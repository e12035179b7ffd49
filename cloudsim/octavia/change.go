// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

type changeTimes struct{ build, update, delete time.Duration }

// change is what Octavia's worker is doing to one load balancer. The load
// balancer is locked meanwhile: it is in a PENDING state.
type change struct {
	lb      *loadBalancer
	touched []*object // become ACTIVE, or ERROR when it fails
	remove  func()    // takes deleted children out of the state; may be nil
	fail    bool
	due     bool // its time is over, but the load balancer is held
	stuck   bool // it never ends
	timer   *time.Timer
}

// SetTimes sets how long changes take that begin from now on; see Options.
func (s *Service) SetTimes(build, update, remove time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = changeTimes{build: build, update: update, delete: remove}
}

// lock begins a change: it puts the load balancer into the state if it is
// ACTIVE or in one of the other states named, and returns nil if not. The
// caller adds what the change touches and then starts it.
func (s *Service) lock(ctx context.Context, lb *loadBalancer, to provisioning, or ...provisioning) *change {
	if lb.prov != active && !slices.Contains(or, lb.prov) {
		return nil
	}
	lb.change = &change{lb: lb, fail: wire.FaultError(ctx)}
	s.mark(&lb.object, to)
	return lb.change
}

func (s *Service) mark(o *object, to provisioning) {
	o.prov = to
	o.updated = s.now()
}

// touch puts an object that the change is about into a PENDING state.
func (s *Service) touch(c *change, o *object, to provisioning) {
	s.mark(o, to)
	c.touched = append(c.touched, o)
}

// add takes a new object, in PENDING_CREATE, into the change.
func (s *Service) add(c *change, o *object) { c.touched = append(c.touched, o) }

// touchPool marks a pool and the listeners it serves, as every change to the
// pool or to something in it does.
func (s *Service) touchPool(c *change, p *pool, to provisioning) {
	for _, o := range abovePart(p) {
		s.touch(c, o, pendingUpdate)
	}
	p.prov = to
}

// touchMonitored is touchPool for a change of the pool's monitor.
func (s *Service) touchMonitored(c *change, m *monitor, deletes bool) {
	pending, finished := aboveMonitor(m.pool, deletes)
	for _, o := range pending {
		s.mark(o, pendingUpdate)
	}
	c.touched = append(c.touched, finished...)
	c.stuck = neverEnds(m)
}

// start lets the change run: it ends after its time, never before the caller
// has given up the lock.
func (s *Service) start(c *change) {
	if s.closed || c.stuck {
		return
	}
	d := s.times.update
	switch c.lb.prov {
	case pendingCreate:
		d = s.times.build
	case pendingDelete:
		d = s.times.delete
	}
	s.running.Add(1)
	c.timer = time.AfterFunc(changeTime(c.lb, d), func() {
		defer s.running.Done()
		s.finish(c)
	})
}

// finish ends a change, unless its load balancer is held.
func (s *Service) finish(c *change) {
	s.mu.Lock()
	lb := c.lb
	if s.closed || lb.change != c {
		s.mu.Unlock()
		return
	}
	if lb.held || s.holdAll {
		c.due = true
		s.mu.Unlock()
		return
	}
	if lb.prov == pendingDelete && !c.fail {
		// The VIP goes first: a load balancer is gone only when its port is.
		// Neutron calls back, so it must be asked without the lock.
		s.mu.Unlock()
		err := s.options.Network.ReleaseVIP(lb.port)
		s.mu.Lock()
		c.fail = c.fail || err != nil
	}
	s.settle(c)
	s.mu.Unlock()
	s.changed(lb.id.String())
}

func (s *Service) changed(id string) {
	if s.options.OnChange != nil {
		s.options.OnChange(id)
	}
}

// settle puts the outcome of a change into the state.
func (s *Service) settle(c *change) {
	lb := c.lb
	lb.change = nil
	if lb.prov == pendingDelete && !c.fail {
		s.drop(lb)
		return
	}
	if c.fail {
		// A load balancer that could not be built leaves its children PENDING.
		if lb.prov != pendingCreate {
			for _, o := range c.touched {
				s.mark(o, inError)
			}
		}
		s.mark(&lb.object, inError)
		return
	}
	for _, o := range c.touched {
		s.mark(o, active)
	}
	for _, o := range alsoActive(lb, c.touched) {
		s.mark(o, active)
	}
	if c.remove != nil {
		c.remove()
	}
	lb.built = true
	s.mark(&lb.object, active)
	rollUp(lb, s.options.MonitorsReport, s.now())
}

// drop takes a load balancer and all it has out of the state.
func (s *Service) drop(lb *loadBalancer) {
	u := s.used(lb.project)
	for _, l := range lb.listeners {
		s.dropListener(l)
	}
	for _, p := range lb.pools {
		s.dropPool(p)
	}
	delete(s.lbs, lb.id)
	if s.byPort[lb.port] == lb {
		delete(s.byPort, lb.port)
	}
	u.loadBalancers--
}

// dropPool takes a pool and what is in it out of the state, but not out of its
// load balancer's list.
func (s *Service) dropPool(p *pool) {
	u := s.used(p.lb.project)
	for _, m := range p.members {
		delete(s.members, m.id)
	}
	u.members -= len(p.members)
	if p.monitor != nil {
		delete(s.monitors, p.monitor.id)
		u.monitors--
	}
	delete(s.pools, p.id)
	u.pools--
}

// HoldPending keeps the load balancer's changes from ending, also those that
// begin later, until Release. The empty id holds all load balancers.
func (s *Service) HoldPending(loadBalancerID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if loadBalancerID == "" {
		s.holdAll = true
	} else if lb := s.lbs[parseID(loadBalancerID)]; lb != nil {
		lb.held = true
	}
}

// Release takes HoldPending of the same id back; changes whose time is over end
// at once. The empty id takes back only the hold on all.
func (s *Service) Release(loadBalancerID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if loadBalancerID == "" {
		s.holdAll = false
		for _, lb := range s.lbs {
			s.resume(lb)
		}
	} else if lb := s.lbs[parseID(loadBalancerID)]; lb != nil {
		lb.held = false
		s.resume(lb)
	}
}

func (s *Service) resume(lb *loadBalancer) {
	c := lb.change
	if c == nil || !c.due || lb.held || s.holdAll || s.closed {
		return
	}
	c.due = false
	s.running.Go(func() { s.finish(c) })
}

// SetError puts a load balancer into ERROR: at once, or, while a change is
// under way, when that ends. It reports whether there is such a load balancer.
func (s *Service) SetError(loadBalancerID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lb := s.lbs[parseID(loadBalancerID)]
	if lb == nil {
		return false
	}
	if lb.change != nil {
		lb.change.fail = true
	} else {
		s.mark(&lb.object, inError)
	}
	return true
}
