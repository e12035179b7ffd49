// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestFloatingIPIsCreatedOnAPort(t *testing.T) {
	c := newCloud(t, Options{})
	port := c.port()
	got := c.floatingIP(`, "port_id": "` + port + `", "description": "for a service"`)
	details := got["port_details"].(jsonObject)
	delete(details, "mac_address")
	want := jsonObject{
		"id": got["id"], "project_id": "project-a", "tenant_id": "project-a", "description": "for a service",
		"floating_network_id": c.ids.PublicNetworkID, "floating_ip_address": "127.16.128.11", "fixed_ip_address": "127.16.0.2",
		"port_id": port, "router_id": c.ids.RouterID, "status": "ACTIVE", "tags": []any{}, "revision_number": 0.0,
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
		"port_details": jsonObject{
			"name": "", "network_id": c.ids.PrivateNetworkID, "admin_state_up": true, "status": "DOWN", "device_id": "", "device_owner": "",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{port}, c.touched()); diff != "" {
		t.Error("told of the ports", diff)
	}
	if diff := cmp.Diff([]string{"127.16.128.11"}, c.FloatingAddresses(port)); diff != "" {
		t.Error(diff)
	}
}

func TestFloatingIPMovesFromPortToPort(t *testing.T) {
	c := newCloud(t, Options{})
	first, second := c.port(), c.port()
	id := c.floatingIP(`, "port_id": "` + first + `"`)["id"].(string)
	c.touched()
	for _, step := range []struct {
		name, body string
		port       any
		status     string
		addresses  []string // on the first port
		touched    []string
	}{
		{"a description keeps the port", `{"description": "x"}`, first, "ACTIVE", []string{"127.16.128.11"}, nil},
		{"the same port again changes nothing", `{"port_id": "` + first + `"}`, first, "ACTIVE", []string{"127.16.128.11"}, nil},
		{"another port", `{"port_id": "` + second + `"}`, second, "ACTIVE", nil, []string{first, second}},
		{"null", `{"port_id": null}`, nil, "DOWN", nil, []string{second}},
		{"back", `{"port_id": "` + first + `"}`, first, "ACTIVE", []string{"127.16.128.11"}, []string{first}},
		{"an empty request lets go", `{}`, nil, "DOWN", nil, []string{first}},
	} {
		t.Run(step.name, func(t *testing.T) {
			got := c.call(alice, "PUT", "/v2.0/floatingips/"+id, `{"floatingip": `+step.body+`}`).must(http.StatusOK)
			if got["port_id"] != step.port || got["status"] != step.status {
				t.Errorf("port %v, status %v, want %v, %s", got["port_id"], got["status"], step.port, step.status)
			}
			if diff := cmp.Diff(step.addresses, c.FloatingAddresses(first)); diff != "" {
				t.Error("addresses of the first port", diff)
			}
			if diff := cmp.Diff(step.touched, c.touched()); diff != "" {
				t.Error("told of the ports", diff)
			}
		})
	}
}

func sorted(a, b string) []string {
	if a > b {
		a, b = b, a
	}
	return []string{a, b}
}

// refusal is a request for a floating IP that is refused.
type refusal struct {
	name          string
	who           wire.Identity
	body          string
	status        int
	kind, message string
}

func (c *cloud) refuses(t *testing.T, refusals []refusal) {
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			before := c.Counts()
			a := c.call(test.who, "POST", "/v2.0/floatingips", `{"floatingip": `+test.body+`}`)
			a.t = t
			a.refused(test.status, test.kind, test.message)
			if diff := cmp.Diff(before, c.Counts()); diff != "" {
				t.Error("a refused request has changed something", diff)
			}
		})
	}
}

const unknownID = "11111111-2222-3333-4444-555555555555"

