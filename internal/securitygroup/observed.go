// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"cmp"
	"net/netip"
	"slices"
)

// Observed is what the cloud has.
type Observed struct {
	// Groups are those of the cluster, and those of its Services: one for each use, or several
	// after a create whose answer was lost.
	Groups []Group `json:"groups"`
	// Ports are all that bear one of the groups, and those of the nodes' servers that were
	// looked for.
	Ports []Port `json:"ports"`
}

// Group is a security group that is there.
type Group struct {
	// For is what the group is for: see WantedGroup.
	For         string      `json:"for"`
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Rules       []FoundRule `json:"rules"`
}

// FoundRule is a rule that is there.
type FoundRule struct {
	ID string `json:"id"`
	Rule
	// Odd is whether it says something that no rule of ours says: Rule means nothing then.
	Odd bool `json:"odd,omitempty"`
}

// Port is a Neutron port of a server.
type Port struct {
	ID        string       `json:"id"`
	ServerID  string       `json:"serverID"`
	Addresses []netip.Addr `json:"addresses"`
	// Groups are the ids of all security groups on it, in their order.
	Groups []string `json:"groups"`
	// Revision is the number of its last change.
	Revision int `json:"revision"`
	// Unprotected is whether port security is off: security groups filter nothing there, and
	// none can be set.
	Unprotected bool `json:"unprotected,omitempty"`
}

// has reports whether the port has one of the addresses.
func (p Port) has(addresses []netip.Addr) bool {
	return slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
}

// PortOf returns the ports that take the node's traffic.
func (o Observed) PortOf(n Node) (found []Port) {
	for _, p := range o.Ports {
		if n.ServerID != "" && p.ServerID == n.ServerID && p.has(n.Addresses) {
			found = append(found, p)
		}
	}
	return found
}

// HasPorts reports whether the ports of all addresses of the node are among those that are there.
func (o Observed) HasPorts(n Node) bool {
	ports := o.PortOf(n)
	return !slices.ContainsFunc(n.Addresses, func(a netip.Addr) bool {
		return !slices.ContainsFunc(ports, func(p Port) bool { return slices.Contains(p.Addresses, a) })
	})
}

// Main returns the group that is used for it: of several, that which has the most rules.
func (o Observed) Main(use string) (main Group, there bool) {
	for _, g := range o.Groups {
		better := !there || cmp.Or(len(g.Rules)-len(main.Rules), cmp.Compare(main.ID, g.ID)) > 0
		if g.For == use && better {
			main, there = g, true
		}
	}
	return main, there
}

// Lets reports whether the group that is used for it has all of the rules.
func (o Observed) Lets(use string, rules []Rule) bool {
	group, _ := o.Main(use)
	for _, r := range rules {
		if !slices.ContainsFunc(group.Rules, func(f FoundRule) bool { return !f.Odd && f.Rule == r }) {
			return false
		}
	}
	return true
}
