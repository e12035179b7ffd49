// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
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

// Member is a member of a pool.
type Member struct{ Pool, Address string }

// ActiveMembers returns the members of all pools of the project that have taken effect.
func (c *Cloud) ActiveMembers(ctx context.Context) (map[Member]bool, error) {
	pools, err := poolsOf(ctx, c.user)
	active := map[Member]bool{}
	for _, pool := range slices.Concat(slices.Collect(maps.Values(pools))...) {
		var page struct {
			Members []struct {
				Address string
				Status  string `json:"provisioning_status"`
			}
		}
		path := "/v2.0/lbaas/pools/" + pool + "/members?fields=address&fields=provisioning_status"
		if err := openstack.Call(ctx, c.user, cloudsim.LoadBalancer, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Members {
			if m.Status == "ACTIVE" {
				active[Member{pool, m.Address}] = true
			}
		}
	}
	return active, err
}

// ServiceSubnet creates a subnet for the ClusterIPs of the cluster beside the nodes: the lower half is the Service range.
func (c *Cloud) ServiceSubnet(ctx context.Context) (id string, err error) {
	if c.sim == nil {
		return "", ErrSimulatedOnly
	}
	var answer struct{ Subnet struct{ ID string } }
	subnet := map[string]any{"network_id": c.sim.IDs().PrivateNetwork, "name": "services", "ip_version": 4, "cidr": "10.96.0.0/15", "gateway_ip": "10.97.0.1",
		"enable_dhcp": false, "allocation_pools": []any{map[string]any{"start": "10.97.0.2", "end": "10.97.255.254"}}}
	if err := openstack.Call(ctx, c.user, cloudsim.Network, http.MethodPost, "/v2.0/subnets", map[string]any{"subnet": subnet}, &answer); err != nil {
		return "", err
	}
	router := "/v2.0/routers/" + c.sim.IDs().Router + "/add_router_interface"
	return answer.Subnet.ID, openstack.Call(ctx, c.user, cloudsim.Network, http.MethodPut, router, map[string]any{"subnet_id": answer.Subnet.ID}, nil)
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
