// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package securitygroup decides what the security groups of the nodes let in: which rules
// are wanted for the Services, which ports of the nodes have to bear the group, and what is
// to be done about the difference to what the cloud has.
//
// It is pure: plain data in, plain data out. It imports lb.
package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// PortKey is a port of every node.
type PortKey struct {
	Transport lb.Transport `json:"transport"`
	Port      int          `json:"port"`
}

// Rule lets one source reach one port.
type Rule struct {
	PortKey
	// Source is where from, without bits beyond its length.
	Source netip.Prefix `json:"source"`
}

// String is the rule as people read it: "TCP/30080 from 10.0.0.0/24".
func (r Rule) String() string { return fmt.Sprintf("%s/%d from %s", r.Transport, r.Port, r.Source) }

func compareRules(a, b Rule) int {
	return cmp.Or(cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Port, b.Port), a.Source.Addr().Compare(b.Source.Addr()),
		cmp.Compare(a.Source.Bits(), b.Source.Bits()))
}

// Subnet is what has to be known of a subnet from which load balancers reach nodes.
type Subnet struct {
	CIDR      netip.Prefix
	NetworkID string
}

// Need is what one Service needs of the nodes: who has to reach which of their ports.
type Need struct {
	// Ports take traffic or health checks.
	Ports []PortKey `json:"ports,omitempty"`
	// IPv6 is whether the members' addresses are, and DualStack whether they are of both
	// families.
	IPv6      bool `json:"ipv6,omitempty"`
	DualStack bool `json:"dualStack,omitempty"`
	// FromSubnets is whether the load balancer reaches the nodes from an address of its own,
	// which is in one of MemberSubnetIDs or, without any, in the VIP's subnet.
	FromSubnets     bool     `json:"fromSubnets,omitempty"`
	MemberSubnetIDs []string `json:"memberSubnetIDs,omitempty"`
	VIPSubnetID     string   `json:"vipSubnetID,omitempty"`
	// Sources are the clients that reach the nodes under their own addresses.
	Sources []netip.Prefix `json:"sources,omitempty"`
}

// Placed reports whether it is known from where the nodes will be reached. While the VIP's
// network alone is, it is not: Octavia chooses the subnet.
func (n Need) Placed() bool {
	return len(n.Ports) == 0 || !n.FromSubnets || len(n.MemberSubnetIDs) > 0 || n.VIPSubnetID != ""
}

// SubnetIDs are the subnets that have to be known for Rules.
func (n Need) SubnetIDs() []string {
	if !n.FromSubnets {
		return nil
	}
	ids := slices.Clone(n.MemberSubnetIDs)
	if n.VIPSubnetID != "" {
		ids = append(ids, n.VIPSubnetID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Rules returns the rules that the need comes to, sorted. ok is false while a subnet is not
// known that has to be.
//
// A load balancer has one port in each network, so where the members' subnet is in the
// VIP's network, it may as well use its address in the VIP's subnet.
func (n Need) Rules(known map[string]Subnet) (rules []Rule, ok bool) {
	if !n.Placed() {
		return nil, false
	}
	sources := slices.Clone(n.Sources)
	if n.FromSubnets {
		networks := map[string]bool{}
		for _, id := range n.MemberSubnetIDs {
			subnet, there := known[id]
			if !there {
				return nil, false
			}
			networks[subnet.NetworkID] = true
			sources = append(sources, subnet.CIDR)
		}
		vip, there := known[n.VIPSubnetID]
		switch {
		case there && (networks[vip.NetworkID] || len(n.MemberSubnetIDs) == 0):
			sources = append(sources, vip.CIDR)
		case !there && len(n.MemberSubnetIDs) == 0:
			return nil, len(n.Ports) == 0
		}
	}
	for _, port := range n.Ports {
		for _, source := range sources {
			if n.DualStack || source.Addr().Is4() != n.IPv6 {
				rules = append(rules, Rule{port, source.Masked()})
			}
		}
	}
	slices.SortFunc(rules, compareRules)
	return slices.Compact(rules), true
}
