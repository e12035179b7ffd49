// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// TestIPv6ServiceHasAnIPv6VIPAndMembers does without traffic: the simulated
// cloud forwards IPv4 only.
func TestIPv6ServiceHasAnIPv6VIPAndMembers(t *testing.T) {
	skipOnRealOpenStack(t, "a load balancer of both families is made there")
	s := newStage(t, settings{off: true})
	ids := s.cloud.IDs()
	conf := strings.ReplaceAll(s.cloud.CloudConf(), ids.PrivateSubnet, ids.PrivateSubnetV6)
	if err := cloudsim.WriteFile(s.cloudConf(), conf); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.changeNodeStatus("a", func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::a"})
	})
	web := s.service("web", tcp(8080), openTo("2001:db8::/32", "192.0.2.0/24"), func(v *corev1.Service) {
		v.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	})
	address := web.waitUntilProgrammed()
	have := web.waitForTree(all(ports("TCP/8080"), membersAt("fd00::a"), sources("2001:db8::/32")))
	if !parseAddr(t, address).Is6() || address != have.VIP {
		t.Errorf("the Service is at %s, its VIP is %s", address, have.VIP)
	}
	if f := s.cloud.floatingIPs(); len(f) > 0 {
		t.Errorf("floating IPs of IPv6: %+v", f)
	}
	s.changeNodeStatus("b", func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::b"})
	})
	web.waitForTree(membersAt("fd00::a", "fd00::b"))
	web.waitForTree(eachPool(func(p pool) error {
		for _, m := range p.Members {
			if m.Subnet != ids.PrivateSubnetV6 {
				return fmt.Errorf("member %s is in subnet %s", m.Address, m.Subnet)
			}
		}
		return nil
	}))
}

// cloud.conf has one subnet for all Services, usually of IPv4.
func TestAnIPv6ServiceGetsTheIPv6SubnetOfTheNetworkOfCloudConf(t *testing.T) {
	skipOnRealOpenStack(t, "a load balancer of both families is made there")
	s := newStage(t, settings{})
	ids := s.cloud.IDs()
	s.changeNodeStatus("a", func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::a"})
	})
	ipv6 := func(v *corev1.Service) { v.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }
	web := s.service("web", tcp(8080), ipv6)
	address := web.waitUntilProgrammed()
	have := web.waitForTree(all(ports("TCP/8080"), membersAt("fd00::a")))
	if address != have.VIP || have.Subnet != ids.PrivateSubnetV6 {
		t.Errorf("the Service is at %s, its VIP %s is in subnet %s; want subnet %s", address, have.VIP, have.Subnet, ids.PrivateSubnetV6)
	}

	named := s.service("named", tcp(8081), ipv6, annotated(subnetKey, ids.PrivateSubnet))
	c := named.waitForCondition(accepted, conditionFalse, "NoSubnet")
	if !strings.Contains(c.Message, ids.PrivateSubnet) || !strings.Contains(c.Message, ids.PrivateSubnetV6) {
		t.Errorf("the message names neither the subnet nor a better one: %s", c.Message)
	}
	named.change(annotated(subnetKey, ids.PrivateSubnetV6))
	named.waitUntilProgrammed()
}
