// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/netip"
	"slices"
)

// VIPRule admits clients to a port of a VIP.
type VIPRule struct {
	// Protocol is tcp, udp or sctp.
	Protocol string
	Port     int
	// CIDR has the addresses of the clients; "" means all.
	CIDR string
}

// SetVIPRules sets the rules of the security group of a VIP's port, as Octavia's worker for amphorae does: it deletes
// unwanted rules first, then adds missing ones, one by one. They count towards the quota of Octavia's project, which is
// unlimited unless SetServiceQuota sets one. If it is exhausted, the worker stops and the error wraps ErrQuota.
// SetVIPRules returns the rules that exist then. A port without such a group has no rules.
func (s *Service) SetVIPRules(portID string, wanted []VIPRule) (there []VIPRule, err error) {
	err = s.change(func() error {
		g := s.groups[s.vipGroups[portID]]
		p := s.ports[portID]
		if g == nil || p == nil {
			there = wanted
			return nil
		}
		for _, id := range slices.Clone(g.rules) {
			r := s.rules[id]
			if r.direction != "ingress" {
				continue
			}
			if rule := r.vipRule(); slices.Contains(wanted, rule) {
				there = append(there, rule)
			} else {
				s.removeRule(r)
			}
		}
		for _, rule := range wanted {
			if slices.Contains(there, rule) {
				continue
			}
			if limit, limited := s.quotas[s.serviceProject]["security_group_rule"]; limited && limit >= 0 && s.used(s.serviceProject, "security_group_rule") >= limit {
				return fmt.Errorf("rules of the VIP's port %s: %w", portID, overQuota("security_group_rule"))
			}
			s.addVIPRule(g, p, rule)
			there = append(there, rule)
		}
		return nil
	})
	return there, err
}

// SetVIPGroups sets the security groups of a VIP's port in addition to its own.
func (s *Service) SetVIPGroups(portID string, groups []string) error {
	return s.change(func() error {
		p := s.ports[portID]
		if p == nil || s.vipGroups[portID] == "" {
			return nil
		}
		for _, id := range groups {
			if s.groups[id] == nil {
				return groupMissing(id)
			}
		}
		p.groups = append([]string{s.vipGroups[portID]}, groups...)
		return nil
	})
}

// SecurityGroup reports whether there is a security group that the project may use; with an empty project, any.
func (s *Service) SecurityGroup(projectID, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[id]
	return g != nil && owns(onBehalfOf(projectID), g.project)
}

// Admitted returns the networks of clients that the security groups let connect to a port. Rules
// that refer to other groups admit no client: the simulator's clients are not servers.
func (s *Service) Admitted(groups []string, protocol string, port int) (from []netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		inRange := (r.min == nil || *r.min <= port) && (r.max == nil || *r.max >= port)
		if !slices.Contains(groups, r.group) || r.direction != "ingress" || r.remote != "" || r.protocol != "" && r.protocol != protocol || !inRange {
			continue
		}
		prefix, err := netip.ParsePrefix(r.prefix)
		if err != nil && r.ethertype == "IPv4" {
			prefix = netip.MustParsePrefix("0.0.0.0/0")
		} else if err != nil {
			prefix = netip.MustParsePrefix("::/0")
		}
		from = append(from, prefix)
	}
	return from
}

// SetServiceQuota is SetQuota for Octavia's project, to which the security groups of VIPs belong.
func (s *Service) SetServiceQuota(resource string, limit int) {
	s.SetQuota(s.serviceProject, resource, limit)
}

// ServiceUse returns how many of the resource Octavia's project has.
func (s *Service) ServiceUse(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used(s.serviceProject, resource)
}

// addVIPRule adds the rule for each address family of the port that it applies to.
func (s *Service) addVIPRule(g *securityGroup, p *port, rule VIPRule) {
	prefix, err := netip.ParsePrefix(rule.CIDR)
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		has := slices.ContainsFunc(p.fixed, func(f FixedIP) bool {
			address, err := netip.ParseAddr(f.IPAddress)
			return err == nil && address.Is4() == (ethertype == "IPv4")
		})
		if fits := err != nil || prefix.Addr().Is4() == (ethertype == "IPv4"); has && fits {
			s.newRule(g, securityGroupRule{direction: "ingress", ethertype: ethertype, protocol: rule.Protocol, min: &rule.Port, max: &rule.Port, prefix: rule.CIDR})
		}
	}
	s.touch(g)
}

func (r *securityGroupRule) vipRule() VIPRule {
	rule := VIPRule{Protocol: r.protocol, CIDR: r.prefix}
	if r.max != nil {
		rule.Port = *r.max
	}
	return rule
}
