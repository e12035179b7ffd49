// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// The providers.
const (
	Amphora = "amphora"
	OVN     = "ovn"
)

// driver has the checks of a provider. The functions receive the objects as they would be after the
// change.
type driver struct {
	listener func(*model.Listener) error
	pool     func(p *model.Pool, newest bool) error
	member   func(*model.Member) error
	monitor  func(*model.Monitor) error
	policy   func(*model.L7Policy) error
}

var (
	amphoraDriver = driver{
		listener: func(*model.Listener) error { return nil }, pool: amphoraPool, member: amphoraMember,
		monitor: func(*model.Monitor) error { return nil }, policy: amphoraPolicy,
	}
	ovnDriver = driver{listener: ovnListener, pool: ovnPool, member: ovnMember, monitor: ovnMonitor, policy: ovnPolicy}
	drivers   = map[string]driver{Amphora: amphoraDriver, OVN: ovnDriver, "octavia": amphoraDriver}
)

var descriptions = map[string]string{
	Amphora: "The Octavia Amphora driver.", OVN: "Octavia OVN driver.",
	"octavia": "Deprecated alias of the Octavia Amphora driver.",
}

// Known reports whether the provider exists.
func Known(name string) bool { return descriptions[name] != "" }

// Names returns the sorted names of the providers.
func Names() []string { return slices.Sorted(maps.Keys(drivers)) }

// Description describes a provider.
func Description(name string) string { return descriptions[name] }

// CheckListener refuses a listener that its load balancer's provider does not support.
func CheckListener(l *model.Listener) error { return drivers[l.LB.Provider].listener(l) }

// CheckPool is CheckListener for a pool. The newest release of the provider accepts more.
func CheckPool(p *model.Pool, newest bool) error { return drivers[p.LB.Provider].pool(p, newest) }

// CheckMember is CheckListener for a member.
func CheckMember(m *model.Member) error { return drivers[m.Tree().Provider].member(m) }

// CheckMonitor is CheckListener for a health monitor.
func CheckMonitor(m *model.Monitor) error { return drivers[m.Tree().Provider].monitor(m) }

// CheckPolicy is CheckListener for an L7 policy.
func CheckPolicy(policy *model.L7Policy) error {
	return drivers[policy.Tree().Provider].policy(policy)
}

func amphoraPool(p *model.Pool, _ bool) error {
	if p.Algorithm == "SOURCE_IP_PORT" {
		return fault.Unsupported(p.LB.Provider, "Amphora provider does not support %s algorithm.", p.Algorithm)
	}
	return nil
}

// amphoraMember refuses UDP and SCTP members of a family that no VIP has.
func amphoraMember(m *model.Member) error {
	if !m.Pool.UsesUDP() || len(m.Pool.Listeners()) == 0 {
		return nil
	}
	lb := m.Tree()
	vips := []string{lb.Address}
	for _, a := range lb.Additional {
		vips = append(vips, a.Address)
	}
	same := func(vip string) bool { return IsIPv6(vip) == IsIPv6(m.Address.Value()) }
	if !slices.ContainsFunc(vips, same) {
		return fault.Unsupported(lb.Provider, "This provider doesn't support mixing IPv4 and IPv6 addresses for its VIP and members in %s load balancers.", m.Pool.Protocol)
	}
	return nil
}

func amphoraPolicy(policy *model.L7Policy) error {
	if l := policy.Listener; l.Protocol != "HTTP" && l.Protocol != "TERMINATED_HTTPS" {
		return fault.Unsupported(l.LB.Provider, "%s protocol listeners do not support L7 policies", l.Protocol)
	}
	return nil
}

// IsIPv6 reports whether a text is an IPv6 address.
func IsIPv6(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is6()
}

func ovnProtocol(protocol string) error {
	if !slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol) {
		return fault.Unsupported(OVN, "OVN provider does not support %s protocol", protocol)
	}
	return nil
}

func ovnListener(l *model.Listener) error {
	if err := ovnProtocol(l.Protocol); err != nil {
		return err
	}
	if len(l.CIDRs) > 0 {
		return fault.Unsupported(OVN, "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

// ovnPool checks a pool; newest means release 11 of provider ovn.
func ovnPool(p *model.Pool, newest bool) error {
	if err := ovnProtocol(p.Protocol); err != nil {
		return err
	}
	if p.Algorithm != "SOURCE_IP_PORT" && !(newest && p.Algorithm == "SOURCE_IP") {
		return fault.Unsupported(OVN, "OVN provider does not support %s algorithm", p.Algorithm)
	}
	return nil
}

func ovnMember(m *model.Member) error {
	if m.MonitorAddress.Value() != "" || m.MonitorPort > 0 {
		return fault.Unsupported(OVN, "OVN Load Balancer does not support different member monitor address or port.")
	}
	lb := m.Tree()
	if IsIPv6(lb.Address) != IsIPv6(m.Address.Value()) {
		return fault.Unsupported(OVN, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	if address, err := netip.ParseAddr(m.Address.Value()); m.Subnet.Value() == "" && (err != nil || !lb.CIDR.Contains(address)) {
		return fault.Unsupported(OVN, "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member creation with OVN Provider Driver if it is not the same as LB VIP subnet")
	}
	return nil
}

func ovnMonitor(m *model.Monitor) error {
	if m.Kind != "UDP-CONNECT" && m.Kind != "TCP" {
		return fault.Unsupported(OVN, "OVN provider does not support %s health monitor type. Supported types: UDP-CONNECT, TCP", m.Kind)
	}
	return nil
}

func ovnPolicy(*model.L7Policy) error {
	return notSupported("This provider does not support creating l7policies.")
}

// CheckTree refuses a tree that the provider does not support. The amphora provider accepts every
// tree.
func CheckTree(lb *model.LoadBalancer, newest bool) error {
	if lb.Provider != OVN {
		return nil
	}
	for _, l := range lb.Listeners {
		if err := CheckListener(l); err != nil {
			return err
		}
	}
	for _, p := range lb.Pools {
		if err := CheckPool(p, newest); err != nil {
			return err
		}
		for _, m := range p.Members {
			if err := CheckMember(m); err != nil {
				return err
			}
		}
		if p.Monitor != nil {
			if err := CheckMonitor(p.Monitor); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckFailover refuses a failover that the provider does not support.
func CheckFailover(lb *model.LoadBalancer) error {
	if lb.Provider == OVN {
		return fault.Unsupported(OVN, "OVN provider does not support loadbalancer failover")
	}
	return nil
}
