// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

const nodesSubnet = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

// twoHomed is a node with two internal addresses and an external one, and a node with one address.
func twoHomed(in *Input) {
	both := node("n1", "10.0.0.1", "10.0.1.1", "fd00::1", "fd01::1")
	both.Status.Addresses = append(both.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.1"})
	in.Nodes = []corev1.Node{both, node("n2", "10.0.0.2", "fd00::2")}
}

func cidr(text string) change {
	return func(in *Input) { in.Networks.MemberCIDR = netip.MustParsePrefix(text) }
}

func TestSubnetAndTypeSelectTheAddressesOfMembers(t *testing.T) {
	external := func(in *Input) { in.Config.NodeAddressType = "ExternalIP" }
	named := annotate(annotation.MemberSubnetID, nodesSubnet)
	two := "10.0.0.2:30080 0"
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"nothing said":                                 {input(twoHomed), "10.0.0.1:30080 0"},
		"an address inside the subnet":                 {input(twoHomed, cidr("10.0.1.0/24")), "10.0.1.1:30080 0"},
		"none inside the subnet":                       {input(twoHomed, cidr("10.0.9.0/24")), "10.0.0.1:30080 0"},
		"external ones, by annotation":                 {input(twoHomed, annotate(annotation.NodeAddressType, "ExternalIP")), "203.0.113.1:30080 0"},
		"external ones, by cloud.conf":                 {input(twoHomed, external), "203.0.113.1:30080 0"},
		"internal ones, by annotation over cloud.conf": {input(twoHomed, external, annotate(annotation.NodeAddressType, "InternalIP")), "10.0.0.1:30080 0"},
		"external ones, and the VIP's subnet":          {input(twoHomed, external, cidr("10.0.1.0/24")), "203.0.113.1:30080 0"},
		"external ones, and a subnet of the Service's": {input(twoHomed, external, named, cidr("10.0.1.0/24")), "10.0.1.1:30080 0"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want, two}, memberAddresses(wanted.LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachFamilyHasAddressesInItsOwnSubnet(t *testing.T) {
	in := input(twoHomed, dual(corev1.IPFamilyPolicyRequireDualStack, corev1.IPv4Protocol, corev1.IPv6Protocol),
		ports(port(corev1.ProtocolUDP, 53, 30053)), cidr("10.0.1.0/24"), func(in *Input) { in.Networks.AdditionalCIDR = netip.MustParsePrefix("fd01::/64") })
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"10.0.1.1:30053 0", "10.0.0.2:30053 0", "fd01::1:30053 0", "fd00::2:30053 0"}
	if diff := cmp.Diff(want, memberAddresses(wanted.LoadBalancer, 0)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestNodesOfARefusedServiceKeepTheAddressesThatTakeTraffic(t *testing.T) {
	was := []change{twoHomed, annotate(annotation.NodeAddressType, "ExternalIP")}
	have := observed(t, input(was...))
	joined := func(in *Input) { in.Nodes = append(in.Nodes, node("n3", "10.0.0.3")) }
	refused := annotate(keyMonitor, "rubbish")
	one, two, three := "203.0.113.1:30080 0", "10.0.0.2:30080 0", "10.0.0.3:30080 0"
	for name, c := range map[string]struct {
		change change
		want   []string
	}{
		"nothing else has changed":      {func(*Input) {}, []string{one, two, three}},
		"another type":                  {annotate(annotation.NodeAddressType, "InternalIP"), []string{one, two, three}},
		"a type that is none":           {annotate(annotation.NodeAddressType, "PodIP"), []string{one, two}},
		"a subnet that is none":         {annotate(annotation.MemberSubnetID, "nodes"), []string{one, two}},
		"a subnet that cannot be read":  {func(in *Input) { in.SubnetsUnknown = true }, []string{one, two}},
		"a subnet with another address": {cidr("10.0.1.0/24"), []string{one, two, three}},
		"a node that has lost its address": {func(in *Input) { in.Nodes[0].Status.Addresses = in.Nodes[0].Status.Addresses[:1] },
			[]string{"10.0.0.1:30080 0", two, three}},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(append(append([]change{}, was...), refused, joined, c.change)...)
			if diff := cmp.Diff(c.want, memberAddresses(MembersOnly(in, have).LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMembersSayTheSubnetFromWhichTheyAreReachedWhicheverTheirAddress(t *testing.T) {
	wanted, err := Wanted(input(twoHomed, cidr("10.0.1.0/24")))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range wanted.LoadBalancer.Listeners[0].Pool.Members {
		if m.SubnetID != "subnet-nodes" {
			t.Errorf("member %+v", m)
		}
	}
}
