// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestVIPPortHasTheFieldsThatItsProviderSets(t *testing.T) {
	for provider, want := range map[string]jsonObject{
		"amphora": {"name": "octavia-lb-lb1", "device_id": "lb-lb1", "device_owner": "Octavia", "admin_state_up": false, "status": "DOWN", "project_id": "project-a"},
		"ovn":     {"name": "ovn-lb-vip-lb1", "device_id": "lb-lb1", "device_owner": "", "admin_state_up": true, "status": "DOWN", "project_id": "project-a"},
	} {
		t.Run(provider, func(t *testing.T) {
			c := newCloud(t, Options{})
			vip, err := c.AllocateVIP(VIPRequest{LoadBalancerID: "lb1", ProjectID: alice.ProjectID, Provider: provider, SubnetID: c.ids.PrivateSubnetID})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(VIP{PortID: vip.PortID, NetworkID: c.ids.PrivateNetworkID, SubnetID: c.ids.PrivateSubnetID, Address: "127.16.0.2", Created: true}, vip); diff != "" {
				t.Error(diff)
			}
			port := c.call(alice, "GET", "/v2.0/ports/"+vip.PortID, "").must(http.StatusOK)
			for key, value := range want {
				if port[key] != value {
					t.Errorf("%s is %v, want %v", key, port[key], value)
				}
			}
		})
	}
}

