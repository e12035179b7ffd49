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

func TestPortHasAllFields(t *testing.T) {
	c := newCloud(t, Options{})
	group := c.call(alice, "GET", "/v2.0/security-groups?name=default", "").column("id")[0]
	got := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "name": "p", "mac_address": "FA:16:3E:00:00:01", "device_id": "d",
		"device_owner": "compute:nova", "tags": ["t"], "allowed_address_pairs": [{"ip_address": "10.0.0.0/8"}]}}`)
	want := jsonObject{
		"id": got["id"], "name": "p", "description": "", "project_id": "project-a", "tenant_id": "project-a", "network_id": c.ids.PrivateNetworkID,
		"mac_address": "fa:16:3e:00:00:01", "admin_state_up": true, "status": "DOWN", "device_id": "d", "device_owner": "compute:nova",
		"fixed_ips": []any{
			jsonObject{"subnet_id": c.ids.PrivateSubnetID, "ip_address": "127.16.0.2"},
			jsonObject{"subnet_id": c.ids.PrivateIPv6SubnetID, "ip_address": "fd00:1::1"},
		},
		"security_groups": []any{group}, "allowed_address_pairs": []any{jsonObject{"ip_address": "10.0.0.0/8", "mac_address": "fa:16:3e:00:00:01"}},
		"port_security_enabled": true, "binding:vnic_type": "normal", "extra_dhcp_opts": []any{}, "tags": []any{}, "revision_number": 1.0,
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "allowed_address_pairs": [{"ip_address": "10.0.0.0/8"}]}}`)
	if pair := other["allowed_address_pairs"].([]any)[0].(jsonObject); pair["mac_address"] != other["mac_address"] {
		t.Errorf("the pair %v must have the port's MAC address %v", pair, other["mac_address"])
	}
	bound := c.call(admin, "PUT", "/v2.0/ports/"+got["id"].(string), `{"port": {"binding:host_id": "host-1"}}`).must(http.StatusOK)
	if bound["status"] != "ACTIVE" || bound["binding:host_id"] != "host-1" || bound["binding:vif_type"] != "ovs" {
		t.Errorf("bound: %v", bound)
	}
}

func TestInvalidPortsAreRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	network, subnet, port := c.ids.PrivateNetworkID, c.ids.PrivateSubnetID, c.port()
	shared := c.create(admin, "/v2.0/networks", `{"network": {"shared": true}}`)["id"].(string)
	c.create(admin, "/v2.0/subnets", `{"subnet": {"network_id": "`+shared+`", "ip_version": 4, "cidr": "10.9.0.0/30"}}`)
	routerPort := c.gatewayInterface()
	bobsGroup := c.call(bob, "GET", "/v2.0/security-groups", "").column("id")[0]
	in := func(more string) string { return `{"port": {"network_id": "` + network + `"` + more + `}}` }
	for _, test := range []struct {
		name               string
		who                wire.Identity
		method, path, body string
		status             int
		kind, message      string
	}{
		{"a network of another project", bob, "POST", "", in(""), 404, "NetworkNotFound", "Network " + network + " could not be found."},
		{"an external network", alice, "POST", "", `{"port": {"network_id": "` + c.ids.PublicNetworkID + `"}}`, 403, "HTTPForbidden", "Tenant project-a not allowed to create port on this network"},
		{"an address in use", alice, "POST", "", in(`, "fixed_ips": [{"ip_address": "127.16.0.2"}]`), 409, "IpAddressAlreadyAllocated", "IP address 127.16.0.2 already allocated in subnet " + subnet},
		{"an address that fits nowhere", alice, "POST", "", in(`, "fixed_ips": [{"ip_address": "10.0.0.2"}]`), 400, "InvalidIpForNetwork", "IP address 10.0.0.2 is not a valid IP for any of the subnets on the specified network."},
		{"the broadcast address", alice, "POST", "", in(`, "fixed_ips": [{"subnet_id": "` + subnet + `", "ip_address": "127.16.0.255"}]`), 400, "InvalidIpForSubnet", "IP address 127.16.0.255 is not a valid IP for the specified subnet."},
		{"an empty wish", alice, "POST", "", in(`, "fixed_ips": [{}]`), 400, "InvalidInput", "Invalid input for operation: IP allocation requires subnet_id or ip_address."},
		{"a MAC address in use", alice, "POST", "", in(`, "mac_address": "` + mac(c, port) + `"`), 409, "MacAddressInUse", "Unable to complete operation for network " + network + ". The mac address " + mac(c, port) + " is in use."},
		{"an unknown security group", alice, "POST", "", in(`, "security_groups": ["` + unknownID + `"]`), 404, "SecurityGroupNotFound", "Security group " + unknownID + " does not exist"},
		{"a security group of others", alice, "POST", "", in(`, "security_groups": ["` + bobsGroup + `"]`), 404, "SecurityGroupNotFound", "Security group " + bobsGroup + " does not exist"},
		{"address pairs without port security", alice, "POST", "", in(`, "port_security_enabled": false, "allowed_address_pairs": [{"ip_address": "1.1.1.1"}]`), 409, "AddressPairAndPortSecurityRequired",
			"Port Security must be enabled in order to have allowed address pairs on a port."},
		{"an address pair twice", alice, "POST", "", in(`, "mac_address": "fa:16:3e:00:00:09", "allowed_address_pairs": [{"ip_address": "1.1.1.1"}, {"ip_address": "1.1.1.1"}]`), 400, "DuplicateAddressPairInRequest",
			"Request contains duplicate address pair: mac_address None ip_address 1.1.1.1."},
		{"an address pair with no address", alice, "POST", "", in(`, "allowed_address_pairs": [{}]`), 400, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address"},
		{"no port security but security groups", alice, "PUT", "/" + port, `{"port": {"port_security_enabled": false}}`, 409, "PortSecurityPortHasSecurityGroup",
			"Port has security group associated. Cannot disable port security or IP address until security group is removed."},
		{"a host, from a tenant", alice, "POST", "", in(`, "binding:host_id": "h"`), 403, "PolicyNotAuthorized", "(rule:create_port and rule:create_port:binding:host_id) is disallowed by policy"},
		{"an address in a shared network", alice, "POST", "", `{"port": {"network_id": "` + shared + `", "fixed_ips": [{"ip_address": "10.9.0.2"}]}}`, 403, "PolicyNotAuthorized",
			"(rule:create_port and (rule:create_port:fixed_ips and (rule:create_port:fixed_ips:ip_address))) is disallowed by policy"},
		{"a port of a router", alice, "DELETE", "/" + routerPort, "", 409, "ServicePortInUse",
			"Port " + routerPort + " cannot be deleted directly via the port API: has device owner network:router_interface."},
		{"a port of another project", bob, "DELETE", "/" + port, "", 404, "PortNotFound", "Port " + port + " could not be found."},
		{"a new address that is in use", alice, "PUT", "/" + port, `{"port": {"fixed_ips": [{"ip_address": "127.16.0.1"}]}}`, 409, "IpAddressAlreadyAllocated", "IP address 127.16.0.1 already allocated in subnet " + subnet},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := c.Counts()
			a := c.call(test.who, test.method, "/v2.0/ports"+test.path, test.body)
			a.t = t
			a.refused(test.status, test.kind, test.message)
			if diff := cmp.Diff(before, c.Counts()); diff != "" {
				t.Error("a refused request has changed something", diff)
			}
		})
	}

	t.Run("a network with no address left", func(t *testing.T) {
		// A /30 has two hosts, one of them the gateway.
		c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+shared+`"}}`)
		a := c.call(alice, "POST", "/v2.0/ports", `{"port": {"network_id": "`+shared+`"}}`)
		a.t = t
		a.refused(409, "IpAddressGenerationFailure", "No more IP addresses available on network "+shared+".")
	})
}

func mac(c *cloud, port string) string {
	return c.call(admin, "GET", "/v2.0/ports/"+port, "").must(http.StatusOK)["mac_address"].(string)
}

