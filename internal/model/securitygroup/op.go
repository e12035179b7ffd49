// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"fmt"
	"slices"
	"strings"
)

// Op is one write to Neutron. String describes it in one line.
type Op interface{ fmt.Stringer }

// Kind returns the op's type for metrics: "AddSecurityGroupRules".
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

// CreateGroup creates a security group.
type CreateGroup struct {
	// For is the purpose of the group: see WantedGroup.
	For, Name, Description string
}

// AddRules adds rules to a group, all or none.
type AddRules struct {
	GroupID string
	Rules   []Rule
}

// InPlaceOf reports whether the new rules may replace an existing one, because they are for the same port or its port
// is unknown. The existing rule must stay until the new ones exist.
func (o AddRules) InPlaceOf(existing FoundRule) bool {
	return slices.ContainsFunc(o.Rules, func(r Rule) bool { return existing.Foreign || r.PortKey == existing.PortKey })
}

// RemoveRule removes a rule.
type RemoveRule struct {
	GroupID string
	Rule    FoundRule
}

// SetGroups sets the security groups of a port, unless the port has changed since it was read.
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
	return "admit " + strings.Join(texts, ", ")
}

// String implements Op.
func (o RemoveRule) String() string {
	if o.Rule.Foreign {
		return "remove rule " + o.Rule.ID + ", which this controller did not create"
	}
	return "stop admitting " + o.Rule.String()
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

// others counts the elements of a that are not in b.
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

// Made is the result of an op.
type Made struct {
	// Group is a new group, with Neutron's default rules.
	Group Group
	Rules []FoundRule
	// Port is a port after the change.
	Port Port
	// Missing is whether Neutron answered that the group to be deleted does not exist.
	Missing bool
}

// After returns the state of the cloud after the op. It does not change o.
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
