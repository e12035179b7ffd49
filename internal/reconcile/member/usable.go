// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Addresses that lead to no node from anywhere.
var (
	// metadataV4 and metadataV6 are the addresses of the metadata service. Octavia refuses the first as a member, and with it
	// the whole request.
	metadataV4 = netip.MustParseAddr("169.254.169.254")
	metadataV6 = netip.MustParseAddr("fe80::a9fe:a9fe")
	broadcast  = netip.MustParseAddr("255.255.255.255")
	// ownHost are the addresses by which systems name themselves, such as 127.0.0.1 and 127.0.1.1.
	ownHost = netip.MustParsePrefix("127.0.0.0/16")
)

// usable reports whether a load balancer that reaches its members from the subnet can send to an address. Link-local
// addresses are usable only inside of the subnet. All others outside of it are: a router may lead there. That is true of
// loopback addresses only if the subnet has such addresses, too, as when a cloud runs on one machine.
//
// If the subnet is not known, which is an invalid prefix, an address that may be inside of it is usable.
func usable(a netip.Addr, subnet netip.Prefix) bool {
	switch {
	case a.IsUnspecified(), a.IsMulticast(), a == broadcast, a == metadataV4, a == metadataV6:
		return false
	case subnet.Contains(a):
		return !marksSubnet(a, subnet)
	case a.IsLoopback():
		return a.Is4() && !ownHost.Contains(a) && (!subnet.IsValid() || subnet.Addr().IsLoopback())
	}
	return !a.IsLinkLocalUnicast()
}

// marksSubnet reports whether an address is the network or the broadcast address of an IPv4 subnet. Subnets of one or two
// addresses have none.
func marksSubnet(a netip.Addr, subnet netip.Prefix) bool {
	if !a.Is4() || subnet.Bits() >= a.BitLen()-1 {
		return false
	}
	return a == subnet.Masked().Addr() || !subnet.Contains(a.Next())
}

// LeftOut is a node that should take traffic and has only addresses of the family to which no load balancer can send.
type LeftOut struct {
	Node string
	// Addresses are at least one.
	Addresses []netip.Addr
}

// Text returns the addresses for a message.
func (l LeftOut) Text() string {
	texts := make([]string, len(l.Addresses))
	for i, a := range l.Addresses {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// Unusable returns the nodes that are left out because of their addresses, in the order of the nodes. Nodes without an
// address of the family are not among them.
func Unusable(nodes []corev1.Node, c Choice) (all []LeftOut) {
	for i := range nodes {
		node := &nodes[i]
		if excluded(node) || len(c.usable(candidates(node, c.Family))) > 0 {
			continue
		}
		left := LeftOut{Node: node.Name}
		for _, a := range candidates(node, c.Family) {
			left.Addresses = append(left.Addresses, a.address)
		}
		if len(left.Addresses) > 0 {
			all = append(all, left)
		}
	}
	return all
}

// usable returns the candidates to which a load balancer can send.
func (c Choice) usable(all []candidate) []candidate {
	some := make([]candidate, 0, len(all))
	for _, a := range all {
		if usable(a.address, c.Subnet) {
			some = append(some, a)
		}
	}
	return some
}
