// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/netip"
	"slices"
)

// The providers.
const (
	amphora = "amphora"
	ovn     = "ovn"
)

// provider is what a provider refuses. The functions see the objects as they
// would be after the change.
type provider struct {
	description string
	listener    func(*listener) error
	pool        func(*pool) error
	member      func(*member) error
	monitor     func(*monitor) error
	policy      func(*l7policy) error
}

var providers = map[string]provider{
	amphora: {
		description: "The Octavia Amphora driver.",
		listener:    func(*listener) error { return nil },
		pool:        amphoraPool,
		member:      amphoraMember,
		monitor:     func(*monitor) error { return nil },
		policy:      amphoraPolicy,
	},
	ovn: {
		description: "Octavia OVN driver.",
		listener:    ovnListener,
		pool:        ovnPool,
		member:      ovnMember,
		monitor:     ovnMonitor,
		policy:      ovnPolicy,
	},
	"octavia": {
		description: "Deprecated alias of the Octavia Amphora driver.",
		listener:    func(*listener) error { return nil },
		pool:        amphoraPool,
		member:      amphoraMember,
		monitor:     func(*monitor) error { return nil },
		policy:      amphoraPolicy,
	},
}

func amphoraPool(p *pool) error {
	if p.algorithm == "SOURCE_IP_PORT" {
		return unsupported(p.lb.provider, "Amphora provider does not support %s algorithm.", p.algorithm)
	}
	return nil
}

// amphoraMember refuses UDP and SCTP members of a family that no VIP has.
func amphoraMember(m *member) error {
	if !m.pool.usesUDP() || len(m.pool.listeners()) == 0 {
		return nil
	}
	lb := m.pool.lb
	vips := []string{lb.address}
	for _, a := range lb.additional {
		vips = append(vips, a.address)
	}
	same := func(vip string) bool { return isIPv6(vip) == isIPv6(m.address.Value()) }
	if !slices.ContainsFunc(vips, same) {
		return unsupported(lb.provider, "This provider doesn't support mixing IPv4 and IPv6 addresses for its VIP and members in %s load balancers.", m.pool.protocol)
	}
	return nil
}

func amphoraPolicy(policy *l7policy) error {
	if l := policy.listener; l.protocol != "HTTP" && l.protocol != "TERMINATED_HTTPS" {
		return unsupported(l.lb.provider, "%s protocol listeners do not support L7 policies", l.protocol)
	}
	return nil
}

func isIPv6(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is6()
}

func ovnProtocol(protocol string) error {
	if !slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol) {
		return unsupported(ovn, "OVN provider does not support %s protocol", protocol)
	}
	return nil
}

func ovnListener(l *listener) error {
	if err := ovnProtocol(l.protocol); err != nil {
		return err
	}
	if len(l.cidrs) > 0 {
		return unsupported(ovn, "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

func ovnPool(p *pool) error {
	if err := ovnProtocol(p.protocol); err != nil {
		return err
	}
	if p.algorithm != "SOURCE_IP_PORT" {
		return unsupported(ovn, "OVN provider does not support %s algorithm", p.algorithm)
	}
	return nil
}

func ovnMember(m *member) error {
	if m.monitorAddress.Value() != "" || m.monitorPort > 0 {
		return unsupported(ovn, "OVN Load Balancer does not support different member monitor address or port.")
	}
	lb := m.pool.lb
	if isIPv6(lb.address) != isIPv6(m.address.Value()) {
		return unsupported(ovn, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	if address, err := netip.ParseAddr(m.address.Value()); m.subnet.Value() == "" && (err != nil || !lb.cidr.Contains(address)) {
		return unsupported(ovn, "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member creation with OVN Provider Driver if it is not the same as LB VIP subnet")
	}
	return nil
}

func ovnMonitor(m *monitor) error {
	if m.kind != "UDP-CONNECT" && m.kind != "TCP" {
		return unsupported(ovn, "OVN provider does not support %s health monitor type. Supported types: UDP-CONNECT, TCP", m.kind)
	}
	return nil
}

func ovnPolicy(*l7policy) error {
	return notSupported("This provider does not support creating l7policies.")
}

// checkTree asks the provider. The amphora provider takes a tree as it is.
func checkTree(lb *loadBalancer) error {
	if lb.provider != ovn {
		return nil
	}
	rules := providers[lb.provider]
	for _, l := range lb.listeners {
		if err := rules.listener(l); err != nil {
			return err
		}
	}
	for _, p := range lb.pools {
		if err := rules.pool(p); err != nil {
			return err
		}
		for _, m := range p.members {
			if err := rules.member(m); err != nil {
				return err
			}
		}
		if p.monitor != nil {
			if err := rules.monitor(p.monitor); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFailover(lb *loadBalancer) error {
	if lb.provider == ovn {
		return unsupported(ovn, "OVN provider does not support loadbalancer failover")
	}
	return nil
}
