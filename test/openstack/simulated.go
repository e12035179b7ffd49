// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// SimulatedClient makes requests to a simulated cloud. They do not go over the network, so
// they are not recorded, and no fault or latency applies to them.
type SimulatedClient struct {
	caller   wire.Identity
	services map[string]http.Handler
}

// SimulatedUser makes requests as the user of the controller.
func SimulatedUser(c *cloudsim.Cloud) *SimulatedClient {
	ids := c.IDs()
	return newSimulatedClient(c, wire.Identity{UserID: ids.User, ProjectID: ids.Project,
		Roles: []string{"member", "reader", "load-balancer_member", "creator"}})
}

// SimulatedAdmin makes requests as the administrator of the cloud.
func SimulatedAdmin(c *cloudsim.Cloud) *SimulatedClient {
	ids := c.IDs()
	return newSimulatedClient(c, wire.Identity{UserID: ids.AdminUser, ProjectID: ids.AdminProject,
		Roles: []string{"admin", "load-balancer_admin"}})
}

func newSimulatedClient(c *cloudsim.Cloud, caller wire.Identity) *SimulatedClient {
	return &SimulatedClient{caller: caller, services: map[string]http.Handler{
		cloudsim.LoadBalancer: c.Octavia().Mux(), cloudsim.Network: c.Neutron().Mux(), cloudsim.KeyManager: c.Barbican().Mux(),
	}}
}

// Do implements Requester, for Octavia, Neutron and Barbican.
func (c *SimulatedClient) Do(ctx context.Context, service, method, path string, body []byte) (Response, error) {
	handler := c.services[service]
	if handler == nil {
		return Response{}, fmt.Errorf("%s %s: no requests to %s here", method, path, service)
	}
	r := httptest.NewRequestWithContext(wire.WithCaller(ctx, c.caller), method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return Response{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, nil
}
