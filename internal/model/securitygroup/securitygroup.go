// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package securitygroup plans the security groups of the nodes: which rules the Services need, which ports of the
// nodes need the groups, and the operations for the difference to what exists.
//
// It is pure: plain data in, plain data out.
package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// PortKey is a port number on every node.
type PortKey struct {
	Transport lb.Transport `json:"transport"`
	Port      int          `json:"port"`
}

// Rule allows one source to reach one port.
type Rule struct {
	PortKey
	// Source is masked.
	Source netip.Prefix `json:"source"`
}

// String returns the rule as "TCP/30080 from 10.0.0.0/24".
func (r Rule) String() string { return fmt.Sprintf("%s/%d from %s", r.Transport, r.Port, r.Source) }

func compareRules(a, b Rule) int {
	return cmp.Or(ComparePorts(a.PortKey, b.PortKey), a.Source.Addr().Compare(b.Source.Addr()), cmp.Compare(a.Source.Bits(), b.Source.Bits()))
}

// ComparePorts orders ports.
func ComparePorts(a, b PortKey) int {
	return cmp.Or(cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Port, b.Port))
}

// Subnet is a subnet from which load balancers reach nodes.
type Subnet struct {
	CIDR      netip.Prefix
	NetworkID string
}

// Need is the access to the nodes that one Service needs.
type Need struct {
	// Ports take traffic or health checks.
	Ports []PortKey `json:"ports,omitempty"`
	// IPv6 is the family of the members; DualStack means both families.
	IPv6      bool `json:"ipv6,omitempty"`
	DualStack bool `json:"dualStack,omitempty"`
	// FromSubnets means that the load balancer uses an address of its own towards the nodes, which is in one of
	// MemberSubnetIDs or, without any, in the VIP's subnet.
	FromSubnets     bool     `json:"fromSubnets,omitempty"`
	MemberSubnetIDs []string `json:"memberSubnetIDs,omitempty"`
	VIPSubnetID     string   `json:"vipSubnetID,omitempty"`
	// Sources are the clients whose own addresses reach the nodes.
	Sources []netip.Prefix `json:"sources,omitempty"`
	// NodeSelector are the labels of the nodes that need the rules. Empty means all nodes. If the Service has a group
	// of its own, a change of the selector moves the group to other nodes.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// And returns the need together with the ports and the members' subnets of the other need.
func (n Need) And(other Need) Need {
	n.Ports = slices.Concat(n.Ports, other.Ports)
	slices.SortFunc(n.Ports, ComparePorts)
	n.Ports = slices.Compact(n.Ports)
	n.MemberSubnetIDs = slices.Concat(n.MemberSubnetIDs, other.MemberSubnetIDs)
	slices.Sort(n.MemberSubnetIDs)
	n.MemberSubnetIDs = slices.Compact(n.MemberSubnetIDs)
	return n
}

// Placed reports whether the subnets are known from which the nodes will be reached. If only the network of the VIP
// is known, they are not: Octavia chooses the subnet.
func (n Need) Placed() bool {
	return len(n.Ports) == 0 || !n.FromSubnets || len(n.MemberSubnetIDs) > 0 || n.VIPSubnetID != ""
}

// SubnetIDs returns the subnets that Rules needs.
func (n Need) SubnetIDs() []string {
	if !n.FromSubnets {
		return nil
	}
	ids := append(slices.Clone(n.MemberSubnetIDs), n.VIPSubnetID)
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// Rules returns the rules for the need, sorted. ok is false while a required subnet is unknown.
//
// A load balancer has one port per network. If the members' subnet is in the network of the VIP, traffic may come
// from its address in the VIP's subnet.
func (n Need) Rules(known map[string]Subnet) (rules []Rule, ok bool) {
	if !n.Placed() {
		return nil, false
	}
	if len(n.Ports) == 0 {
		return nil, true // the subnets of members that are Pods are not read
	}
	sources := slices.Clone(n.Sources)
	if n.FromSubnets {
		networks := map[string]bool{}
		for _, id := range n.MemberSubnetIDs {
			subnet, found := known[id]
			if !found {
				return nil, false
			}
			networks[subnet.NetworkID] = true
			sources = append(sources, subnet.CIDR)
		}
		vip, found := known[n.VIPSubnetID]
		switch {
		case found && (networks[vip.NetworkID] || len(n.MemberSubnetIDs) == 0):
			sources = append(sources, vip.CIDR)
		case !found && len(n.MemberSubnetIDs) == 0:
			return nil, false
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
