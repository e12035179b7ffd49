// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// Diff returns the operations that lead from observed to wanted. New access comes before access that is removed, so
// that nothing wanted is cut off. If a group has yet to be created, the operations on it are planned once it has an id.
//
// All groups are ours: unwanted rules are removed, regardless of which client created them. This includes the default
// rules that allow all egress, because they would undo another group's restriction. Nothing changes where the need is
// unknown: groups that are neither wanted nor to be deleted, rules on ports in Keep, and the groups of ports while the
// nodes or pool members are not certain.
//
// Each port is written once, however many groups it gains or loses.
func Diff(wanted Wanted, observed Observed) []Op {
	var allows []Op
	for _, w := range wanted.Groups {
		group, exists := observed.Main(w.For)
		switch {
		case w.Delete:
		case !exists && len(w.Rules) > 0:
			allows = append(allows, CreateGroup{For: w.For, Name: w.Name, Description: w.Description})
		case exists:
			if missing := missingRules(w.Rules, group); len(missing) > 0 {
				allows = append(allows, AddRules{GroupID: group.ID, Rules: missing})
			}
		}
	}
	ports := nodePorts(wanted, observed, len(allows) == 0)
	joins, leaves := portChanges(wanted, observed, ports)
	return slices.Concat(allows, joins, denials(wanted, observed, ports), leaves, deletions(wanted, observed))
}

// denials removes rules that are not wanted. Rules that other groups replace stay until these groups have replaced them
// on each port.
func denials(wanted Wanted, observed Observed, ports []nodePort) (ops []Op) {
	for _, w := range wanted.Groups {
		group, exists := observed.Main(w.For)
		if !exists || w.Delete {
			continue
		}
		keepAll := w.KeepAll || w.Replaced && slices.ContainsFunc(ports, func(at nodePort) bool {
			return slices.Contains(at.port.Groups, group.ID) && !at.replaces(w)
		})
		for _, r := range group.Rules {
			if r.Foreign || !slices.Contains(w.Rules, r.Rule) && !keepAll && !slices.Contains(w.Keep, r.PortKey) {
				ops = append(ops, RemoveRule{GroupID: group.ID, Rule: r})
			}
		}
	}
	return ops
}

// missingRules returns the wanted rules that the group lacks.
func missingRules(wanted []Rule, group Group) []Rule {
	var missing []Rule
	for _, r := range wanted {
		if !slices.ContainsFunc(group.Rules, func(f FoundRule) bool { return !f.Foreign && f.Rule == r }) {
			missing = append(missing, r)
		}
	}
	return missing
}

// deletions deletes groups that no port has: those to be deleted, and duplicates.
func deletions(wanted Wanted, observed Observed) (ops []Op) {
	used := map[string]bool{}
	for _, p := range observed.Ports {
		for _, id := range p.Groups {
			used[id] = true
		}
	}
	for _, w := range wanted.Groups {
		main, _ := observed.Main(w.For)
		for _, g := range observed.Groups {
			if g.For == w.For && (w.Delete || g.ID != main.ID) && !used[g.ID] {
				ops = append(ops, DeleteGroup{ID: g.ID, Name: g.Name})
			}
		}
	}
	return ops
}

// nodePorts returns the ports whose groups matter. Complete is whether the groups have all their rules.
func nodePorts(wanted Wanted, observed Observed, complete bool) (all []nodePort) {
	roles, mains := rolesOf(wanted, observed)
	byAddress := wanted.byAddress()
	for _, p := range observed.Ports {
		if p.Unprotected {
			continue
		}
		at := nodePort{port: p, noNodes: len(wanted.Nodes) == 0}
		for _, a := range p.Addresses {
			at.nodes = append(at.nodes, byAddress[a]...)
		}
		at.lacks = at.missing(wanted, mains, roles)
		at.covered = complete && len(at.lacks) == 0
		all = append(all, at)
	}
	return all
}

