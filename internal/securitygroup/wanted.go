// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// Node is one that takes the load balancers' traffic.
type Node struct {
	Name string `json:"name"`
	// ServerID is the id of its server, or "" where the node does not tell.
	ServerID string `json:"serverID,omitempty"`
	// Addresses are those that are members of pools.
	Addresses []netip.Addr `json:"addresses"`
}

// Claim is what one Service claims of the group.
type Claim struct {
	// Need is nil while it is not known, as before the first pass over the Service.
	Need *Need
	// Ports are those of the nodes that the Service has, whatever is known of it.
	Ports []PortKey
}

// Wanted is what the cluster's group is to be.
type Wanted struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Rules are sorted.
	Rules []Rule `json:"rules"`
	// Keep are ports of Services of which it is not known what they need: their rules stay
	// as they are.
	Keep []PortKey `json:"keep,omitempty"`
	// Nodes take traffic, whatever their number is. Held are addresses that are members of
	// pools although none of these nodes has them any more; Unsure is whether there may be
	// others.
	Nodes  []Node       `json:"nodes"`
	Held   []netip.Addr `json:"held,omitempty"`
	Unsure bool         `json:"unsure,omitempty"`
}

// Claimed returns the rules that the claims come to, and the ports whose rules are left
// alone since it is not known what they have to be.
func Claimed(claims []Claim, known map[string]Subnet) (rules []Rule, keep []PortKey) {
	for _, c := range claims {
		var own []Rule
		sure := false
		if c.Need != nil {
			own, sure = c.Need.Rules(known)
		}
		if !sure {
			keep = append(keep, c.Ports...)
			continue
		}
		rules = append(rules, own...)
	}
	slices.SortFunc(rules, compareRules)
	return slices.Compact(rules), keep
}
