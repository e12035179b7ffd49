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
	Name, Description string
}

// AddRules adds rules to a group, all or none.
type AddRules struct {
	GroupID string
	Rules   []Rule
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
	ID string
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
	what := "take the security group off"
	if len(o.Groups) > len(o.Port.Groups) {
		what = "put the security group on"
	}
	return fmt.Sprintf("%s port %s of server %s", what, o.Port.ID, o.Port.ServerID)
}

// String implements Op.
func (o DeleteGroup) String() string { return "delete security group " + o.ID }

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
