// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"net/netip"
	"slices"
)

// Diff returns what there is to do, in the order in which nothing is cut off that is
// wanted: what lets in comes before what shuts out. What is to be done with a group that is
// yet to be made follows when it has an id.
//
// The groups are all ours: rules in them that are not wanted go, whoever made them, those
// that let everything out included, which would undo another group's restriction. What is not
// known is left as it is: groups that are not wanted and not said to go, rules on ports to be
// kept and, where the nodes or the members of pools are not known for sure, groups on ports.
//
// A port is written to once, however many groups come or go on it.
func Diff(wanted Wanted, observed Observed) []Op {
	var lets, shuts []Op
	for _, w := range wanted.Groups {
		group, there := observed.Main(w.For)
		switch {
		case w.Going:
		case !there && len(w.Rules) > 0:
			lets = append(lets, CreateGroup{For: w.For, Name: w.Name, Description: w.Description})
		case there:
			if missing := missingRules(w.Rules, group); len(missing) > 0 {
				lets = append(lets, AddRules{GroupID: group.ID, Rules: missing})
			}
			for _, r := range group.Rules {
				if r.Odd || !slices.Contains(w.Rules, r.Rule) && !slices.Contains(w.Keep, r.PortKey) {
					shuts = append(shuts, RemoveRule{GroupID: group.ID, Rule: r})
				}
			}
		}
	}
	joins, leaves := portChanges(wanted, observed, len(lets) == 0)
	return slices.Concat(lets, joins, shuts, leaves, deletions(wanted, observed))
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

// deletions are those of groups that no port has any more: of those that are to go, and of
// second ones.
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
			if g.For == w.For && (w.Going || g.ID != main.ID) && !used[g.ID] {
				ops = append(ops, DeleteGroup{ID: g.ID, Name: g.Name})
			}
		}
	}
	return ops
}

// portChanges puts groups on the ports of the nodes, in the place of second ones, and takes
// them off the rest. Complete is whether the groups have all of their rules.
func portChanges(wanted Wanted, observed Observed, complete bool) (joins, leaves []Op) {
	roles, mains := rolesOf(wanted, observed)
	byAddress := wanted.byAddress()
	for _, p := range observed.Ports {
		if p.Unprotected {
			continue
		}
		at := place{port: p, nobody: len(wanted.Nodes) == 0}
		for _, a := range p.Addresses {
			at.nodes = append(at.nodes, byAddress[a]...)
		}
		missing := at.missing(wanted, mains, roles)
		at.covered = complete && len(missing) == 0
		next := slices.DeleteFunc(slices.Clone(p.Groups), func(id string) bool {
			r, known := roles[id]
			return known && !at.keeps(r)
		})
		switch {
		case len(missing) > 0:
			joins = append(joins, SetGroups{Port: p, Groups: append(next, missing...)})
		case len(next) < len(p.Groups):
			leaves = append(leaves, SetGroups{Port: p, Groups: next})
		}
	}
	return joins, leaves
}

// role is what a group that is there is to be. A second one is there beside the one that is
// used.
type role struct {
	*WantedGroup
	main   string
	second bool
}

// rolesOf are the roles by the id of the group, and which group is used for each that is
// wanted.
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
			r.second = g.ID != r.main
			roles[g.ID] = r
		}
	}
	return roles, mains
}

// place is a port, and what is known of who has it.
type place struct {
	port Port
	// nodes have an address of the port, nobody is whether there are no nodes at all.
	nodes  []Node
	nobody bool
	// covered is whether all that is to be on the port is there, and complete.
	covered bool
}

// missing are the groups that are to be on the port and are not.
func (at place) missing(wanted Wanted, mains []string, roles map[string]role) (ids []string) {
	has := map[string]bool{}
	replaces := map[string]bool{}
	for _, id := range at.port.Groups {
		has[id] = true
		if r, known := roles[id]; known && r.second && !r.Going {
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

// serves reports whether a node of the group's has the port.
func (at place) serves(w WantedGroup) bool {
	return slices.ContainsFunc(at.nodes, func(n Node) bool { return n.ServerID == at.port.ServerID && n.ServerID != "" && w.takes(n) })
}

// keeps reports whether a group that is on the port stays there.
func (at place) keeps(r role) bool {
	held := r.Unsure || at.port.has(r.Held)
	switch {
	case r.Going && r.Replaced:
		ours := slices.ContainsFunc(at.nodes, func(n Node) bool { return n.ServerID == at.port.ServerID })
		// A node that does not tell its server may have the port, too.
		return !at.covered || !ours && (held || len(at.nodes) > 0 || at.nobody)
	case r.Going, r.second:
		return false
	}
	return held || at.nobody || slices.ContainsFunc(at.nodes, r.takes)
}

// byAddress are the nodes by their addresses.
func (w Wanted) byAddress() map[netip.Addr][]Node {
	all := map[netip.Addr][]Node{}
	for _, n := range w.Nodes {
		for _, a := range n.Addresses {
			all[a] = append(all[a], n)
		}
	}
	return all
}

// Leaving reports whether a port bears the group of a node that takes no traffic any more,
// and keeps it only because load balancers may still send some there.
func Leaving(wanted Wanted, observed Observed) bool {
	sure := wanted
	sure.Groups = slices.Clone(wanted.Groups)
	for i := range sure.Groups {
		sure.Groups[i].Held, sure.Groups[i].Unsure = nil, false
	}
	return len(Diff(sure, observed)) > len(Diff(wanted, observed))
}
