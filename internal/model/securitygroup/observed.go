// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"cmp"
	"net/netip"
	"slices"
)

// Observed is the state of the cloud.
type Observed struct {
	// Groups are those of the cluster and its Services: one per purpose, or several after a create whose answer was
	// lost.
	Groups []Group `json:"groups"`
	// Ports are those that have one of the groups, and those of the nodes' servers.
	Ports []Port `json:"ports"`
}

// Group is an existing security group.
type Group struct {
	// For is the purpose of the group: see WantedGroup.
	For         string      `json:"for"`
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Rules       []FoundRule `json:"rules"`
}

// FoundRule is an existing rule.
type FoundRule struct {
	ID string `json:"id"`
	Rule
	// Foreign is set for a rule of a form that this controller never creates: Rule is meaningless
	// then.
	Foreign bool `json:"foreign,omitempty"`
}

// Port is a Neutron port of a server.
type Port struct {
	ID        string       `json:"id"`
	ServerID  string       `json:"serverID"`
	Addresses []netip.Addr `json:"addresses"`
	// Groups are the ids of all security groups of the port, in order.
	Groups []string `json:"groups"`
	// Revision is Neutron's revision number.
	Revision int `json:"revision"`
	// Unprotected means that port security is off: the port can have no security groups.
	Unprotected bool `json:"unprotected,omitempty"`
}

// has reports whether the port has one of the addresses.
func (p Port) has(addresses []netip.Addr) bool {
	return slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
}

// PortOf returns the ports that take the traffic of the node.
func (o Observed) PortOf(n Node) (found []Port) {
	for _, p := range o.Ports {
		if n.ServerID != "" && p.ServerID == n.ServerID && p.has(n.Addresses) {
			found = append(found, p)
		}
	}
	return found
}

// HasPorts reports whether the ports of all addresses of the node were found.
func (o Observed) HasPorts(n Node) bool {
	ports := o.PortOf(n)
	return !slices.ContainsFunc(n.Addresses, func(a netip.Addr) bool {
		return !slices.ContainsFunc(ports, func(p Port) bool { return slices.Contains(p.Addresses, a) })
	})
}

// Main returns the group in use for a purpose. If there are several, it is the one with the most rules.
func (o Observed) Main(purpose string) (main Group, exists bool) {
	for _, g := range o.Groups {
		better := !exists || cmp.Or(len(g.Rules)-len(main.Rules), cmp.Compare(main.ID, g.ID)) > 0
		if g.For == purpose && better {
			main, exists = g, true
		}
	}
	return main, exists
}

// HasRules reports whether the group in use for a purpose has all the rules.
func (o Observed) HasRules(purpose string, rules []Rule) bool {
	group, _ := o.Main(purpose)
	return len(missingRules(rules, group)) == 0
}
