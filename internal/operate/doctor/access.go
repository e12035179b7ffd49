// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Access is traffic that security groups must admit: from a source to ports.
type Access struct {
	Transport string
	From, To  int
	Source    netip.Prefix
	// ByPods means that Pods send it. The driver of Neutron determines whether a rule for the ports of a group admits
	// the addresses of Pods behind them. Load balancers are in none of our groups.
	ByPods bool
}

// LetIn returns whether all ports admit the traffic: OK, Error, or Unknown if that depends on what the project
// does not see.
func (a Access) LetIn(ports []Port, groups []Group) Status {
	result := OK
	for _, p := range ports {
		if !p.Protected() || !slices.ContainsFunc(p.FixedIPs, func(ip IP) bool { return sameFamily(ip.Address, a.Source) }) {
			continue
		}
		verdict := Error
		for _, id := range p.SecurityGroups {
			verdict = best(verdict, a.allowedBy(id, groups))
		}
		if verdict == Error || verdict == Unknown && result == OK {
			result = verdict
		}
	}
	return result
}

func (a Access) allowedBy(id string, groups []Group) Status {
	i := slices.IndexFunc(groups, func(g Group) bool { return g.ID == id })
	if i < 0 {
		return Unknown
	}
	verdict := Error
	for _, r := range groups[i].Rules {
		verdict = best(verdict, r.allows(a))
	}
	return verdict
}

// best returns the better one of two statuses: OK, then Unknown, then Error.
func best(a, b Status) Status {
	if a == OK || b == OK {
		return OK
	}
	if a == Unknown || b == Unknown {
		return Unknown
	}
	return Error
}

func sameFamily(address string, source netip.Prefix) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is4() == source.Addr().Is4()
}

// protocols maps the numbers that Neutron may show to names.
var protocols = map[string]string{"6": "tcp", "17": "udp", "132": "sctp"}

// allows returns whether the rule admits all of the traffic. It is Unknown if the source would have to be
// in the rule's group.
func (r Rule) allows(a Access) Status {
	family := "IPv6"
	if a.Source.Addr().Is4() {
		family = "IPv4"
	}
	if r.Direction != "ingress" || r.EtherType != family || r.RemoteGroupID != nil && !a.ByPods {
		return Error
	}
	if r.Protocol != nil {
		protocol := strings.ToLower(*r.Protocol)
		protocol = cmp.Or(protocols[protocol], protocol)
		if protocol != a.Transport && protocol != "any" && protocol != "0" {
			return Error
		}
	}
	if r.PortMin != nil && *r.PortMin > a.From || r.PortMax != nil && *r.PortMax < a.To {
		return Error
	}
	if r.RemoteGroupID != nil || r.RemoteAddressGroupID != nil {
		return Unknown
	}
	if r.RemoteIPPrefix == nil {
		return OK
	}
	given, err := netip.ParsePrefix(*r.RemoteIPPrefix)
	if err == nil && given.Bits() <= a.Source.Bits() && given.Contains(a.Source.Addr()) {
		return OK
	}
	return Error
}
