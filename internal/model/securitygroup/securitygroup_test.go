// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var byValue = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmpopts.EquateEmpty(),
}

func TestRulesLetTheLoadBalancerReachThePortsOfTheNodes(t *testing.T) {
	for _, test := range []struct {
		name string
		need Need
		want []Rule
		ok   bool
	}{
		{"from the members' subnet", serviceOn(tcp(30080), udp(30053)), []Rule{rule(tcp(30080), nodeNet), rule(udp(30053), nodeNet)}, true},
		{"from the members' subnet where the VIP is in another network",
			Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, MemberSubnetIDs: []string{"nodes"}, VIPSubnetID: "vips"},
			[]Rule{rule(tcp(1), nodeNet)}, true},
		{"from both subnets where they are in one network",
			Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, MemberSubnetIDs: []string{"nodes"}, VIPSubnetID: "twin"},
			[]Rule{rule(tcp(1), nodeNet), rule(tcp(1), subnets["twin"].CIDR)}, true},
		{"from the VIP's subnet where the members have none",
			Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, VIPSubnetID: "vips"}, []Rule{rule(tcp(1), vipNet)}, true},
		{"from a VIP's subnet that the project does not see", Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, VIPSubnetID: "hidden"}, nil, false},
		{"from a members' subnet that it does not see",
			Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, MemberSubnetIDs: []string{"hidden"}, VIPSubnetID: "vips"}, nil, false},
		{"a hidden subnet of the VIP does not matter beside that of the members",
			Need{Ports: []PortKey{tcp(1)}, FromSubnets: true, MemberSubnetIDs: []string{"nodes"}, VIPSubnetID: "hidden"},
			[]Rule{rule(tcp(1), nodeNet)}, true},
		{"from clients under their own addresses", Need{Ports: []PortKey{tcp(1)}, Sources: []netip.Prefix{all4}}, []Rule{rule(tcp(1), all4)}, true},
		{"from clients and from the checks in the subnet",
			Need{Ports: []PortKey{tcp(1)}, Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/24")}, FromSubnets: true, MemberSubnetIDs: []string{"nodes"}},
			[]Rule{rule(tcp(1), nodeNet), rule(tcp(1), netip.MustParsePrefix("192.0.2.0/24"))}, true},
		{"of the family of the members only", Need{Ports: []PortKey{tcp(1)}, IPv6: true, FromSubnets: true, MemberSubnetIDs: []string{"nodes", "six"}},
			[]Rule{rule(tcp(1), subnets["six"].CIDR)}, true},
		{"none for members that are Pods, whose subnets are not read", Need{FromSubnets: true, MemberSubnetIDs: []string{"hidden"}, VIPSubnetID: "hidden"}, nil, true},
		{"none for a Service that has nothing", Need{}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := test.need.Rules(subnets)
			if diff := cmp.Diff(test.want, got, byValue); diff != "" || ok != test.ok {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestNetworkIDWithoutSubnetIDDoesNotCrashTheSecurityGroups(t *testing.T) {
	need := Need{Ports: []PortKey{tcp(30080)}, FromSubnets: true}
	if rules, ok := need.Rules(subnets); ok || len(rules) > 0 || need.Placed() || len(need.SubnetIDs()) > 0 {
		t.Errorf("before Octavia has chosen a subnet: %v, %v, subnets %q", rules, ok, need.SubnetIDs())
	}
	rules, keep, _ := Claimed([]Claim{{Need: &need, Ports: []PortKey{tcp(30080)}}}, subnets)
	if len(rules) > 0 || len(keep) != 1 {
		t.Errorf("rules %v, kept ports %v", rules, keep)
	}
	need.VIPSubnetID = "vips"
	if rules, ok := need.Rules(subnets); !ok || len(rules) != 1 {
		t.Errorf("after that: %v, %v", rules, ok)
	}
}
