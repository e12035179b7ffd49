// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// Build adds a new load balancer with all its children to the state and starts to build it. lost
// means that the subnet of a member does not exist, so that the build fails.
func (s *State) Build(ctx context.Context, lb *model.LoadBalancer, lost bool) {
	lb.Provisioning = model.Active // so that it can be locked
	c := s.Begin(ctx, lb, model.PendingCreate)
	lb.Updated = 0
	c.fail = c.fail || lost || !c.state.securityGroupFits(lb)
	s.LoadBalancers.Add(lb)
	s.byPort[lb.Port] = lb
	s.Quotas.used(lb.Project)[model.LoadBalancerQuota]++
	for _, p := range lb.Pools {
		s.registerPool(p)
	}
	for _, l := range lb.Listeners {
		s.registerListener(l)
	}
	c.admits = true
	c.touched = provider.Finished(lb, s.options.WholeTree, s.options.StuckChildren)
	c.Start()
}

// Failover rebuilds the load balancer, which repairs all its children.
func (c *Change) Failover() {
	c.touched = provider.Children(c.lb, c.state.options.WholeTree)
	c.Start()
}

// drop removes a load balancer and all its children from the state.
func (s *State) drop(lb *model.LoadBalancer) {
	for _, l := range lb.Listeners {
		s.dropListener(l)
	}
	for _, p := range lb.Pools {
		s.dropPool(p)
	}
	s.LoadBalancers.Remove(lb)
	delete(s.inForce, lb)
	delete(s.admitted, lb)
	if s.byPort[lb.Port] == lb {
		delete(s.byPort, lb.Port)
	}
	s.Quotas.used(lb.Project)[model.LoadBalancerQuota]--
}
