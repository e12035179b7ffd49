// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// Diff returns what there is to do, in the order in which nothing is cut off that is
// wanted: what lets in comes before what shuts out. A group that is yet to be made is the
// only op; the others follow when it has an id.
//
// The group is all ours: rules in it that are not wanted go, whoever made them, those that
// let everything out included, which would undo another group's restriction. What is not
// known is left as it is: rules on ports to be kept and, where the nodes or the members of
// pools are not known for sure, the group on ports.
func Diff(wanted Wanted, observed Observed) []Op {
	group, there := observed.Main()
	if !there {
		if len(wanted.Rules) == 0 {
			return nil
		}
		return []Op{CreateGroup{Name: wanted.Name, Description: wanted.Description}}
	}
	var ops []Op
	if missing := missingRules(wanted.Rules, group); len(missing) > 0 {
		ops = append(ops, AddRules{GroupID: group.ID, Rules: missing})
	}
	joins, leaves := portChanges(wanted, observed, group.ID)
	ops = append(ops, joins...)
	for _, r := range group.Rules {
		kept := !r.Odd && (slices.Contains(wanted.Rules, r.Rule) || slices.Contains(wanted.Keep, r.PortKey))
		if !kept {
			ops = append(ops, RemoveRule{GroupID: group.ID, Rule: r})
		}
	}
	ops = append(ops, leaves...)
	for _, g := range observed.Groups {
		inUse := slices.ContainsFunc(observed.Ports, func(p Port) bool { return slices.Contains(p.Groups, g.ID) })
		if g.ID != group.ID && !inUse {
			ops = append(ops, DeleteGroup{ID: g.ID})
		}
	}
	return ops
}

func missingRules(wanted []Rule, group Group) []Rule {
	var missing []Rule
	for _, r := range wanted {
		if !slices.ContainsFunc(group.Rules, func(f FoundRule) bool { return !f.Odd && f.Rule == r }) {
			missing = append(missing, r)
		}
	}
	return missing
}

// portChanges puts the group on the ports of the nodes, in the place of others of the
// cluster's, and takes it off the rest.
func portChanges(wanted Wanted, observed Observed, groupID string) (joins, leaves []Op) {
	var members []netip.Addr
	for _, n := range wanted.Nodes {
		members = append(members, n.Addresses...)
	}
	for _, p := range observed.Ports {
		if p.Unprotected {
			continue
		}
		serves := slices.ContainsFunc(wanted.Nodes, func(n Node) bool { return n.ServerID == p.ServerID && p.has(n.Addresses) })
		// A node that does not tell its server may have the port, too.
		stays := serves || wanted.Unsure || len(wanted.Nodes) == 0 || p.has(members) || p.has(wanted.Held)
		next := slices.DeleteFunc(slices.Clone(p.Groups), func(id string) bool {
			return id != groupID && slices.ContainsFunc(observed.Groups, func(g Group) bool { return g.ID == id })
		})
		switch had := slices.Contains(p.Groups, groupID); {
		case had && !stays:
			next = slices.DeleteFunc(next, func(id string) bool { return id == groupID })
			leaves = append(leaves, SetGroups{Port: p, Groups: next})
		case !had && (serves || len(next) < len(p.Groups)):
			joins = append(joins, SetGroups{Port: p, Groups: append(next, groupID)})
		case len(next) < len(p.Groups):
			leaves = append(leaves, SetGroups{Port: p, Groups: next})
		}
	}
	return joins, leaves
}

// Leaving tells whether a port bears the group of a node that takes no traffic any more,
// and keeps it only because load balancers may still send some there.
func Leaving(wanted Wanted, observed Observed) bool {
	sure := wanted
	sure.Held, sure.Unsure = nil, false
	return len(Diff(sure, observed)) > len(Diff(wanted, observed))
}