// island creates a network of alice's with a subnet without a router.
func (c *cloud) island() (network, subnet string) {
	network = c.create(alice, "/v2.0/networks", `{"network": {"name": "island"}}`)["id"].(string)
	subnet = c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.1.0.0/24"}}`)["id"].(string)
	return network, subnet
}

func TestInvalidAddressOfAFloatingIPIsRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	c.floatingIP("")
	public, private := c.ids.PublicNetworkID, c.ids.PrivateNetworkID
	_, islandSubnet := c.island()
	dark := c.create(admin, "/v2.0/networks", `{"network": {"router:external": true}}`)["id"].(string)
	c.refuses(t, []refusal{
		{"no network", alice, `{}`, 400, "HTTPBadRequest", "Failed to parse request. Required attribute 'floating_network_id' not specified"},
		{"an unknown network", alice, `{"floating_network_id": "` + unknownID + `"}`, 404, "NetworkNotFound", "Network " + unknownID + " could not be found."},
		{"a network that is not external", alice, `{"floating_network_id": "` + private + `"}`, 400, "BadRequest", "Bad floatingip request: Network " + private + " is not a valid external network."},
		{"a network without IPv4", alice, `{"floating_network_id": "` + dark + `"}`, 400, "BadRequest", "Bad floatingip request: Network " + dark + " does not contain any IPv4 subnet."},
		{"another project's private network", bob, `{"floating_network_id": "` + private + `"}`, 404, "NetworkNotFound", "Network " + private + " could not be found."},
		{"a given address, from a tenant", alice, `{"floating_network_id": "` + public + `", "floating_ip_address": "127.16.128.13"}`, 403, "PolicyNotAuthorized",
			"(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy"},
		{"an address in use", admin, `{"floating_network_id": "` + public + `", "floating_ip_address": "127.16.128.11"}`, 409, "IpAddressAlreadyAllocated",
			"IP address 127.16.128.11 already allocated in subnet " + c.ids.PublicSubnetID},
		{"an address of another block", admin, `{"floating_network_id": "` + public + `", "floating_ip_address": "10.0.0.1"}`, 400, "InvalidIpForNetwork",
			"IP address 10.0.0.1 is not a valid IP for any of the subnets on the specified network."},
		{"an address outside the given subnet", admin, `{"floating_network_id": "` + public + `", "subnet_id": "` + c.ids.PublicSubnetID + `", "floating_ip_address": "10.0.0.1"}`, 400, "InvalidIpForSubnet",
			"IP address 10.0.0.1 is not a valid IP for the specified subnet."},
		{"an unknown subnet", alice, `{"floating_network_id": "` + public + `", "subnet_id": "` + unknownID + `"}`, 404, "SubnetNotFound", "Subnet " + unknownID + " could not be found."},
		{"a subnet of another network", alice, `{"floating_network_id": "` + public + `", "subnet_id": "` + islandSubnet + `"}`, 400, "InvalidInput",
			"Invalid input for operation: Failed to create port on network " + public + ", because fixed_ips included invalid subnet " + islandSubnet + "."},
		{"another project as the owner", alice, `{"floating_network_id": "` + public + `", "project_id": "project-b"}`, 400, "HTTPBadRequest",
			"Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges"},
		{"an attribute that is read-only", alice, `{"floating_network_id": "` + public + `", "status": "ACTIVE"}`, 400, "HTTPBadRequest", "Attribute 'status' not allowed in POST"},
		{"an attribute that does not exist", alice, `{"floating_network_id": "` + public + `", "colour": 1}`, 400, "HTTPBadRequest", "Unrecognized attribute(s) 'colour'"},
	})
}

