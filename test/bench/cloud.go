// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// holdings are what the controller's project has in the cloud.
type holdings struct {
	LoadBalancers int `json:"loadBalancers"`
	FloatingIPs   int `json:"floatingIPs"`
	VIPPorts      int `json:"vipPorts"`
}

// holdings counts what there is. What the bench asks does not go over the
// network, so that the record of calls has the controller's only.
func (s *stage) holdings() (holdings, error) {
	h := holdings{
		LoadBalancers: s.cloud.State()[cloudsim.LoadBalancer]["loadbalancers"],
		FloatingIPs:   s.cloud.State()[cloudsim.Network]["floatingips"],
	}
	var answer struct {
		Ports []struct {
			DeviceID string `json:"device_id"`
		}
	}
	err := s.ask(s.cloud.Neutron().Mux(), "/v2.0/ports", &answer)
	for _, p := range answer.Ports {
		if strings.HasPrefix(p.DeviceID, "lb-") {
			h.VIPPorts++
		}
	}
	return h, err
}

// unsettled is nil when there are that many members and Octavia is not working
// on any load balancer.
func (s *stage) unsettled(members int) error {
	if n := s.cloud.State()[cloudsim.LoadBalancer]["members"]; n != members {
		return fmt.Errorf("there are %d members instead of %d", n, members)
	}
	var answer struct {
		LoadBalancers []struct {
			ProvisioningStatus string `json:"provisioning_status"`
		}
	}
	if err := s.ask(s.cloud.Octavia().Mux(), "/v2.0/lbaas/loadbalancers?fields=provisioning_status", &answer); err != nil {
		return err
	}
	for _, l := range answer.LoadBalancers {
		if l.ProvisioningStatus != "ACTIVE" {
			return fmt.Errorf("a load balancer is %s", l.ProvisioningStatus)
		}
	}
	return nil
}

// ask reads from a service of the cloud as the controller's user.
func (s *stage) ask(mux http.Handler, path string, answer any) error {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	caller := wire.Identity{UserID: s.cloud.IDs().User, ProjectID: s.cloud.IDs().Project,
		Roles: []string{"member", "reader", "load-balancer_member"}}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), caller)))
	if w.Code != http.StatusOK {
		return fmt.Errorf("GET %s: %d: %s", path, w.Code, w.Body)
	}
	return json.Unmarshal(w.Body.Bytes(), answer)
}
