// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzNodes reads nodes with addresses of any form: a line for each node, its
// words the addresses, every other one an ExternalIP.
func FuzzNodes(f *testing.F) {
	f.Add("10.0.0.1\n10.0.0.2 192.0.2.1\n2001:db8::1 x 10.0.0.3", true)
	f.Add("::ffff:10.0.0.1\nfe80::1%eth0\n010.0.0.1\n0.0.0.0\n", false)
	f.Add("169.254.169.254 10.0.0.9\n127.0.0.1\n224.0.0.1\n10.0.0.255\n169.254.1.1", false)
	f.Fuzz(func(t *testing.T, text string, v6 bool) {
		family := corev1.IPv4Protocol
		if v6 {
			family = corev1.IPv6Protocol
		}
		nodes := parseNodes(text)
		choice := Choice{Family: family, Subnet: netip.MustParsePrefix("10.0.0.0/24")}
		targets, addressless := Nodes(nodes, choice)
		if len(targets)+len(addressless) != len(nodes) {
			t.Errorf("%d targets and %d nodes without an address of %d nodes", len(targets), len(addressless), len(nodes))
		}
		for _, target := range targets {
			a := target.Address
			if !a.IsValid() || a.Zone() != "" || a.Is4In6() || a.Is4() == v6 {
				t.Errorf("target %v for family %s", a, family)
			}
			if a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.IsLoopback() {
				t.Errorf("no load balancer can send to target %v", a)
			}
			if again, err := netip.ParseAddr(a.String()); err != nil || again != a {
				t.Errorf("%v is not read again: %v", a, err)
			}
		}
		slices.Reverse(nodes)
		if again, _ := Nodes(nodes, choice); !slices.Equal(targets, again) {
			t.Errorf("%v, and in another order %v", targets, again)
		}
		for i := range nodes {
			if !SameNode(&nodes[i], &nodes[i]) {
				t.Errorf("%+v is not like itself", nodes[i])
			}
		}
	})
}

func parseNodes(text string) []corev1.Node {
	var nodes []corev1.Node
	for i, line := range strings.SplitN(text, "\n", 10) {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}}
		for j, address := range strings.Split(line, " ") {
			kind := corev1.NodeInternalIP
			if j%2 == 1 {
				kind = corev1.NodeExternalIP
			}
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
		}
		nodes = append(nodes, node)
	}
	return nodes
}
