// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "context"

// Build puts a new load balancer with all its children into the state and lets
// Octavia build it. lost says that a member's subnet is not there, so that the
// build fails.
func (s *State) Build(ctx context.Context, lb *loadBalancer, lost bool) {
	lb.prov = active // so that it can be locked
	c := s.Begin(ctx, lb, pendingCreate)
	lb.updated = 0
	c.fail = c.fail || lost || !rulesFit(lb)
	s.LoadBalancers.Add(lb)
	s.byPort[lb.port] = lb
	s.Quotas.used(lb.project).loadBalancers++
	for _, p := range lb.pools {
		s.registerPool(p)
	}
	for _, l := range lb.listeners {
		s.registerListener(l)
	}
	c.touched = finished(lb, s.options.StuckChildren)
	c.Start()
}

// Failover builds the load balancer anew, which mends all its children.
func (c *change) Failover() {
	c.touched = children(c.lb)
	c.Start()
}

// drop takes a load balancer and all it has out of the state.
func (s *State) drop(lb *loadBalancer) {
	for _, l := range lb.listeners {
		s.dropListener(l)
	}
	for _, p := range lb.pools {
		s.dropPool(p)
	}
	s.LoadBalancers.Remove(lb)
	if s.byPort[lb.port] == lb {
		delete(s.byPort, lb.port)
	}
	s.Quotas.used(lb.project).loadBalancers--
}
