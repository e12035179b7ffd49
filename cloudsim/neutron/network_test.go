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

func TestProviderFieldsOfANetworkAreShownToAdminsOnly(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, MTU: 1400})
	got := c.create(alice, "/v2.0/networks", `{"network": {"name": "n", "description": "d", "admin_state_up": false}}`)
	want := jsonObject{
		"id": got["id"], "name": "n", "description": "d", "project_id": "project-a", "tenant_id": "project-a", "admin_state_up": false,
		"status": "ACTIVE", "subnets": []any{}, "shared": false, "router:external": false, "is_default": false, "mtu": 1400.0, "port_security_enabled": true,
		"availability_zones": []any{}, "availability_zone_hints": []any{}, "ipv4_address_scope": nil, "ipv6_address_scope": nil,
		"tags": []any{}, "revision_number": 1.0, "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	seen := c.call(admin, "GET", "/v2.0/networks/"+got["id"].(string), "").must(http.StatusOK)
	if seen["provider:network_type"] != "geneve" || seen["provider:segmentation_id"] == nil {
		t.Errorf("the admin sees type %v, segment %v", seen["provider:network_type"], seen["provider:segmentation_id"])
	}
}

func TestNetworksAreVisibleToTheirOwnersOrIfSharedOrExternal(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	shared := c.create(admin, "/v2.0/networks", `{"network": {"name": "shared", "shared": true}}`)["id"].(string)
	c.create(admin, "/v2.0/subnets", `{"subnet": {"name": "shared-subnet", "network_id": "`+shared+`", "ip_version": 4, "cidr": "10.9.0.0/24"}}`)
	for _, test := range []struct {
		name string

		who                         wire.Identity
		networks, subnets, external []string
	}{
		{"owner", alice, []string{"private", "public", "shared"}, []string{"private-subnet", "private-subnet-v6", "shared-subnet"}, []string{"public"}},
		{"another project", bob, []string{"public", "shared"}, []string{"shared-subnet"}, []string{"public"}},
		{"admin", admin, []string{"private", "public", "shared"}, []string{"private-subnet", "private-subnet-v6", "public-subnet", "shared-subnet"}, []string{"public"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.reportTo(t)
			if diff := cmp.Diff(test.networks, c.call(test.who, "GET", "/v2.0/networks", "").column("name")); diff != "" {
				t.Error(test.who.UserID, diff)
			}
			if diff := cmp.Diff(test.subnets, c.call(test.who, "GET", "/v2.0/subnets", "").column("name")); diff != "" {
				t.Error(test.who.UserID, diff)
			}
			if diff := cmp.Diff(test.external, c.call(test.who, "GET", "/v2.0/networks?router:external=True", "").column("name")); diff != "" {
				t.Error(test.who.UserID, diff)
			}
		})
	}
	c.call(alice, "GET", "/v2.0/subnets/"+c.ids.PublicSubnetID, "").refused(404, "SubnetNotFound", "Subnet "+c.ids.PublicSubnetID+" could not be found.")
	c.call(bob, "GET", "/v2.0/networks/"+c.ids.PrivateNetworkID, "").refused(404, "NetworkNotFound", "Network "+c.ids.PrivateNetworkID+" could not be found.")
}

func TestSubnetsOfExternalNetworksAreShownByOption(t *testing.T) {
	c := newCloud(t, Options{ShowExternalSubnets: true})
	if got := c.call(bob, "GET", "/v2.0/subnets", "").column("name"); !cmp.Equal(got, []string{"public-subnet"}) {
		t.Error("bob sees", got)
	}
}

func TestInvalidNetworksAndSubnetsAreRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	network := c.create(alice, "/v2.0/networks", `{"network": {}}`)["id"].(string)
	c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.0.0.0/24"}}`)
	subnet := func(more string) string {
		return `{"subnet": {"network_id": "` + network + `", "ip_version": 4` + more + `}}`
	}
	for _, test := range []struct {
		name               string
		who                wire.Identity
		method, path, body string
		status             int
		kind, message      string
	}{
		{"an external network, from a tenant", alice, "POST", "networks", `{"network": {"router:external": true}}`, 403, "PolicyNotAuthorized",
			"(rule:create_network and rule:create_network:router:external) is disallowed by policy"},
		{"sharing, by a tenant", alice, "PUT", "networks/" + network, `{"network": {"shared": true}}`, 403, "PolicyNotAuthorized",
			"(rule:update_network and rule:update_network:shared) is disallowed by policy"},
		{"change of a network of others", bob, "PUT", "networks/" + c.ids.PublicNetworkID, `{"network": {"name": "x"}}`, 403, "PolicyNotAuthorized", "rule:update_network is disallowed by policy"},
		{"deletion of a network of others", bob, "DELETE", "networks/" + c.ids.PublicNetworkID, "", 403, "PolicyNotAuthorized", "rule:delete_network is disallowed by policy"},
		{"a subnet in a network of others", bob, "POST", "subnets", `{"subnet": {"network_id": "` + c.ids.PublicNetworkID + `", "ip_version": 4, "cidr": "10.0.0.0/24"}}`, 403, "HTTPForbidden",
			"Tenant project-b not allowed to create subnet on this network"},
		{"no body", alice, "POST", "networks", ``, 400, "HTTPBadRequest", "Resource body required"},
		{"a body that is no JSON", alice, "POST", "networks", `{`, 400, "HTTPBadRequest", "Body contains invalid data"},
		{"a body of another kind", alice, "POST", "networks", `{"net": {}}`, 400, "HTTPBadRequest", "Unable to find 'network' in request body"},
		{"a name that is no string", alice, "POST", "networks", `{"network": {"name": 5}}`, 400, "HTTPBadRequest", "Invalid input for name. Reason: '5' is not a valid string."},
		{"a subnet with no block", alice, "POST", "subnets", subnet(""), 400, "BadRequest", "Bad subnets request: a subnetpool must be specified in the absence of a cidr."},
		{"a subnet that overlaps", alice, "POST", "subnets", subnet(`, "cidr": "10.0.0.0/16"`), 400, "InvalidInput",
			"Invalid input for operation: Requested subnet with cidr: 10.0.0.0/16 for network: " + network + " overlaps with another subnet."},
		{"a subnet of the other IP version", alice, "POST", "subnets", subnet(`, "cidr": "fd00::/64"`), 400, "InvalidInput",
			"Invalid input for operation: cidr 'fd00::/64' does not match the ip_version '4'."},
		{"an IP version that does not exist", alice, "POST", "subnets", `{"subnet": {"network_id": "` + network + `", "ip_version": 5}}`, 400, "HTTPBadRequest",
			"Invalid input for ip_version. Reason: 5 is not in valid_values."},
		{"a gateway that is the broadcast address", alice, "POST", "subnets", subnet(`, "cidr": "10.2.0.0/24", "gateway_ip": "10.2.0.255"`), 400, "InvalidInput",
			"Invalid input for operation: Gateway is not valid on subnet."},
		{"a pool with the gateway", alice, "POST", "subnets", subnet(`, "cidr": "10.2.0.0/24", "allocation_pools": [{"start": "10.2.0.1", "end": "10.2.0.9"}]`), 409, "GatewayConflictWithAllocationPools",
			"Gateway ip 10.2.0.1 conflicts with allocation pool 10.2.0.1-10.2.0.9."},
		{"a pool outside the block", alice, "POST", "subnets", subnet(`, "cidr": "10.2.0.0/24", "allocation_pools": [{"start": "10.2.0.9", "end": "10.2.1.9"}]`), 400, "OutOfBoundsAllocationPool",
			"The allocation pool 10.2.0.9-10.2.1.9 spans beyond the subnet cidr 10.2.0.0/24."},
		{"pools that overlap", alice, "POST", "subnets",
			subnet(`, "cidr": "10.2.0.0/24", "allocation_pools": [{"start": "10.2.0.9", "end": "10.2.0.19"}, {"start": "10.2.0.19", "end": "10.2.0.29"}]`), 409, "OverlappingAllocationPools",
			"Found overlapping allocation pools: 10.2.0.9-10.2.0.19 10.2.0.19-10.2.0.29 for subnet 10.2.0.0/24."},
		{"DHCP in a /31", alice, "POST", "subnets", subnet(`, "cidr": "10.2.0.0/31", "gateway_ip": null`), 400, "InvalidInput",
			"Invalid input for operation: Subnet has a prefix length that is incompatible with DHCP service enabled."},
		{"another gateway than the router has", alice, "PUT", "subnets/" + c.ids.PrivateSubnetID, `{"subnet": {"gateway_ip": "127.16.0.254", "allocation_pools": []}}`, 409, "GatewayIpInUse",
			"Current gateway ip 127.16.0.1 already in use by port " + c.gatewayInterface() + ". Unable to update."},
		{"a change of the block", alice, "PUT", "subnets/" + c.ids.PrivateSubnetID, `{"subnet": {"cidr": "10.0.0.0/8"}}`, 400, "HTTPBadRequest", "Cannot update read-only attribute cidr"},
		{"deletion of a subnet in use", alice, "DELETE", "subnets/" + c.ids.PrivateSubnetID, "", 409, "SubnetInUse",
			"Unable to complete operation on subnet " + c.ids.PrivateSubnetID + ": One or more ports have an IP allocation from this subnet."},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := c.call(test.who, test.method, "/v2.0/"+test.path, test.body)
			a.t = t
			a.refused(test.status, test.kind, test.message)
		})
	}
}

