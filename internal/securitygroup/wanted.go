// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// OfNodes is what the group is for that serves all Services of a cluster. Any other is for
// one Service, and is known by its uid.
const OfNodes = "nodes"

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

// Sure reports whether it is known which rules the claim comes to.
func (c Claim) Sure(known map[string]Subnet) bool {
	if c.Need == nil {
		return false
	}
	_, ok := c.Need.Rules(known)
	return ok
}

// Wanted is what the groups of the nodes are to be. A group that is not among them is left
// as it is.
type Wanted struct {
	Groups []WantedGroup `json:"groups"`
	// Nodes take traffic, whatever their number is.
	Nodes []Node `json:"nodes"`
}

// WantedGroup is what one group is to be.
type WantedGroup struct {
	// For is OfNodes, or the uid of the Service that the group is for.
	For         string `json:"for"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Rules are sorted.
	Rules []Rule `json:"rules,omitempty"`
	// Keep are ports whose rules stay as they are, such as those of Services of which it is
	// not known what they need.
	Keep []PortKey `json:"keep,omitempty"`
	// Only names the nodes that have the group; nil is for all of them.
	Only []string `json:"only,omitempty"`
	// Held are addresses that are members of pools although none of the nodes has them any
	// more; Unsure is whether there may be others.
	Held   []netip.Addr `json:"held,omitempty"`
	Unsure bool         `json:"unsure,omitempty"`
	// Going is whether the group is to be taken off all ports and deleted. Replaced is whether
	// the others let in what it lets in: then it leaves a port when they are complete, and on it.
	Going    bool `json:"going,omitempty"`
	Replaced bool `json:"replaced,omitempty"`
}

// Claimed returns the rules that the claims come to, and the ports whose rules are left
// alone since it is not known what they have to be.
func Claimed(claims []Claim, known map[string]Subnet) (rules []Rule, keep []PortKey) {
	for _, c := range claims {
		if !c.Sure(known) {
			keep = append(keep, c.Ports...)
			continue
		}
		own, _ := c.Need.Rules(known)
		rules = append(rules, own...)
	}
	slices.SortFunc(rules, compareRules)
	return slices.Compact(rules), keep
}

// takes reports whether the node is one of those that have the group.
func (w WantedGroup) takes(n Node) bool {
	return !w.Going && (w.Only == nil || slices.Contains(w.Only, n.Name))
}
