// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/existence"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
)

// groupFields and portFields are the fields that are read. The groups of a project may have thousands of rules.
var (
	groupFields = []string{"id", "name", "description", "security_group_rules"}
	portFields  = []string{"id", "device_id", "fixed_ips", "security_groups", "revision_number", "port_security_enabled"}
)

// groupAnswer is a security group in Neutron's form.
type groupAnswer struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Rules       []ruleAnswer `json:"security_group_rules"`
}

// ruleAnswer is a rule in Neutron's form. Nil means any.
type ruleAnswer struct {
	ID                   string  `json:"id"`
	Direction            string  `json:"direction"`
	EtherType            string  `json:"ethertype"`
	Protocol             *string `json:"protocol"`
	PortRangeMin         *int    `json:"port_range_min"`
	PortRangeMax         *int    `json:"port_range_max"`
	RemoteIPPrefix       *string `json:"remote_ip_prefix"`
	RemoteGroupID        *string `json:"remote_group_id"`
	RemoteAddressGroupID *string `json:"remote_address_group_id"`
}

// portAnswer is a port in Neutron's form. Its port security is nil if Neutron has no such extension.
type portAnswer struct {
	ID       string `json:"id"`
	DeviceID string `json:"device_id"`
	FixedIPs []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
	SecurityGroups []string `json:"security_groups"`
	Revision       int      `json:"revision_number"`
	PortSecurity   *bool    `json:"port_security_enabled"`
}

// SecurityGroups returns the security groups of the project with the ids, or all without ids, with one call per
// thousand.
func (c *Client) SecurityGroups(ctx context.Context, ids ...string) ([]securitygroup.Group, error) {
	op := "list the security groups"
	query := url.Values{"project_id": {c.projectID}, "limit": {pageSize}, "fields": groupFields}
	if len(ids) > 0 && len(ids) <= idsPerCall {
		op, query = "read security group "+strings.Join(ids, ", "), url.Values{"id": ids, "fields": groupFields}
	}
	all, err := list[groupAnswer](ctx, c, op, "security-groups", query)
	if err != nil {
		return nil, err
	}
	var found []securitygroup.Group
	for _, g := range all {
		if len(ids) == 0 || slices.Contains(ids, g.ID) {
			found = append(found, g.group())
		}
	}
	return found, nil
}

