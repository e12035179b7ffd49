// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// inventory is what the controller's project has in the cloud.
type inventory struct {
	LoadBalancers int `json:"loadBalancers"`
	FloatingIPs   int `json:"floatingIPs"`
	VIPPorts      int `json:"vipPorts"`
}

// inventory counts it. The requests of the bench do not go over the network, so that the record of calls has the controller's only.
func (s *stage) inventory() (inventory, error) {
	h := inventory{
		LoadBalancers: s.cloud.State()[cloudsim.LoadBalancer]["loadbalancers"],
		FloatingIPs:   s.cloud.State()[cloudsim.Network]["floatingips"],
	}
	var answer struct {
		Ports []struct {
			DeviceID string `json:"device_id"`
		}
	}
	err := s.get(cloudsim.Network, "/v2.0/ports", &answer)
	for _, p := range answer.Ports {
		if strings.HasPrefix(p.DeviceID, "lb-") {
			h.VIPPorts++
		}
	}
	return h, err
}

// checkSettled returns an error until there are that many members and Octavia changes no
// load balancer.
func (s *stage) checkSettled(members int) error {
	if n := s.cloud.State()[cloudsim.LoadBalancer]["members"]; n != members {
		return fmt.Errorf("there are %d members instead of %d", n, members)
	}
	var answer struct {
		LoadBalancers []struct {
			ProvisioningStatus string `json:"provisioning_status"`
		}
	}
	if err := s.get(cloudsim.LoadBalancer, "/v2.0/lbaas/loadbalancers?fields=provisioning_status", &answer); err != nil {
		return err
	}
	for _, l := range answer.LoadBalancers {
		if l.ProvisioningStatus != "ACTIVE" {
			return fmt.Errorf("a load balancer is %s", l.ProvisioningStatus)
		}
	}
	return nil
}

// get reads from a service of the cloud as the controller's user.
func (s *stage) get(service, path string, answer any) error {
	return openstack.Call(context.Background(), openstack.SimulatedUser(s.cloud), service, http.MethodGet, path, nil, answer)
}
