// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"bytes"
	"slices"
)

// What a change leaves unfinished. Octavia's worker and its providers say for each
// part when it is ACTIVE, and forget some.

// unfinish takes out of a create what will stay in PENDING_CREATE: with provider
// ovn the health monitors, which it never makes, and with amphorae everything if
// the options say so.
func (s *Service) unfinish(c *change) {
	lb := c.lb
	if s.options.StuckChildren && lb.provider != ovn {
		c.touched = nil
		return
	}
	if lb.provider != ovn {
		return
	}
	for _, p := range lb.pools {
		if p.monitor != nil {
			p.monitor.unmade = true
			c.touched = slices.DeleteFunc(c.touched, func(o *object) bool { return o == &p.monitor.object })
		}
	}
}

// finishListeners lets the worker for amphorae, when it has changed anything about
// a pool, say that all listeners of the load balancer are ACTIVE.
func (s *Service) finishListeners(c *change) {
	if c.lb.provider == ovn || !slices.ContainsFunc(c.lb.pools, func(p *pool) bool { return slices.Contains(c.touched, &p.object) }) {
		return
	}
	for _, l := range c.lb.listeners {
		if l.prov == pendingCreate {
			s.mark(&l.object, active)
		}
	}
}

// touchMonitored is touchPool for a change of the pool's monitor. Provider ovn
// does not say afterwards that the listeners are ACTIVE, and when the monitor is
// deleted it says so of the first pool that it finds, not of this one.
func (s *Service) touchMonitored(c *change, p *pool, deletes bool) {
	if p.lb.provider != ovn {
		s.touchPool(c, p, pendingUpdate)
		return
	}
	first := slices.MinFunc(p.lb.pools, func(a, b *pool) int { return bytes.Compare(a.id[:], b.id[:]) })
	if s.mark(&p.object, pendingUpdate); !deletes {
		s.add(c, &p.object)
	} else {
		s.add(c, &first.object)
	}
	for _, l := range p.listeners() {
		s.mark(&l.object, pendingUpdate)
	}
}

// startMonitor is start for a change of a monitor. One that provider ovn never
// made it does not find, and its load balancer stays PENDING for ever.
func (s *Service) startMonitor(c *change, m *monitor) {
	if m.unmade {
		c.stuck = true
	}
	s.start(c)
}
