// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// simulated is a simulated OpenStack with a data plane.
type simulated struct {
	*cloudsim.Cloud
	t testing.TB
	// conf is what the controller is told of it.
	conf string
	// unfinished is set where Octavia does not end what one call began.
	unfinished bool
	// balancers and networks answer the tests themselves.
	balancers, networks, secrets http.Handler
}

func newSimulated(t testing.TB, o cloudsim.Options) simulated {
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
	return simulated{Cloud: c, t: t, conf: restrictedConf(t, c, "kube-octavia"), unfinished: o.Octavia.StuckChildren,
		balancers: c.Octavia().Mux(), networks: c.Neutron().Mux(), secrets: c.Barbican().Mux()}
}

// restrictedConf is a cloud.conf with an application credential that may make the
// calls of the table and no others. So all tests prove that the table is complete.
func restrictedConf(t testing.TB, c *cloudsim.Cloud, name string) string {
	t.Helper()
	conf, err := config.Parse("cloud.conf", []byte(c.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	made, err := session.CreateApplicationCredential(t.Context(), openstack.ApplicationCredential{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.WithGlobal([]byte(c.CloudConf()), config.Global{AuthURL: conf.Global.AuthURL, Region: conf.Global.Region,
		EndpointType: conf.Global.EndpointType, ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
	if err != nil {
		t.Fatal(err)
	}
	c.Recorder().Reset()
	return text
}

// CloudConf has an application credential, PasswordConf the user's password.
func (c simulated) CloudConf() string    { return c.conf }
func (c simulated) PasswordConf() string { return c.Cloud.CloudConf() }

// request does not go over the network, where it would be recorded.
func (c simulated) request(as person, service, method, path string, body []byte) (status int, answer []byte, err error) {
	caller := wire.Identity{UserID: c.IDs().User, ProjectID: c.IDs().Project, Roles: []string{"member", "reader", "load-balancer_member", "creator"}}
	if as == asAdmin {
		caller = wire.Identity{UserID: c.IDs().AdminUser, ProjectID: c.IDs().AdminProject, Roles: []string{"admin", "load-balancer_admin"}}
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler := map[string]http.Handler{cloudsim.LoadBalancer: c.balancers, cloudsim.Network: c.networks, cloudsim.KeyManager: c.secrets}[service]
	handler.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), caller)))
	return w.Code, w.Body.Bytes(), nil
}

func (c simulated) server(name string) (node.Node, error) {
	id, err := c.AddServer(name)
	if err != nil {
		return node.Node{}, err
	}
	for _, server := range c.Nova().Servers() {
		if server.ID == id {
			return node.Node{Name: name, ServerID: id, Address: server.Interfaces[0].FixedIPs[0].Address}, nil
		}
	}
	return node.Node{}, fmt.Errorf("no server has the id %s", id)
}

func (c simulated) provider() string {
	if p := c.Settings().Provider; p != "" {
		return p
	}
	return "amphora"
}

func (c simulated) finishes() bool     { return !c.unfinished }
func (c simulated) packets() bool      { return true }
func (c simulated) podNetwork() string { return "" }
func (c simulated) outside() client    { return client{} }
func (c simulated) inside() client     { return client{} }

// internet is told apart by its address only: in the simulator all are on
// loopback.
func (c simulated) internet() client { return client{address: "127.0.0.7"} }

func (c simulated) hold() (release func()) {
	c.Octavia().HoldPending("")
	return func() { c.Octavia().Release("") }
}

func (c simulated) fail(loadBalancerID string) { c.Octavia().SetError(loadBalancerID) }

func (c simulated) repair(loadBalancerID string) {
	c.t.Helper()
	path := "/v2.0/lbaas/loadbalancers/" + loadBalancerID + "/failover"
	if status, text, err := c.request(asAdmin, cloudsim.LoadBalancer, http.MethodPut, path, nil); err != nil || status >= http.StatusMultipleChoices {
		c.t.Fatalf("PUT %s: %d: %s %v", path, status, text, err)
	}
}

func (c simulated) miscarry(string) {
	c.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers",
		Kind: wire.FaultErrorState, Times: 1})
}
