// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"maps"
	"net/netip"
	"slices"
)

// The providers.
const (
	amphora = "amphora"
	ovn     = "ovn"
)

// driver is what a provider refuses. The functions see the objects as they
// would be after the change.
type driver struct {
	description string
	listener    func(*listener) error
	pool        func(*pool) error
	member      func(*member) error
	monitor     func(*monitor) error
	policy      func(*l7policy) error
}

var drivers = map[string]driver{
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

// Known reports whether there is the provider.
func Known(name string) bool { return drivers[name].description != "" }

// Names are the providers' names, in order.
func Names() []string { return slices.Sorted(maps.Keys(drivers)) }

// Description describes a provider.
func Description(name string) string { return drivers[name].description }

// checkListener refuses a listener that its load balancer's provider does not take.
func checkListener(l *listener) error { return drivers[l.lb.provider].listener(l) }

// checkPool is checkListener for a pool.
func checkPool(p *pool) error { return drivers[p.lb.provider].pool(p) }

// checkMember is checkListener for a member.
func checkMember(m *member) error { return drivers[m.pool.lb.provider].member(m) }

// checkMonitor is checkListener for a health monitor.
func checkMonitor(m *monitor) error { return drivers[m.pool.lb.provider].monitor(m) }

// checkPolicy is checkListener for an L7 policy.
func checkPolicy(policy *l7policy) error { return drivers[policy.listener.lb.provider].policy(policy) }

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
	for _, l := range lb.listeners {
		if err := checkListener(l); err != nil {
			return err
		}
	}
	for _, p := range lb.pools {
		if err := checkPool(p); err != nil {
			return err
		}
		for _, m := range p.members {
			if err := checkMember(m); err != nil {
				return err
			}
		}
		if p.monitor != nil {
			if err := checkMonitor(p.monitor); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFailover refuses to fail a load balancer over.
func checkFailover(lb *loadBalancer) error {
	if lb.provider == ovn {
		return unsupported(ovn, "OVN provider does not support loadbalancer failover")
	}
	return nil
}