func TestInvalidPortOfAFloatingIPIsRefused(t *testing.T) {
	c := newCloud(t, Options{})
	port, busy := c.port(), c.port()
	c.floatingIP(`, "port_id": "` + busy + `"`)
	public, private := c.ids.PublicNetworkID, c.ids.PrivateNetworkID
	island, islandSubnet := c.island()
	stranded := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+island+`"}}`)["id"].(string)
	v6Only := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+private+`", "fixed_ips": [{"subnet_id": "`+c.ids.PrivateIPv6SubnetID+`"}]}}`)["id"].(string)
	twoAddresses := c.create(alice, "/v2.0/ports",
		`{"port": {"network_id": "`+private+`", "fixed_ips": [{"subnet_id": "`+c.ids.PrivateSubnetID+`"}, {"subnet_id": "`+c.ids.PrivateSubnetID+`"}]}}`)["id"].(string)
	c.refuses(t, []refusal{
		{"an unknown port", alice, `{"floating_network_id": "` + public + `", "port_id": "` + unknownID + `"}`, 404, "PortNotFound", "Port " + unknownID + " could not be found."},
		{"another project's port", bob, `{"floating_network_id": "` + public + `", "port_id": "` + port + `"}`, 404, "PortNotFound", "Port " + port + " could not be found."},
		{"a port that is no id", alice, `{"floating_network_id": "` + public + `", "port_id": "x"}`, 400, "HTTPBadRequest", "Invalid input for port_id. Reason: 'x' is not a valid UUID."},
		{"a port with no way out", alice, `{"floating_network_id": "` + public + `", "port_id": "` + stranded + `"}`, 404, "ExternalGatewayForFloatingIPNotFound",
			"External network " + public + " is not reachable from subnet " + islandSubnet + ".  Therefore, cannot associate Port " + stranded + " with a Floating IP."},
		{"a port with no IPv4 address", alice, `{"floating_network_id": "` + public + `", "port_id": "` + v6Only + `"}`, 400, "BadRequest",
			"Bad floatingip request: Cannot add floating IP to port " + v6Only + " that has no fixed IPv4 addresses."},
		{"a port with two IPv4 addresses", alice, `{"floating_network_id": "` + public + `", "port_id": "` + twoAddresses + `"}`, 400, "BadRequest",
			"Bad floatingip request: Port " + twoAddresses + " has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP."},
		{"a fixed address that the port has not", alice, `{"floating_network_id": "` + public + `", "port_id": "` + port + `", "fixed_ip_address": "127.16.0.99"}`, 400, "BadRequest",
			"Bad floatingip request: Port " + port + " does not have fixed ip 127.16.0.99."},
		{"a fixed address without a port", alice, `{"floating_network_id": "` + public + `", "fixed_ip_address": "127.16.0.2"}`, 400, "BadRequest",
			"Bad floatingip request: fixed_ip_address cannot be specified without a port_id."},
	})
	t.Run("a port that has one", func(t *testing.T) {
		f := c.floatingIP("")
		a := c.call(alice, "PUT", "/v2.0/floatingips/"+f["id"].(string), `{"floatingip": {"port_id": "`+busy+`"}}`)
		a.t = t
		a.refused(409, "FloatingIPPortAlreadyAssociated", "Cannot associate floating IP "+f["floating_ip_address"].(string)+" ("+f["id"].(string)+") with port "+busy+
			" using fixed IP 127.16.0.3, as that fixed IP already has a floating IP on external network "+public+".")
	})
}

func TestFloatingIPsAreLimitedByThePoolAndTheQuota(t *testing.T) {
	c := newCloud(t, Options{})
	// The router has the first of the pool's four addresses.
	for range 3 {
		c.floatingIP("")
	}
	body := `{"floatingip": {"floating_network_id": "` + c.ids.PublicNetworkID + `"}}`
	c.call(alice, "POST", "/v2.0/floatingips", body).refused(409, "IpAddressGenerationFailure", "No more IP addresses available on network "+c.ids.PublicNetworkID+".")
	c.SetQuota(alice.ProjectID, "floatingip", 3)
	c.call(alice, "POST", "/v2.0/floatingips", body).refused(409, "OverQuota", "Quota exceeded for resources: ['floatingip'].")

	id := c.call(alice, "GET", "/v2.0/floatingips?floating_ip_address=127.16.128.12", "").column("id")[0]
	c.call(alice, "DELETE", "/v2.0/floatingips/"+id, "").must(http.StatusNoContent)
	c.call(alice, "GET", "/v2.0/floatingips/"+id, "").refused(404, "FloatingIPNotFound", "Floating IP "+id+" could not be found")
	if got := c.floatingIP("")["floating_ip_address"]; got != "127.16.128.12" {
		t.Errorf("after a deletion the address is %v, want the one that is free again", got)
	}
}

