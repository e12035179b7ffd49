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

// newSimulated starts a simulator of its own for the test, and stops it when the test ends.
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

// CloudConf has an application credential.
func (c simulated) CloudConf() string { return c.conf }

// PasswordConf has the user's password.
func (c simulated) PasswordConf() string { return c.Cloud.CloudConf() }

// Reader returns a user with the role reader.
func (c simulated) Reader() cloudsim.Credentials { return c.CredentialsOf(cloudsim.UserReader) }

// requester sends requests whose calls are not counted.
func (c simulated) requester(as person) openstack.Requester { return c.people[as] }

// server adds a server, which has an address on loopback.
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

// provider is that of the options of the stage, or else amphora.
func (c simulated) provider() string {
	if p := c.Settings().Provider; p != "" {
		return p
	}
	return "amphora"
}

// finishes reports whether Octavia ends all that one call began.
func (c simulated) finishes() bool { return !c.unfinished }

// packets reports true: the load balancers forward on loopback.
func (c simulated) packets() bool { return true }

// podNetwork is none: Pods are on loopback addresses.
func (c simulated) podNetwork() string { return "" }

// podPorts are none: Pods are on loopback addresses.
func (c simulated) podPorts() []node.PodPort { return nil }

// podNetworkID is none: Pods are on loopback addresses.
func (c simulated) podNetworkID() string { return "" }

// outside is on loopback, as all clients are.
func (c simulated) outside() client { return client{} }

// inside is on loopback, as all clients are.
func (c simulated) inside() client { return client{} }

// internet differs only by its address: in the simulator all are on loopback.
func (c simulated) internet() client { return client{address: "127.0.0.7"} }

// hold makes Octavia keep load balancers in their PENDING status.
func (c simulated) hold() (release func()) {
	c.Octavia().HoldPending("")
	return func() { c.Octavia().Release("") }
}

// fail sets the load balancer to ERROR.
func (c simulated) fail(loadBalancerID string) { c.Octavia().SetError(loadBalancerID) }

// repair calls the failover of the API as the administrator.
func (c simulated) repair(loadBalancerID string) {
	c.t.Helper()
	path := "/v2.0/lbaas/loadbalancers/" + loadBalancerID + "/failover"
	if err := openstack.Call(c.t.Context(), c.people[asAdmin], cloudsim.LoadBalancer, http.MethodPut, path, nil, nil); err != nil {
		c.t.Fatal(err)
	}
}

// miscarry makes the next create of any load balancer end in ERROR: the test has the simulator for itself.
func (c simulated) miscarry(string) {
	c.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers",
		Kind: wire.FaultErrorState, Times: 1})
}