func TestVIPIsAllocatedFromTheGivenPortSubnetOrNetwork(t *testing.T) {
	c := newCloud(t, Options{})
	v4, v6, network := c.ids.PrivateSubnetID, c.ids.PrivateIPv6SubnetID, c.ids.PrivateNetworkID
	both := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+network+`", "fixed_ips": [{"ip_address": "127.16.0.200"}, {"ip_address": "fd00:1::200"}]}}`)["id"].(string)
	for _, test := range []struct {
		name string
		req  VIPRequest
		want VIP // without port and network
	}{
		{"a network: its first IPv4 subnet", VIPRequest{NetworkID: network}, VIP{SubnetID: v4, Address: "127.16.0.2", Created: true}},
		{"a network and an address: the subnet that has it", VIPRequest{NetworkID: network, Address: "fd00:1::99"}, VIP{SubnetID: v6, Address: "fd00:1::99", Created: true}},
		{"a subnet and an address", VIPRequest{SubnetID: v4, Address: "127.16.0.99"}, VIP{SubnetID: v4, Address: "127.16.0.99", Created: true}},
		{"a subnet and one of the other IP version", VIPRequest{SubnetID: v6, Address: "fd00:1::77", Additional: []VIPAddress{{SubnetID: v4}}},
			VIP{SubnetID: v6, Address: "fd00:1::77", Additional: []VIPAddress{{v4, "127.16.0.3"}}, Created: true}},
		{"one subnet twice, the second time with an address", VIPRequest{SubnetID: v4, Additional: []VIPAddress{{v4, "127.16.0.88"}}},
			VIP{SubnetID: v4, Address: "127.16.0.4", Additional: []VIPAddress{{v4, "127.16.0.88"}}, Created: true}},
		{"a port and which subnet", VIPRequest{PortID: both, SubnetID: v4}, VIP{SubnetID: v4, Address: "127.16.0.200"}},
		{"a port, which address and another subnet", VIPRequest{PortID: both, Address: "fd00:1::200", Additional: []VIPAddress{{SubnetID: v4}}}, VIP{SubnetID: v6, Address: "fd00:1::200", Additional: []VIPAddress{{v4, "127.16.0.200"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.req.ProjectID, test.req.LoadBalancerID = alice.ProjectID, "lb"
			got, err := c.AllocateVIP(test.req)
			if err != nil {
				t.Fatal(err)
			}
			test.want.PortID, test.want.NetworkID = got.PortID, network
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidVIPIsRefused(t *testing.T) {
	c := newCloud(t, Options{})
	c.SetQuota(bob.ProjectID, "port", 0)
	network, err := c.AddNetwork(NetworkSpec{ProjectID: alice.ProjectID})
	if err != nil {
		t.Fatal(err)
	}
	full, err := c.AddSubnet(SubnetSpec{
		ProjectID: alice.ProjectID, NetworkID: network, CIDR: netip.MustParsePrefix("10.0.0.0/24"),
		Pools: []AddressRange{{netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.9")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AllocateVIP(VIPRequest{ProjectID: alice.ProjectID, SubnetID: full}); err != nil {
		t.Fatal(err)
	}
	both := c.create(alice, "/v2.0/ports", `{"port": {"network_id": "`+c.ids.PrivateNetworkID+`", "fixed_ips": [{"ip_address": "127.16.0.200"}, {"ip_address": "127.16.0.201"}]}}`)["id"].(string)
	for _, test := range []struct {
		name string
		req  VIPRequest
		want error
	}{
		{"an unknown subnet", VIPRequest{SubnetID: "x"}, ErrNotFound},
		{"an unknown network", VIPRequest{NetworkID: "x"}, ErrNotFound},
		{"an unknown port", VIPRequest{PortID: "x"}, ErrNotFound},
		{"an unknown additional subnet", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Additional: []VIPAddress{{SubnetID: "x"}}}, ErrNotFound},
		{"an additional subnet elsewhere", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Additional: []VIPAddress{{SubnetID: full}}}, ErrInvalidAddress},
		{"an address in use", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Address: "127.16.0.1"}, ErrAddressInUse},
		{"the second address in use", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Additional: []VIPAddress{{c.ids.PrivateSubnetID, "127.16.0.1"}}}, ErrAddressInUse},
		{"an address elsewhere", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Address: "10.0.0.1"}, ErrInvalidAddress},
		{"an address that is none", VIPRequest{SubnetID: c.ids.PrivateSubnetID, Address: "x"}, ErrInvalidAddress},
		{"an address that no subnet has", VIPRequest{NetworkID: network, Address: "10.9.9.9"}, ErrInvalidAddress},
		{"a port with several addresses", VIPRequest{PortID: both}, ErrAmbiguous},
		{"a pool with nothing left", VIPRequest{SubnetID: full}, ErrNoAddresses},
		{"a project with no quota", VIPRequest{ProjectID: bob.ProjectID, SubnetID: c.ids.PrivateSubnetID}, ErrQuota},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := c.Counts()
			vip, err := c.AllocateVIP(test.req)
			if !errors.Is(err, test.want) {
				t.Errorf("AllocateVIP() = %v, %v, want an error that is %v", vip, err, test.want)
			}
			if diff := cmp.Diff(before, c.Counts()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if vip, err := c.AllocateVIP(VIPRequest{ProjectID: alice.ProjectID, SubnetID: c.ids.PrivateSubnetID}); err != nil || vip.Address != "127.16.0.2" {
		t.Errorf("after the refusals: %v, %v, want the first address", vip, err)
	}
}

func TestReleasedVIPLeavesItsFloatingIP(t *testing.T) {
	c := newCloud(t, Options{})
	vip, err := c.AllocateVIP(VIPRequest{LoadBalancerID: "lb", ProjectID: alice.ProjectID, SubnetID: c.ids.PrivateSubnetID})
	if err != nil {
		t.Fatal(err)
	}
	floating := c.floatingIP(`, "port_id": "` + vip.PortID + `"`)["id"].(string)
	c.touched()
	if err := c.ReleaseVIP(vip.PortID); err != nil {
		t.Fatal(err)
	}
	if got := c.call(alice, "GET", "/v2.0/floatingips/"+floating, "").must(http.StatusOK); got["port_id"] != nil || got["status"] != "DOWN" {
		t.Errorf("the floating IP is %v", got)
	}
	if diff := cmp.Diff([]string{vip.PortID}, c.touched()); diff != "" {
		t.Error(diff)
	}
	if err := c.ReleaseVIP(vip.PortID); err != nil {
		t.Error("the second release:", err)
	}
	users := c.port()
	if _, err := c.AllocateVIP(VIPRequest{LoadBalancerID: "lb", ProjectID: alice.ProjectID, PortID: users}); err != nil {
		t.Fatal(err)
	}
	if err := c.ReleaseVIP(users); err != nil {
		t.Fatal(err)
	}
	c.call(alice, "GET", "/v2.0/ports/"+users, "").must(http.StatusOK)
}

func TestProjectsMayUseTheSubnetsThatTheySee(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	sharedNetwork, err := c.AddNetwork(NetworkSpec{ProjectID: admin.ProjectID, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	sharedSubnet, err := c.AddSubnet(SubnetSpec{ProjectID: admin.ProjectID, NetworkID: sharedNetwork, CIDR: netip.MustParsePrefix("10.0.0.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Subnet(bob.ProjectID, c.ids.PublicSubnetID); ok || !c.Network(bob.ProjectID, c.ids.PublicNetworkID) {
		t.Error("of an external network a project must see the network and not the subnet")
	}
	for _, test := range []struct {
		name string

		project, network, subnet string
		want                     bool
	}{
		{"the owner", alice.ProjectID, c.ids.PrivateNetworkID, c.ids.PrivateSubnetID, true},
		{"another project", bob.ProjectID, c.ids.PrivateNetworkID, c.ids.PrivateSubnetID, false},
		{"an admin", "", c.ids.PrivateNetworkID, c.ids.PrivateSubnetID, true},
		{"another project, of a shared network", bob.ProjectID, sharedNetwork, sharedSubnet, true},
		{"an admin, of the external network", "", c.ids.PublicNetworkID, c.ids.PublicSubnetID, true},
		{"a subnet that does not exist", alice.ProjectID, "x", "x", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			info, ok := c.Subnet(test.project, test.subnet)
			if ok != test.want || c.Network(test.project, test.network) != test.want {
				t.Errorf("project %q, subnet %s: %v, %v, want %v", test.project, test.subnet, info, ok, test.want)
			}
		})
	}
	info, _ := c.Subnet(alice.ProjectID, c.ids.PrivateSubnetID)
	if diff := cmp.Diff(SubnetInfo{ID: c.ids.PrivateSubnetID, NetworkID: c.ids.PrivateNetworkID, CIDR: "127.16.0.0/24", IPVersion: 4}, info); diff != "" {
		t.Error(diff)
	}
}