func TestNetworkIsDeletedWithItsSubnetsUnlessItHasPorts(t *testing.T) {
	c := newCloud(t, Options{})
	network := c.create(alice, "/v2.0/networks", `{"network": {}}`)["id"].(string)
	subnet := c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.0.0.0/24"}}`)["id"].(string)
	port := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+network+`"}}`)["id"].(string)
	c.call(alice, "DELETE", "/v2.0/networks/"+network, "").refused(409, "NetworkInUse",
		"Unable to complete operation on network "+network+". There are one or more ports still in use on the network, id for these ports is: "+port+".")
	c.call(alice, "DELETE", "/v2.0/ports/"+port, "").must(http.StatusNoContent)
	c.call(alice, "DELETE", "/v2.0/networks/"+network, "").must(http.StatusNoContent)
	c.call(alice, "GET", "/v2.0/subnets/"+subnet, "").refused(404, "SubnetNotFound", "Subnet "+subnet+" could not be found.")
}

func TestSubnetHasAllFields(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	network := c.create(alice, "/v2.0/networks", `{"network": {}}`)["id"].(string)
	got := c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.0.0.0/24", "dns_nameservers": ["1.1.1.1"],
		"host_routes": [{"destination": "10.8.0.0/16", "nexthop": "10.0.0.9"}], "gateway_ip": "10.0.0.254"}}`)
	want := jsonObject{
		"id": got["id"], "name": "", "description": "", "project_id": "project-a", "tenant_id": "project-a", "network_id": network, "ip_version": 4.0,
		"cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.254", "allocation_pools": []any{jsonObject{"start": "10.0.0.1", "end": "10.0.0.253"}},
		"enable_dhcp": true, "dns_nameservers": []any{"1.1.1.1"}, "host_routes": []any{jsonObject{"destination": "10.8.0.0/16", "nexthop": "10.0.0.9"}},
		"ipv6_ra_mode": nil, "ipv6_address_mode": nil, "subnetpool_id": nil, "service_types": []any{}, "tags": []any{}, "revision_number": 0.0,
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	changed := c.call(alice, "PUT", "/v2.0/subnets/"+got["id"].(string),
		`{"subnet": {"allocation_pools": [{"start": "10.0.0.100", "end": "10.0.0.100"}], "gateway_ip": null, "name": "s"}}`).must(http.StatusOK)
	if changed["gateway_ip"] != nil || changed["name"] != "s" || changed["revision_number"] != 1.0 {
		t.Errorf("after the change: %v", changed)
	}
	port := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+network+`"}}`)
	if diff := cmp.Diff([]any{jsonObject{"subnet_id": got["id"], "ip_address": "10.0.0.100"}}, port["fixed_ips"]); diff != "" {
		t.Error("the new pool does not count", diff)
	}
}