func TestPortsAreListedByFilter(t *testing.T) {
	c := newCloud(t, Options{})
	group := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)["id"].(string)
	one := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "device_id": "d1", "name": "one", "security_groups": ["`+group+`"], "fixed_ips": [{"ip_address": "127.16.0.50"}]}}`)["id"].(string)
	two := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "device_id": "d2", "device_owner": "compute:nova", "fixed_ips": [{"subnet_id": "`+c.ids.PrivateIPv6SubnetID+`"}]}}`)["id"].(string)
	for query, want := range map[string][]string{
		"device_id=d1":                     {one},
		"device_id=d1&device_id=d2":        sorted(one, two),
		"device_owner=compute:nova":        {two},
		"name=one&status=DOWN":             {one},
		"security_groups=" + group:         {one},
		"fixed_ips=ip_address=127.16.0.50": {one},
		"fixed_ips=subnet_id=" + c.ids.PrivateIPv6SubnetID + "&device_id=d2":                {two},
		"fixed_ips=ip_address=127.16.0.50&fixed_ips=subnet_id=" + c.ids.PrivateSubnetID:     {one},
		"fixed_ips=ip_address=127.16.0.50&fixed_ips=subnet_id=" + c.ids.PrivateIPv6SubnetID: {},
		"fixed_ips=ip_address_substr=.0.5":                                                  {one},
		"network_id=" + c.ids.PublicNetworkID:                                               {},
		"mac_address=" + mac(c, two):                                                        {two},
		"admin_state_up=True&device_id=d1":                                                  {one},
		"changed_since=2026-01-02T03:04:06Z":                                                {},
		"changed_since=2026-01-02T03:04:05Z&device_id=d2":                                   {two},
		"project_id=project-b":                                                              {},
	} {
		t.Run("?"+query, func(t *testing.T) {
			c.reportTo(t)
			if diff := cmp.Diff(want, c.call(alice, "GET", "/v2.0/ports?"+query, "").column("id")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPortKeepsTheAddressesThatItIsGivenAgain(t *testing.T) {
	c := newCloud(t, Options{})
	port := c.port()
	for _, step := range []struct {
		name, wish string
		want       []string
	}{
		{"a second address", `[{"ip_address": "127.16.0.2"}, {"ip_address": "127.16.0.70"}]`, []string{"127.16.0.2", "127.16.0.70"}},
		{"any address of the subnet: one that it has", `[{"subnet_id": "` + c.ids.PrivateSubnetID + `"}]`, []string{"127.16.0.2"}},
		{"a new one", `[{"ip_address": "127.16.0.70"}]`, []string{"127.16.0.70"}},
		{"none", `[]`, []string{}},
	} {
		got := c.call(alice, "PUT", "/v2.0/ports/"+port, `{"port": {"fixed_ips": `+step.wish+`}}`).must(http.StatusOK)
		addresses := []string{}
		for _, f := range got["fixed_ips"].([]any) {
			addresses = append(addresses, f.(jsonObject)["ip_address"].(string))
		}
		if diff := cmp.Diff(step.want, addresses); diff != "" {
			t.Error(step.name, diff)
		}
	}
	next := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "fixed_ips": [{"ip_address": "127.16.0.70"}]}}`)
	if next["id"] == nil {
		t.Error("an address that was given up cannot be had")
	}
}

func TestPortGetsTheAddressOfItsMACInASubnetWithSLAAC(t *testing.T) {
	c := newCloud(t, Options{})
	network := c.create(alice, "/v2.0/networks", `{"network": {}}`)["id"].(string)
	subnet := c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 6, "cidr": "fd00:2::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}}`)["id"].(string)
	got := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+network+`", "mac_address": "fa:16:3e:12:34:56"}}`)
	if diff := cmp.Diff([]any{jsonObject{"subnet_id": subnet, "ip_address": "fd00:2::f816:3eff:fe12:3456"}}, got["fixed_ips"]); diff != "" {
		t.Error(diff)
	}
	c.call(alice, "POST", "/v2.0/ports", `{"port": {"network_id": "`+network+`", "fixed_ips": [{"ip_address": "fd00:2::9"}]}}`).refused(400, "AllocationOnAutoAddressSubnet",
		"IPv6 address fd00:2::9 cannot be directly assigned to a port on subnet "+subnet+" as the subnet is configured for automatic addresses")
}

func TestBulkCreationIsAllOrNothing(t *testing.T) {
	c := newCloud(t, Options{})
	before := c.Counts()["ports"]
	port := `{"network_id": "` + c.ids.PrivateNetworkID + `", "fixed_ips": [{"ip_address": "127.16.0.90"}]}`
	c.call(alice, "POST", "/v2.0/ports", `{"ports": [`+port+`, `+port+`]}`).refused(409, "IpAddressAlreadyAllocated", "IP address 127.16.0.90 already allocated in subnet "+c.ids.PrivateSubnetID)
	if got := c.Counts()["ports"]; got != before {
		t.Errorf("%d ports, %d before", got, before)
	}
	made := c.call(alice, "POST", "/v2.0/ports", `{"ports": [`+port+`, {"network_id": "`+c.ids.PrivateNetworkID+`"}]}`)
	if made.status != http.StatusCreated || len(made.body["ports"].([]any)) != 2 {
		t.Errorf("answer %d %v", made.status, made.body)
	}
}