// portChanges adds groups to the ports of the nodes, in place of duplicates, and removes them from other ports.
func portChanges(wanted Wanted, observed Observed, ports []nodePort) (joins, leaves []Op) {
	roles, _ := rolesOf(wanted, observed)
	for _, at := range ports {
		next := slices.DeleteFunc(slices.Clone(at.port.Groups), func(id string) bool {
			r, known := roles[id]
			return known && !at.keeps(r)
		})
		switch {
		case len(at.lacks) > 0:
			joins = append(joins, SetGroups{Port: at.port, Groups: append(next, at.lacks...)})
		case len(next) < len(at.port.Groups):
			leaves = append(leaves, SetGroups{Port: at.port, Groups: next})
		}
	}
	return joins, leaves
}

// role is the purpose of an existing group. A duplicate exists in addition to the main group of its purpose.
type role struct {
	*WantedGroup
	main      string
	duplicate bool
}

// rolesOf returns the roles by group id, and the main group of each wanted group.
func rolesOf(wanted Wanted, observed Observed) (roles map[string]role, mains []string) {
	byUse := map[string]role{}
	mains = make([]string, len(wanted.Groups))
	for i := range wanted.Groups {
		w := &wanted.Groups[i]
		main, _ := observed.Main(w.For)
		mains[i] = main.ID
		byUse[w.For] = role{WantedGroup: w, main: main.ID}
	}
	roles = map[string]role{}
	for _, g := range observed.Groups {
		if r, known := byUse[g.For]; known {
			r.duplicate = g.ID != r.main
			roles[g.ID] = r
		}
	}
	return roles, mains
}

// nodePort is a port and the nodes that may have it.
type nodePort struct {
	port    Port
	nodes   []Node // those with an address of the port
	noNodes bool   // the cluster has no nodes
	lacks   []string
	covered bool // the port lacks no group, and all are complete
}

// missing returns the groups that the port lacks.
func (at nodePort) missing(wanted Wanted, mains []string, roles map[string]role) (ids []string) {
	has := map[string]bool{}
	replaces := map[string]bool{}
	for _, id := range at.port.Groups {
		has[id] = true
		if r, known := roles[id]; known && r.duplicate && !r.Delete {
			replaces[r.main] = true
		}
	}
	for i, w := range wanted.Groups {
		if main := mains[i]; main != "" && !has[main] && (at.serves(w) || replaces[main]) {
			ids = append(ids, main)
		}
	}
	return ids
}

// serves reports whether the port belongs to a node that gets the group.
func (at nodePort) serves(w WantedGroup) bool {
	return slices.ContainsFunc(at.nodes, func(n Node) bool { return n.ServerID == at.port.ServerID && n.ServerID != "" && w.takes(n) })
}

// keeps reports whether the port keeps a group that it has.
func (at nodePort) keeps(r role) bool {
	switch {
	case r.Delete && r.Replaced:
		return !at.replaces(*r.WantedGroup)
	case r.Delete, r.duplicate:
		return false
	}
	return at.holds(*r.WantedGroup) || r.Stays || at.noNodes || slices.ContainsFunc(at.nodes, r.takes)
}

// holds reports whether the port has, or may have, an address that is a pool member although no node has it any more.
func (at nodePort) holds(w WantedGroup) bool { return w.Unsure || at.port.has(w.Held) }

// replaces reports whether other groups of the port allow what a replaced group allows there.
func (at nodePort) replaces(w WantedGroup) bool {
	ours := slices.ContainsFunc(at.nodes, func(n Node) bool { return n.ServerID == at.port.ServerID })
	// A node with an unknown server may have the port, too. If the cluster has no nodes, the group need not stay:
	// no pool has a member at the port then, and nodes that return get the groups that replace it.
	return at.covered && (ours || !at.holds(w) && len(at.nodes) == 0)
}

// byAddress returns the nodes by address.
func (w Wanted) byAddress() map[netip.Addr][]Node {
	all := map[netip.Addr][]Node{}
	for _, n := range w.Nodes {
		for _, a := range n.Addresses {
			all[a] = append(all[a], n)
		}
	}
	return all
}

// Draining reports whether a port of a node that no longer takes traffic keeps a group for the only reason that load
// balancers may still send traffic there.
func Draining(wanted Wanted, observed Observed) bool {
	sure := wanted
	sure.Groups = slices.Clone(wanted.Groups)
	for i := range sure.Groups {
		sure.Groups[i].Held, sure.Groups[i].Unsure = nil, false
	}
	return len(Diff(sure, observed)) > len(Diff(wanted, observed))
}
