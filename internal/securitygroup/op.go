// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"fmt"
	"slices"
	"strings"
)

// Op is one write to Neutron. Its String says in a line what it does.
type Op interface{ fmt.Stringer }

// Kind is the op's type for metrics: "AddSecurityGroupRules".
func Kind(op Op) string {
	switch op.(type) {
	case CreateGroup:
		return "CreateSecurityGroup"
	case AddRules:
		return "AddSecurityGroupRules"
	case RemoveRule:
		return "RemoveSecurityGroupRule"
	case SetGroups:
		return "SetSecurityGroups"
	}
	return "DeleteSecurityGroup"
}

// CreateGroup makes a security group.
type CreateGroup struct {
	// For is what the group is for: see WantedGroup.
	For, Name, Description string
}

// AddRules adds rules to a group, all or none.
type AddRules struct {
	GroupID string
	Rules   []Rule
}

// InPlaceOf reports whether the rules come in the place of one that is there: for a port of
// theirs, or for ports that are not told. Unless they are there, that one is to stay.
func (o AddRules) InPlaceOf(there FoundRule) bool {
	return slices.ContainsFunc(o.Rules, func(r Rule) bool { return there.Odd || r.PortKey == there.PortKey })
}

// RemoveRule takes a rule away.
type RemoveRule struct {
	GroupID string
	Rule    FoundRule
}

// SetGroups gives a port these security groups in place of those it has, provided that
// nobody has changed it since it was read.
type SetGroups struct {
	// Port is the port as it was read.
	Port   Port
	Groups []string
}

// DeleteGroup deletes a group that no port has.
type DeleteGroup struct {
	ID, Name string
}

// String implements Op.
func (o CreateGroup) String() string { return "create security group " + o.Name }

// String implements Op.
func (o AddRules) String() string {
	texts := make([]string, len(o.Rules))
	for i, r := range o.Rules {
		texts[i] = r.String()
	}
	return "let in " + strings.Join(texts, ", ")
}

// String implements Op.
func (o RemoveRule) String() string {
	if o.Rule.Odd {
		return "remove rule " + o.Rule.ID + ", which is none of ours"
	}
	return "do not let in " + o.Rule.String()
}

// String implements Op.
func (o SetGroups) String() string {
	verb, where, n := "put", "on", others(o.Groups, o.Port.Groups)
	if n == 0 {
		verb, where, n = "take", "off", others(o.Port.Groups, o.Groups)
	}
	what := "the security group"
	if n > 1 {
		what = fmt.Sprintf("%d security groups", n)
	}
	return fmt.Sprintf("%s %s %s port %s of server %s", verb, what, where, o.Port.ID, o.Port.ServerID)
}

// others counts what is in a and not in b.
func others(a, b []string) (n int) {
	for _, id := range a {
		if !slices.Contains(b, id) {
			n++
		}
	}
	return n
}

// String implements Op.
func (o DeleteGroup) String() string {
	return fmt.Sprintf("delete security group %s (%s)", o.Name, o.ID)
}

// Made is what an op made.
type Made struct {
	// Group is a new group, with the rules that Neutron gave it.
	Group Group
	// Rules are new rules.
	Rules []FoundRule
	// Port is a port as it is after the change.
	Port Port
}

// After returns what the cloud has once the op is carried out. It does not touch o.
func (o Observed) After(op Op, made Made) Observed {
	next := Observed{Groups: slices.Clone(o.Groups), Ports: slices.Clone(o.Ports)}
	group := func(id string) *Group {
		i := slices.IndexFunc(next.Groups, func(g Group) bool { return g.ID == id })
		if i < 0 {
			return &Group{}
		}
		return &next.Groups[i]
	}
	switch op := op.(type) {
	case CreateGroup:
		made.Group.For = op.For
		next.Groups = append(next.Groups, made.Group)
	case AddRules:
		g := group(op.GroupID)
		g.Rules = append(slices.Clone(g.Rules), made.Rules...)
	case RemoveRule:
		g := group(op.GroupID)
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r FoundRule) bool { return r.ID == op.Rule.ID })
	case SetGroups:
		next.Ports = slices.DeleteFunc(next.Ports, func(p Port) bool { return p.ID == op.Port.ID })
		next.Ports = append(next.Ports, made.Port)
	case DeleteGroup:
		next.Groups = slices.DeleteFunc(next.Groups, func(g Group) bool { return g.ID == op.ID })
	}
	return next
}
