// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/node"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// simulated is a simulated OpenStack with a data plane.
type simulated struct {
	*cloudsim.Cloud
	t testing.TB
	// conf is the cloud.conf for it.
	conf string
	// unfinished is set where Octavia does not end what one call began.
	unfinished bool
	// people make the test's own requests.
	people map[person]openstack.Requester
}

func newSimulated(t testing.TB, o cloudsim.Options) simulated {
	t.Helper()
	o.DataPlane, o.MemberAt = true, node.Loopback
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
		people: map[person]openstack.Requester{asUser: openstack.SimulatedUser(c), asAdmin: openstack.SimulatedAdmin(c)}}
}

// CloudConf has an application credential, PasswordConf the user's password.
func (c simulated) CloudConf() string    { return c.conf }
func (c simulated) PasswordConf() string { return c.Cloud.CloudConf() }

// Reader returns a user with the role reader.
func (c simulated) Reader() cloudsim.Credentials { return c.CredentialsOf(cloudsim.UserReader) }

func (c simulated) requester(as person) openstack.Requester { return c.people[as] }

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

func (c simulated) finishes() bool           { return !c.unfinished }
func (c simulated) packets() bool            { return true }
func (c simulated) podNetwork() string       { return "" }
func (c simulated) podPorts() []node.PodPort { return nil }
func (c simulated) podNetworkID() string     { return "" }
func (c simulated) outside() client          { return client{} }
func (c simulated) inside() client           { return client{} }

// internet differs only by its address: in the simulator all are on loopback.
func (c simulated) internet() client { return client{address: "127.0.0.7"} }

func (c simulated) hold() (release func()) {
	c.Octavia().HoldPending("")
	return func() { c.Octavia().Release("") }
}

func (c simulated) fail(loadBalancerID string) { c.Octavia().SetError(loadBalancerID) }

func (c simulated) repair(loadBalancerID string) {
	c.t.Helper()
	path := "/v2.0/lbaas/loadbalancers/" + loadBalancerID + "/failover"
	if err := openstack.Call(c.t.Context(), c.people[asAdmin], cloudsim.LoadBalancer, http.MethodPut, path, nil, nil); err != nil {
		c.t.Fatal(err)
	}
}

func (c simulated) miscarry(string) {
	c.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers",
		Kind: wire.FaultErrorState, Times: 1})
}
