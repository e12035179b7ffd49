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
	// CIDR is where the clients are, "" for anywhere.
	CIDR string
}

// SetVIPRules makes the rules of the security group of a VIP's port the wanted ones, as Octavia's worker for amphorae does:
// it deletes the others first, then adds what is missing, one by one. They count in the quota of Octavia's project, which
// is unlimited unless SetServiceQuota sets one. When that is exhausted the worker stops, and the error wraps ErrQuota. It
// returns the rules that there are then. A port without such a group has no rules.
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

// SetServiceQuota is SetQuota for the project of Octavia, which has the security groups of VIPs.
func (s *Service) SetServiceQuota(resource string, limit int) {
	s.SetQuota(s.serviceProject, resource, limit)
}

// ServiceUse is how many of the resource the project of Octavia has.
func (s *Service) ServiceUse(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used(s.serviceProject, resource)
}

// addVIPRule adds the rule for each family of the port's addresses that it fits.
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
