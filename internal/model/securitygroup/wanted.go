// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// OfNodes is the purpose of the group for all Services of a cluster. A group for one Service has its uid as
// purpose.
const OfNodes = "nodes"

// Node is a node that takes traffic of load balancers.
type Node struct {
	Name string `json:"name"`
	// ServerID is the id of its server, or "" if unknown.
	ServerID string `json:"serverID,omitempty"`
	// Addresses are those that are members of pools.
	Addresses []netip.Addr `json:"addresses"`
}

// Claim is what one Service requires from the group.
type Claim struct {
	// Need is nil if unknown, as before the first pass over the Service.
	Need *Need
	// Ports are the node ports of the Service, which are always known. OtherPorts means that the Service may need more
	// ports, those of Pods, which only Need contains.
	Ports      []PortKey
	OtherPorts bool
}

// Sure reports whether the rules for the claim are known.
func (c Claim) Sure(known map[string]Subnet) bool {
	if c.Need == nil {
		return false
	}
	_, ok := c.Need.Rules(known)
	return ok
}

// Wanted is the desired state. Groups that it does not list stay as they are.
type Wanted struct {
	Groups []WantedGroup `json:"groups"`
	Nodes  []Node        `json:"nodes"`
}

// WantedGroup is the desired state of one group.
type WantedGroup struct {
	// For is the purpose: OfNodes, or the uid of a Service.
	For         string `json:"for"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Rules are sorted.
	Rules []Rule `json:"rules,omitempty"`
	// Keep are ports whose rules stay as they are, because the needs of their Services are unknown.
	Keep []PortKey `json:"keep,omitempty"`
	// KeepAll leaves the rules of all ports as they are, because it is unknown which ports Services need.
	KeepAll bool `json:"keepAll,omitempty"`
	// Only names the nodes that have the group; nil means all.
	Only []string `json:"only,omitempty"`
	// Held are addresses that are pool members although no node has them any more: their ports keep the group.
	// Unsure means that there may be more.
	Held   []netip.Addr `json:"held,omitempty"`
	Unsure bool         `json:"unsure,omitempty"`
	// Stays leaves the group on all ports that have it, because it is unknown which other nodes need it.
	Stays bool `json:"stays,omitempty"`
	// Delete removes the group from all ports and deletes it. Replaced means that other groups allow the same: the
	// group is removed from a port once the other groups are complete and on the port. If the group is not deleted,
	// because some of its rules are kept, its other rules are removed once the other groups are on all its ports.
	Delete   bool `json:"delete,omitempty"`
	Replaced bool `json:"replaced,omitempty"`
}

// Claimed returns the rules for the claims, and in keep the ports whose rules stay, because it is unknown which rules
// they need. keepAll means that the rules of all ports stay, because even these ports are unknown.
func Claimed(claims []Claim, known map[string]Subnet) (rules []Rule, keep []PortKey, keepAll bool) {
	for _, c := range claims {
		if !c.Sure(known) {
			keep, keepAll = append(keep, c.Ports...), keepAll || c.OtherPorts
			continue
		}
		own, _ := c.Need.Rules(known)
		rules = append(rules, own...)
	}
	slices.SortFunc(rules, compareRules)
	return slices.Compact(rules), keep, keepAll
}

// takes reports whether the node gets the group.
func (w WantedGroup) takes(n Node) bool {
	return !w.Delete && (w.Only == nil || slices.Contains(w.Only, n.Name))
}
