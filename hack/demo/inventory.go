// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// inventory has the number of the project's objects that Services use.
type inventory struct{ loadBalancers, listeners, pools, members, floatingIPs int }

func (i inventory) String() string {
	return fmt.Sprintf("%d load balancers, %d listeners, %d pools, %d members, %d floating IPs",
		i.loadBalancers, i.listeners, i.pools, i.members, i.floatingIPs)
}

// inventory counts the objects through the API, as a user with the openstack client would.
func (s *stage) inventory(ctx context.Context) (has inventory, err error) {
	octavia := s.session.LoadBalancer()
	all, err := list(ctx, loadbalancers.List(octavia, loadbalancers.ListOpts{}), loadbalancers.ExtractLoadBalancers)
	if err != nil {
		return has, err
	}
	open, err := list(ctx, listeners.List(octavia, listeners.ListOpts{}), listeners.ExtractListeners)
	if err != nil {
		return has, err
	}
	behind, err := list(ctx, pools.List(octavia, pools.ListOpts{}), pools.ExtractPools)
	if err != nil {
		return has, err
	}
	public, err := list(ctx, floatingips.List(s.session.Network(), floatingips.ListOpts{}), floatingips.ExtractFloatingIPs)
	has = inventory{loadBalancers: len(all), listeners: len(open), pools: len(behind), floatingIPs: len(public)}
	for _, pool := range behind {
		has.members += len(pool.Members)
	}
	return has, err
}

// list returns all items of a list.
func list[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	pages, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return extract(pages)
}
