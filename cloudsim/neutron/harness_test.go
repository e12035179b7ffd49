// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The callers of the tests.
var (
	alice = wire.Identity{UserID: "alice", ProjectID: "project-a", Roles: []string{"member"}}
	bob   = wire.Identity{UserID: "bob", ProjectID: "project-b", Roles: []string{"member"}}
	admin = wire.Identity{UserID: "admin", ProjectID: "project-admin", Roles: []string{"admin"}}
)

// jsonObject is a JSON object of an answer.
type jsonObject = map[string]any

// cloud is a seeded Neutron with a way to call its API.
type cloud struct {
	*Service
	t   *testing.T
	mux http.Handler
	ids Seeded

	mu      sync.Mutex
	touches []string // the arguments of OnFloatingIP
}

func newCloud(t *testing.T, o Options) *cloud {
	t.Helper()
	c := &cloud{t: t}
	o.OnFloatingIP = func(portID string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.touches = append(c.touches, portID)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	}
	c.Service = New(o)
	c.mux = c.Mux()
	var err error
	c.ids, err = c.Seed(Seed{
		ProjectID: alice.ProjectID, AdminProjectID: admin.ProjectID, Projects: []string{bob.ProjectID},
		PublicCIDR: netip.MustParsePrefix("127.16.128.0/24"), PrivateCIDR: netip.MustParsePrefix("127.16.0.0/24"),
		PrivateIPv6CIDR: netip.MustParsePrefix("fd00:1::/64"),
		PublicPools:     []AddressRange{{netip.MustParseAddr("127.16.128.10"), netip.MustParseAddr("127.16.128.13")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reportTo makes c report failures to t, one case of a test, until the case ends.
func (c *cloud) reportTo(t *testing.T) {
	test := c.t
	c.t = t
	t.Cleanup(func() { c.t = test })
}

// answer is an answer of the API.
type answer struct {
	t      *testing.T
	status int
	body   jsonObject
}

// call makes a request; body is JSON text, headers are name, value, ...
func (c *cloud) call(who wire.Identity, method, path, body string, headers ...string) answer {
	c.t.Helper()
	got := apitest.Do(c.t, c.mux, apitest.As(who, apitest.Request(method, path, body, headers...)))
	return answer{t: c.t, status: got.Status, body: got.Body}
}

// must checks the status and returns the body's only object.
func (a answer) must(status int) jsonObject {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %v", a.status, status, a.body)
	}
	for _, v := range a.body {
		if object, ok := v.(jsonObject); ok && len(a.body) == 1 {
			return object
		}
	}
	return a.body
}

// refused checks the status, type and message of a refusal.
func (a answer) refused(status int, kind, message string) {
	a.t.Helper()
	e, _ := a.body["NeutronError"].(jsonObject)
	if a.status != status || e["type"] != kind || e["message"] != message || e["detail"] != "" {
		a.t.Errorf("answer %d %v\nwant   %d type %s message %q", a.status, a.body, status, kind, message)
	}
}

// column returns the values of one key of a list's items, sorted.
func (a answer) column(key string) []string {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("status %d: %v", a.status, a.body)
	}
	column := []string{}
	for name, list := range a.body {
		items, _ := list.([]any)
		if len(name) > 6 && name[len(name)-6:] == "_links" {
			continue
		}
		for _, item := range items {
			value, _ := item.(jsonObject)[key].(string)
			column = append(column, value)
		}
	}
	slices.Sort(column)
	return column
}

func (c *cloud) create(who wire.Identity, path, body string) jsonObject {
	c.t.Helper()
	return c.call(who, "POST", path, body).must(http.StatusCreated)
}

// port creates a port of alice's with an IPv4 address in the private network.
func (c *cloud) port() string {
	c.t.Helper()
	return c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "fixed_ips": [{"subnet_id": "`+c.ids.PrivateSubnetID+`"}]}}`)["id"].(string)
}

// floatingIP creates a floating IP of alice's; more has further JSON attributes.
func (c *cloud) floatingIP(more string) jsonObject {
	c.t.Helper()
	return c.create(alice, "/v2.0/floatingips", `{"floatingip": {"floating_network_id": "`+c.ids.PublicNetworkID+`"`+more+`}}`)
}

func (c *cloud) touched() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.touches
	c.touches = nil
	return seen
}

// gatewayInterface returns the id of the router's port in the private IPv4 subnet.
func (c *cloud) gatewayInterface() string {
	c.t.Helper()
	for _, p := range c.PortsOf(c.ids.RouterID) {
		if p.FixedIPs[0].IPAddress == "127.16.0.1" {
			return p.ID
		}
	}
	c.t.Fatal("the router has no interface in the private subnet")
	return ""
}
