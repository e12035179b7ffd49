// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// cloud is a simulated OpenStack. What the test itself reads and writes through
// its methods does not go over the network, so that the record of calls has the
// controller's only.
type cloud struct {
	*cloudsim.Cloud
	t testing.TB
}

// startCloud starts a cloud with a data plane for the test.
func startCloud(t testing.TB, o cloudsim.Options) *cloud {
	t.Helper()
	o.DataPlane = true
	c, err := cloudsim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &cloud{Cloud: c, t: t}
}

// call makes a request to Octavia or Neutron (cloudsim.LoadBalancer or
// cloudsim.Network) as the controller's user, or as the project's when one is
// named, and decodes the answer into it unless that is nil.
func (c *cloud) call(service, project, method, path string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	caller := wire.Identity{UserID: c.IDs().User, ProjectID: c.IDs().Project, Roles: []string{"member", "reader", "load-balancer_member"}}
	if project != "" {
		caller.ProjectID = project
	}
	if project == c.IDs().AdminProject {
		caller.Roles = append(caller.Roles, "admin", "load-balancer_admin")
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(encoded))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux := c.Octavia().Mux()
	if service == cloudsim.Network {
		mux = c.Neutron().Mux()
	}
	mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), caller)))
	if w.Code >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d: %s", method, path, w.Code, w.Body)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), answer)
}

// octavia makes a request to Octavia that has to succeed.
func (c *cloud) octavia(method, path string, body, answer any) {
	c.t.Helper()
	if err := c.call(cloudsim.LoadBalancer, "", method, "/v2.0/lbaas/"+path, body, answer); err != nil {
		c.t.Fatal(err)
	}
}

// neutron makes a request to Neutron that has to succeed.
func (c *cloud) neutron(method, path string, body, answer any) {
	c.t.Helper()
	if err := c.call(cloudsim.Network, "", method, "/v2.0/"+path, body, answer); err != nil {
		c.t.Fatal(err)
	}
}

// port is a Neutron port, as far as tests look at it.
type port struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DeviceID    string `json:"device_id"`
	DeviceOwner string `json:"device_owner"`
}

// ports are all Neutron ports of the controller's project.
func (c *cloud) ports() []port {
	c.t.Helper()
	var answer struct{ Ports []port }
	c.neutron(http.MethodGet, "ports", nil, &answer)
	return answer.Ports
}

// floatingIP is a floating IP, as far as tests look at it.
type floatingIP struct {
	ID          string `json:"id"`
	Address     string `json:"floating_ip_address"`
	PortID      string `json:"port_id"`
	Description string `json:"description"`
}

// floatingIPs are all floating IPs of the controller's project.
func (c *cloud) floatingIPs() []floatingIP {
	c.t.Helper()
	var answer struct{ FloatingIPs []floatingIP }
	c.neutron(http.MethodGet, "floatingips", nil, &answer)
	return answer.FloatingIPs
}

// floatingIP is the one with the address; its ID is empty when there is none.
func (c *cloud) floatingIP(address string) floatingIP {
	c.t.Helper()
	for _, f := range c.floatingIPs() {
		if f.Address == address {
			return f
		}
	}
	return floatingIP{}
}

// makeFloatingIP makes a floating IP as a person would, attached to the port
// unless that is empty.
func (c *cloud) makeFloatingIP(portID string) floatingIP {
	c.t.Helper()
	wish := map[string]any{"floating_network_id": c.IDs().PublicNetwork, "description": "by hand"}
	if portID != "" {
		wish["port_id"] = portID
	}
	var answer struct{ FloatingIP floatingIP }
	c.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": wish}, &answer)
	return answer.FloatingIP
}

// makePort makes a port on the private network as a person would.
func (c *cloud) makePort() port {
	c.t.Helper()
	var answer struct{ Port port }
	c.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"network_id": c.IDs().PrivateNetwork}}, &answer)
	return answer.Port
}

// serverAddress is the IPv4 address of a server.
func (c *cloud) serverAddress(id string) netip.Addr {
	c.t.Helper()
	for _, server := range c.Nova().Servers() {
		if server.ID == id {
			return server.Interfaces[0].FixedIPs[0].Address
		}
	}
	c.t.Fatalf("no server has the id %s", id)
	return netip.Addr{}
}
