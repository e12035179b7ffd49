// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// cloud is a simulated cloud and a Client for it.
type cloud struct {
	*cloudsim.Cloud
	*neutron.Client
	t       *testing.T
	service *gophercloud.ServiceClient
}

// newCloud starts a cloud. The Client's user has these roles in the project, by default member.
func newCloud(t *testing.T, o simulator.Options, roles ...string) *cloud {
	t.Helper()
	return newCloudOf(t, cloudsim.Options{Neutron: o}, roles...)
}

// newCloudOf is newCloud with all options.
func newCloudOf(t *testing.T, o cloudsim.Options, roles ...string) *cloud {
	t.Helper()
	o.PrivateCIDR, o.PublicCIDR = "10.0.0.0/16", "198.51.100.0/24"
	sim, err := cloudsim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	if len(roles) > 0 {
		sim.Keystone().Assign(sim.IDs().User, sim.IDs().Project, roles...)
	}
	settings, err := config.Parse("cloud.conf", []byte(sim.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: settings.Global, Rate: openstack.Rate{PerSecond: 10000, Burst: 10000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	service := session.Network()
	sim.Recorder().Reset()
	return &cloud{Cloud: sim, Client: neutron.New(service, session.ProjectID()), t: t, service: service}
}

// port creates a port on the private network, with a name like that of a VIP, and returns its id.
func (c *cloud) port(addresses ...string) string {
	c.t.Helper()
	return c.portOn(c.IDs().PrivateNetwork, c.IDs().PrivateSubnet, addresses...)
}

func (c *cloud) portOn(network, subnet string, addresses ...string) string {
	c.t.Helper()
	options := ports.CreateOpts{NetworkID: network, Name: "octavia-lb-x"}
	var fixed []ports.IP
	for _, a := range addresses {
		fixed = append(fixed, ports.IP{SubnetID: subnet, IPAddress: a})
	}
	if len(fixed) > 0 {
		options.FixedIPs = fixed
	}
	made, err := ports.Create(c.t.Context(), c.service, options).Extract()
	if err != nil {
		c.t.Fatal(err)
	}
	return made.ID
}

// make creates a floating IP with the op.
func (c *cloud) make(op diff.CreateFloatingIP) diff.Created {
	c.t.Helper()
	made, err := c.Apply(c.t.Context(), op)
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// only checks the number of calls to the route since the last check, and that there were no others.
func (c *cloud) only(n int, method, route string) {
	c.t.Helper()
	counts := c.Recorder().Counts()
	if got := counts[method+" "+route]; got != n || len(counts) != 1 {
		c.t.Errorf("calls %v, want %d of %s %s", counts, n, method, route)
	}
	c.Recorder().Reset()
}

// queries returns the queries of the calls to the route.
func (c *cloud) queries(route string) []url.Values {
	c.t.Helper()
	var all []url.Values
	for _, call := range c.Recorder().Calls() {
		if call.Route == route {
			q, err := url.ParseQuery(call.Query)
			if err != nil {
				c.t.Fatal(err)
			}
			all = append(all, q)
		}
	}
	return all
}

// broken returns ways in which reads can fail.
func broken() map[string]wire.Fault {
	answer := func(text string) wire.Fault {
		return wire.Fault{Kind: wire.FaultStatus, Status: http.StatusOK, Body: text, Header: map[string]string{"Content-Type": "application/json"}}
	}
	return map[string]wire.Fault{
		"without the list": answer(`{}`),
		"with null":        answer(`{"ports": null, "floatingips": null, "networks": null, "subnets": null}`),
		"another kind":     answer(`{"ports": {}, "floatingips": {}, "networks": "", "subnets": 1}`),
		"a bare list":      answer(`[]`),
		"empty":            answer(``),
		"no JSON":          {Kind: wire.FaultStatus, Status: http.StatusOK, Body: "<html>it works</html>", Header: map[string]string{"Content-Type": "text/html"}},
		"garbage":          {Kind: wire.FaultGarbage},
		"half a body":      {Kind: wire.FaultHalfBody},
		"none":             {Kind: wire.FaultResetBefore},
		"no content":       {Kind: wire.FaultStatus, Status: http.StatusNoContent},
		"500":              {Kind: wire.FaultStatus, Status: http.StatusInternalServerError},
	}
}

func asError(t *testing.T, err error) *openstack.Error {
	t.Helper()
	var e *openstack.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v (%T), want an *openstack.Error", err, err)
	}
	return e
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !ok(); {
		select {
		case <-deadline:
			t.Fatalf("still not: %s", what)
		case <-tick.C:
		}
	}
}
