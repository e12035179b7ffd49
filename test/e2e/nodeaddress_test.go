// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/test/node"
)

const addressTypeKey = prefix + "node-address-type"

// secondSubnet creates another subnet of the private network and gives each node an address in it,
// which its status has after the first one. On the simulator the nodes answer there, too.
func (s *stage) secondSubnet(kind corev1.NodeAddressType, suffixes ...string) (subnetID string, addresses []string) {
	s.t.Helper()
	subnet := netip.MustParsePrefix("198.18.78.0/24")
	if *stateDir == "" {
		subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(240 + rand.IntN(14)), byte(rand.IntN(256)), 0}), 24)
	}
	address := netip.AddrFrom4([4]byte{subnet.Addr().As4()[0], subnet.Addr().As4()[1], subnet.Addr().As4()[2], 100})
	for _, suffix := range suffixes {
		s.answerAt(suffix, address)
		addresses = append(addresses, address.String())
		s.changeNodeStatus(suffix, func(n *corev1.Node) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address.String()})
		})
		address = address.Next()
	}
	return s.makeSubnet(asUser, s.cloud.IDs().PrivateNetwork, s.namespace, subnet, 20), addresses
}

// answerAt lets a node answer at one more address: beside it is another one, of which
// Kubernetes knows nothing.
func (s *stage) answerAt(suffix string, address netip.Addr) {
	s.t.Helper()
	if *stateDir != "" {
		return
	}
	beside := node.Node{Name: s.node(suffix) + "-beside", Address: address, Labels: map[string]string{corev1.LabelNodeExcludeBalancers: ""}}
	if err := s.nodes.Add(s.t.Context(), beside); err != nil {
		s.t.Fatal(err)
	}
	if err := s.nodes.Unregister(s.t.Context(), beside.Name); err != nil {
		s.t.Fatal(err)
	}
}

// answersThere reports whether packets reach the nodes at their second addresses.
func (s *stage) answersThere() bool { return *stateDir == "" || !s.cloud.packets() }

// membersIn checks that all members are in the subnet.
func membersIn(subnetID string) func(tree) error {
	return eachPool(func(p pool) error {
		for _, m := range p.Members {
			if m.Subnet != subnetID {
				return fmt.Errorf("member %s is in subnet %s, want %s", m.Address, m.Subnet, subnetID)
			}
		}
		return nil
	})
}

func TestMembersAreTheNodesAddressesInTheSubnetThatTheServiceNames(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud these are members like others")
	s := newStage(t, settings{})
	first := s.addresses("a", "b")
	subnet, second := s.secondSubnet(corev1.NodeInternalIP, "a", "b")
	s.resetCalls()
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(first...))
	s.waitUntilIdle()
	s.requireCallsAtMost("create, and a look at the subnet", 5)
	visitor := s.visit(address, 8080)

	s.resetCalls()
	web.change(annotated(memberSubnetKey, subnet))
	web.waitForTree(membersAt(second...))
	web.waitForTree(membersIn(subnet))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.requireCallsAtMost("another subnet", 2+2+1) // as for a node that joins, and a look at the subnet
	if s.answersThere() {
		s.waitForAnswersThrough(address, 8080, second...)
	}

	// What is known of the subnets is not requested again.
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(labelled("one"), touched("one")) })
	s.requireCallsAtMost("a change that means nothing", 0)

	web.change(notAnnotated(memberSubnetKey))
	web.waitForTree(membersAt(first...))
	web.waitUntilProgrammed()
	s.waitForAnswersThrough(address, 8080, first...)
	if s.answersThere() {
		s.requireNoFailedRequest(visitor)
	}
}

func TestNodeAddressTypeIsFollowedLive(t *testing.T) {
	onlyWithProvider(t, "amphora", "what is outside its subnet is out of ovn's reach")
	skipOnRealOpenStack(t, "for the cloud these are members like others")
	s := newStage(t, settings{nodes: []string{"a", "b"}})
	first := s.addresses("a", "b")
	_, second := s.secondSubnet(corev1.NodeExternalIP, "a")
	mixed := []string{second[0], first[1]} // b has no other
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(first...))
	visitor := s.visit(address, 8080)

	web.change(annotated(addressTypeKey, "ExternalIP"))
	web.waitForTree(membersAt(mixed...))
	web.waitUntilProgrammed()
	if s.answersThere() {
		s.waitForAnswersThrough(address, 8080, mixed...)
	}
	// A Service that is refused moves no member, and follows the nodes.
	web.change(annotated(addressTypeKey, "internal"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	web.waitForTree(membersAt(mixed...))
	s.changeNodeStatus("a", func(n *corev1.Node) {
		n.Status.Addresses = slices.DeleteFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeExternalIP })
	})
	web.waitForTree(membersAt(first[1]))
	web.change(annotated(addressTypeKey, "InternalIP"))
	web.waitForTree(membersAt(first...))
	web.waitUntilProgrammed()
	s.waitForAnswersThrough(address, 8080, first...)
	if s.answersThere() {
		s.requireNoFailedRequest(visitor)
	}
}
