// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// Members counts the members of all pools of the project.
func (c *Cloud) Members(ctx context.Context) (int, error) {
	if c.sim != nil {
		return c.sim.State()[cloudsim.LoadBalancer]["members"], nil
	}
	var page struct {
		Pools []struct{ Members []struct{ ID string } }
	}
	err := openstack.Call(ctx, c.user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools?fields=members", nil, &page)
	n := 0
	for _, p := range page.Pools {
		n += len(p.Members)
	}
	return n, err
}

// Inventory is what the project has.
type Inventory struct{ LoadBalancers, FloatingIPs, VIPPorts int }

// Inventory counts it.
func (c *Cloud) Inventory(ctx context.Context) (Inventory, error) {
	var h Inventory
	all, err := c.LoadBalancers(ctx)
	if err != nil {
		return h, err
	}
	var networks struct {
		FloatingIPs []struct{ ID string }
		Ports       []struct {
			DeviceID string `json:"device_id"`
		}
	}
	for _, path := range []string{"/v2.0/floatingips?fields=id", "/v2.0/ports?fields=device_id"} {
		if err := openstack.Call(ctx, c.user, cloudsim.Network, http.MethodGet, path, nil, &networks); err != nil {
			return h, err
		}
	}
	h.LoadBalancers, h.FloatingIPs = len(all), len(networks.FloatingIPs)
	for _, p := range networks.Ports {
		if strings.HasPrefix(p.DeviceID, "lb-") {
			h.VIPPorts++
		}
	}
	return h, nil
}

// EmptyPool removes all members of one pool of the load balancer, as another client would.
func (c *Cloud) EmptyPool(ctx context.Context, loadBalancer string) error {
	pools, err := poolsOf(ctx, c.user)
	if err != nil {
		return err
	}
	if len(pools[loadBalancer]) == 0 {
		return fmt.Errorf("the load balancer %s has no pool", loadBalancer)
	}
	return putMembers(ctx, c.user, pools[loadBalancer][0], nil)
}

// Hold keeps a load balancer PENDING once it is changed, until release is called. Only the
// simulator can.
func (c *Cloud) Hold(loadBalancer string) (release func(), err error) {
	if c.sim == nil {
		return nil, ErrSimulatedOnly
	}
	c.held = loadBalancer
	c.sim.Octavia().HoldPending(loadBalancer)
	return func() {
		c.held = ""
		c.sim.Octavia().Release(loadBalancer)
	}, nil
}
