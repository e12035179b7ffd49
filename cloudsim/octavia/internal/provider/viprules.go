// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// firstPeerPort is the port on which the amphorae of a load balancer exchange the sessions of its
// first listener.
const firstPeerPort = 1025

// VIPRules returns the rules that a load balancer needs in the security group of its VIP: for each listener one per
// source range, or one for all clients, and one for its peer port. If the user has set security groups, only these
// restrict the clients of listeners, regardless of source ranges.
func VIPRules(lb *model.LoadBalancer) (rules []neutron.VIPRule) {
	add := func(r neutron.VIPRule) {
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	for i, l := range lb.Listeners {
		if l.Provisioning == model.PendingDelete {
			continue
		}
		if len(lb.VIPGroups) == 0 {
			for _, cidr := range l.CIDRs {
				add(neutron.VIPRule{Protocol: transport(l.Protocol), Port: l.Port, CIDR: cidr})
			}
			if len(l.CIDRs) == 0 {
				add(neutron.VIPRule{Protocol: transport(l.Protocol), Port: l.Port})
			}
		}
		add(neutron.VIPRule{Protocol: "tcp", Port: firstPeerPort + i})
	}
	return rules
}

// transport returns the protocol of a listener in rules.
func transport(protocol string) string {
	if protocol == "UDP" || protocol == "SCTP" {
		return strings.ToLower(protocol)
	}
	return "tcp"
}

// Admitting returns the configuration of the data plane with exactly these rules: a listener admits the source
// ranges for which there is a rule. Without any rule it accepts no connections.
func Admitting(plane dataplane.LoadBalancer, rules []neutron.VIPRule) dataplane.LoadBalancer {
	var open []dataplane.Listener
	for _, l := range plane.Listeners {
		l.AllowedCIDRs = nil
		admits, allClients := false, false
		for _, r := range rules {
			if r.Port != l.Port || r.Protocol != transport(l.Protocol) {
				continue
			}
			admits = true
			if prefix, err := netip.ParsePrefix(r.CIDR); err == nil {
				l.AllowedCIDRs = append(l.AllowedCIDRs, prefix)
			} else {
				allClients = true
			}
		}
		if allClients {
			l.AllowedCIDRs = nil
		}
		if admits {
			open = append(open, l)
		}
	}
	plane.Listeners = open
	return plane
}