// PortsWithGroups returns the ports that have one of the groups, with one call per hundred groups.
func (c *Client) PortsWithGroups(ctx context.Context, groupIDs ...string) (all []securitygroup.Port, _ error) {
	seen := map[string]bool{}
	for some := range slices.Chunk(groupIDs, idsPerCall) {
		query := url.Values{"security_groups": some, "limit": {pageSize}, "fields": portFields}
		found, err := c.portsOf(ctx, "list the ports of security group "+strings.Join(some, ", "), query)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			// A service that does not support the filter returns everything.
			hasGroup := slices.ContainsFunc(p.Groups, func(id string) bool { return slices.Contains(some, id) })
			if hasGroup && !seen[p.ID] {
				seen[p.ID] = true
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// PortsOfServers returns the ports of the servers, with one call per hundred.
func (c *Client) PortsOfServers(ctx context.Context, serverIDs ...string) ([]securitygroup.Port, error) {
	var found []securitygroup.Port
	for some := range slices.Chunk(serverIDs, idsPerCall) {
		op := "look for the ports of server " + some[0]
		if len(some) > 1 {
			op = fmt.Sprintf("look for the ports of %d servers", len(some))
		}
		ports, err := c.portsOf(ctx, op, url.Values{"device_id": some, "limit": {pageSize}, "fields": portFields})
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(ports, func(p securitygroup.Port) bool { return !slices.Contains(some, p.ServerID) })...)
	}
	return found, nil
}

func (c *Client) portsOf(ctx context.Context, op string, query url.Values) ([]securitygroup.Port, error) {
	all, err := list[portAnswer](ctx, c, op, "ports", query)
	var found []securitygroup.Port
	for _, p := range all {
		found = append(found, p.port())
	}
	return found, err
}

// Subnet returns the properties of a subnet that rules need. If the project does not see it, the error is
// of class Gone.
func (c *Client) Subnet(ctx context.Context, id string) (securitygroup.Subnet, error) {
	op := "look at subnet " + id
	all, err := list[subnetDocument](ctx, c, op, "subnets", url.Values{"id": {id}})
	if err != nil {
		return securitygroup.Subnet{}, err
	}
	i := slices.IndexFunc(all, func(s subnetDocument) bool { return s.ID == id })
	if i < 0 {
		return securitygroup.Subnet{}, &openstack.Error{Op: op, Class: openstack.Gone, Message: "the project can see no such subnet"}
	}
	cidr, err := netip.ParsePrefix(all[i].CIDR)
	if err != nil {
		return securitygroup.Subnet{}, openstack.Unreadable(op, "no CIDR")
	}
	return securitygroup.Subnet{CIDR: cidr.Masked(), NetworkID: all[i].NetworkID}, nil
}

// ApplySecurityGroup carries out an op on security groups. If another client has changed a port since it was read, the
// error is of class Conflict. Removing what does not exist is not an error.
func (c *Client) ApplySecurityGroup(ctx context.Context, op securitygroup.Op) (securitygroup.Made, error) {
	what := op.String()
	switch op := op.(type) {
	case securitygroup.CreateGroup:
		return c.createGroup(ctx, what, op)
	case securitygroup.AddRules:
		return c.addRules(ctx, what, op)
	case securitygroup.RemoveRule:
		return securitygroup.Made{}, c.removeRule(ctx, what, op)
	case securitygroup.DeleteGroup:
		missing, err := c.remove(ctx, what, "security-groups", op.ID)
		return securitygroup.Made{Missing: missing}, err
	case securitygroup.SetGroups:
		return c.setGroups(ctx, what, op)
	}
	return securitygroup.Made{}, &openstack.Error{Op: what, Class: openstack.Invalid, Message: "it is not an operation on security groups"}
}

func (c *Client) createGroup(ctx context.Context, what string, op securitygroup.CreateGroup) (securitygroup.Made, error) {
	wish := map[string]any{"security_group": map[string]any{"name": op.Name, "description": op.Description}}
	var answer struct {
		Group groupAnswer `json:"security_group"`
	}
	if _, err := c.service.Post(ctx, c.service.ServiceURL("security-groups"), wish, decoding.Into(&answer), nil); err != nil {
		return securitygroup.Made{}, openstack.Wrap(what, err)
	}
	if !openstack.IsID(answer.Group.ID) {
		return securitygroup.Made{}, openstack.Unreadable(what, "no security group")
	}
	return securitygroup.Made{Group: answer.Group.group()}, nil
}

func (c *Client) addRules(ctx context.Context, what string, op securitygroup.AddRules) (made securitygroup.Made, _ error) {
	wishes := make([]map[string]any, len(op.Rules))
	for i, r := range op.Rules {
		wishes[i] = map[string]any{
			"security_group_id": op.GroupID, "direction": "ingress", "ethertype": etherType(r.Source), "protocol": strings.ToLower(string(r.Transport)),
			"port_range_min": r.Port, "port_range_max": r.Port, "remote_ip_prefix": r.Source.String(),
		}
	}
	var answer struct {
		Rules []ruleAnswer `json:"security_group_rules"`
	}
	if _, err := c.service.Post(ctx, c.service.ServiceURL("security-group-rules"), map[string]any{"security_group_rules": wishes}, decoding.Into(&answer), nil); err != nil {
		return made, openstack.Wrap(what, err)
	}
	for _, r := range answer.Rules {
		if !openstack.IsID(r.ID) {
			return securitygroup.Made{}, openstack.Unreadable(what, "a rule with the id "+strconv.Quote(r.ID))
		}
		made.Rules = append(made.Rules, r.rule())
	}
	if len(made.Rules) != len(op.Rules) {
		return securitygroup.Made{}, openstack.Unreadable(what, fmt.Sprintf("%d rules in place of %d", len(made.Rules), len(op.Rules)))
	}
	return made, nil
}

// setGroups makes the change conditional on the revision that was read, so that a group that another client has
// added meanwhile is not lost.
func (c *Client) setGroups(ctx context.Context, what string, op securitygroup.SetGroups) (securitygroup.Made, error) {
	groups := append([]string{}, op.Groups...) // never null
	var answer struct {
		Port portAnswer `json:"port"`
	}
	_, err := c.service.Put(ctx, c.service.ServiceURL("ports", url.PathEscape(op.Port.ID)), map[string]any{"port": map[string]any{"security_groups": groups}}, decoding.Into(&answer),
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}, MoreHeaders: map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", op.Port.Revision)}})
	if err != nil {
		return securitygroup.Made{}, existence.Explain(ctx, c.service, openstack.Wrap(what, err), "ports", op.Port.ID)
	}
	if answer.Port.ID != op.Port.ID {
		return securitygroup.Made{}, openstack.Unreadable(what, "another port, "+strconv.Quote(answer.Port.ID)+",")
	}
	return securitygroup.Made{Port: answer.Port.port()}, nil
}

// removeRule finds a rule in its group, because no access rule allows listing rules.
func (c *Client) removeRule(ctx context.Context, what string, op securitygroup.RemoveRule) error {
	_, err := c.service.Delete(ctx, c.service.ServiceURL("security-group-rules", url.PathEscape(op.Rule.ID)), nil)
	_, err = openstack.UnlessGone(existence.ExplainBy(openstack.Wrap(what, err), func() (bool, error) {
		groups, err := c.SecurityGroups(ctx, op.GroupID)
		return slices.ContainsFunc(groups, func(g securitygroup.Group) bool {
			return slices.ContainsFunc(g.Rules, func(r securitygroup.FoundRule) bool { return r.ID == op.Rule.ID })
		}), err
	}))
	return err
}

// remove deletes an object. If it does not exist, missing is true, and there is no error.
func (c *Client) remove(ctx context.Context, what, collection, id string) (missing bool, _ error) {
	_, err := c.service.Delete(ctx, c.service.ServiceURL(collection, url.PathEscape(id)), nil)
	return openstack.UnlessGone(existence.Explain(ctx, c.service, openstack.Wrap(what, err), collection, id))
}

func etherType(p netip.Prefix) string {
	if p.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

func (g groupAnswer) group() securitygroup.Group {
	group := securitygroup.Group{ID: g.ID, Name: g.Name, Description: g.Description}
	for _, r := range g.Rules {
		group.Rules = append(group.Rules, r.rule())
	}
	return group
}

// rule converts a rule. It is Foreign if it does not have the form of our rules: one protocol, one port and one
// source.
func (r ruleAnswer) rule() securitygroup.FoundRule {
	odd := securitygroup.FoundRule{ID: r.ID, Foreign: true}
	if r.Direction != "ingress" || r.RemoteGroupID != nil || r.RemoteAddressGroupID != nil || r.Protocol == nil ||
		r.PortRangeMin == nil || r.PortRangeMax == nil || *r.PortRangeMin != *r.PortRangeMax {
		return odd
	}
	source := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if r.EtherType == "IPv6" {
		source = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	if r.RemoteIPPrefix != nil {
		given, err := netip.ParsePrefix(*r.RemoteIPPrefix)
		if err != nil || given.Addr().Is4() != source.Addr().Is4() {
			return odd
		}
		source = given.Masked()
	}
	transport := map[string]lb.Transport{"tcp": lb.TCP, "6": lb.TCP, "udp": lb.UDP, "17": lb.UDP, "sctp": "SCTP", "132": "SCTP"}[strings.ToLower(*r.Protocol)]
	if transport == "" {
		return odd
	}
	return securitygroup.FoundRule{ID: r.ID, Rule: securitygroup.Rule{
		PortKey: securitygroup.PortKey{Transport: transport, Port: *r.PortRangeMin}, Source: source,
	}}
}

func (p portAnswer) port() securitygroup.Port {
	port := securitygroup.Port{ID: p.ID, ServerID: p.DeviceID, Groups: p.SecurityGroups, Revision: p.Revision,
		Unprotected: p.PortSecurity != nil && !*p.PortSecurity}
	for _, ip := range p.FixedIPs {
		if a, err := netip.ParseAddr(ip.Address); err == nil {
			port.Addresses = append(port.Addresses, a)
		}
	}
	return port
}