func TestFloatingIPAddressCanBeChosenByAdminsAndByOption(t *testing.T) {
	body := func(c *cloud) string {
		return `{"floatingip": {"floating_network_id": "` + c.ids.PublicNetworkID + `", "floating_ip_address": "127.16.128.77"}}`
	}
	for name, call := range map[string]func() jsonObject{
		"admin": func() jsonObject { c := newCloud(t, Options{}); return c.create(admin, "/v2.0/floatingips", body(c)) },
		"tenant": func() jsonObject {
			c := newCloud(t, Options{TenantsChooseFloatingIPs: true})
			return c.create(alice, "/v2.0/floatingips", body(c))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := call()["floating_ip_address"]; got != "127.16.128.77" {
				t.Errorf("address %v", got)
			}
		})
	}
}

func TestFloatingIPStaysWhenItsPortIsDeleted(t *testing.T) {
	c := newCloud(t, Options{})
	port := c.port()
	id := c.floatingIP(`, "port_id": "` + port + `"`)["id"].(string)
	c.touched()
	c.call(alice, "DELETE", "/v2.0/ports/"+port, "").must(http.StatusNoContent)
	got := c.call(alice, "GET", "/v2.0/floatingips/"+id, "").must(http.StatusOK)
	for _, key := range []string{"port_id", "fixed_ip_address", "router_id", "port_details"} {
		if got[key] != nil {
			t.Errorf("%s is %v, want null", key, got[key])
		}
	}
	if got["status"] != "DOWN" {
		t.Errorf("status %v, want DOWN", got["status"])
	}
	if diff := cmp.Diff([]string{port}, c.touched()); diff != "" {
		t.Error("told of the ports", diff)
	}
}

func TestFloatingIPsAreListedByFilter(t *testing.T) {
	c := newCloud(t, Options{})
	port := c.port()
	on := c.floatingIP(`, "port_id": "` + port + `", "description": "mine"`)["id"].(string)
	off := c.floatingIP("")["id"].(string)
	c.call(alice, "PUT", "/v2.0/floatingips/"+off+"/tags", `{"tags": ["a", "b"]}`).must(http.StatusOK)
	for query, want := range map[string][]string{
		"":                                  sorted(on, off),
		"port_id=" + port:                   {on},
		"floating_ip_address=127.16.128.12": {off},
		"router_id=" + c.ids.RouterID:       {on},
		"status=DOWN":                       {off},
		"description=mine":                  {on},
		"tags=a,b":                          {off},
		"not-tags=a":                        {on},
		"floating_network_id=" + c.ids.PublicNetworkID: sorted(on, off),
		"project_id=project-b":                         {},
	} {
		t.Run("?"+query, func(t *testing.T) {
			c.reportTo(t)
			if diff := cmp.Diff(want, c.call(alice, "GET", "/v2.0/floatingips?"+query, "").column("id")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := c.call(bob, "GET", "/v2.0/floatingips", "").column("id"); len(got) != 0 {
		t.Error("another project sees", got)
	}
	if got := c.call(admin, "GET", "/v2.0/floatingips", "").column("id"); len(got) != 2 {
		t.Error("the admin sees", got)
	}
	c.call(alice, "GET", "/v2.0/floatingips?colour=red", "").refused(400, "HTTPBadRequest", "['colour'] is invalid attribute for filtering")
}
