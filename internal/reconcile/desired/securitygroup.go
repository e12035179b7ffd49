// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
)

// sourcesBySecurityGroup reports whether the nodes see the clients' addresses, and our security group restricts them.
// Pods may have ports of their own in Neutron, which do not have the group of the nodes.
func (in Input) sourcesBySecurityGroup() bool {
	return !in.members.pods && in.keepsClientAddress() && in.Config.ManageSecurityGroups
}

// keepsClientAddress reports whether the provider leaves the client's address in the packets.
func (in Input) keepsClientAddress() bool { return in.Capabilities.OVN() }

// SecurityGroupNeed returns the access to the nodes that the wanted load balancer needs. ok is false if the Service
// is refused and does not say who may connect.
//
// A load balancer that uses an address of its own may reach the nodes from the subnets of its wanted and existing
// members.
func SecurityGroupNeed(in Input, wanted lb.Wanted, observed lb.Observed) (need securitygroup.Need, ok bool) {
	if wanted.LoadBalancer == nil {
		return need, true
	}
	need = securitygroup.Need{IPv6: in.Family() == corev1.IPv6Protocol, VIPSubnetID: in.Networks.VIPSubnetID}
	need.DualStack = len(in.Families()) > 1 && len(wanted.LoadBalancer.AdditionalVIPs) > 0
	options, problems := in.Spec.Options, in.Spec.Problems
	if len(options.NodeSelector) > 0 {
		need.NodeSelector = options.NodeSelector
	}
	in.chooseMembers(options)
	in.both = need.DualStack || in.hasBoth() && len(in.Families()) > 1
	monitored := false
	for _, l := range wanted.LoadBalancer.Listeners {
		if l.Pool == nil {
			continue
		}
		need.Ports = append(need.Ports, in.nodePorts(l)...)
		need.Ports = append(need.Ports, in.openedPorts(l)...)
		monitored = monitored || l.Pool.Monitor != nil
		need.MemberSubnetIDs = append(need.MemberSubnetIDs, memberSubnets(l)...)
	}
	if have := observed.LoadBalancer; have != nil {
		need.VIPSubnetID = have.VIP.SubnetID
		for _, l := range have.Listeners {
			need.MemberSubnetIDs = append(need.MemberSubnetIDs, memberSubnets(l)...)
			need.Ports = append(need.Ports, in.openedPorts(l)...) // traffic flows until the members are replaced
		}
		if old := observed.Predecessor; old != nil {
			for _, l := range old.Listeners {
				need.Ports = append(need.Ports, in.openedPorts(l)...) // and until the load balancer is replaced
			}
		}
		need.MemberSubnetIDs = append(need.MemberSubnetIDs, predecessorSubnets(*have, observed.Predecessor)...)
	}
	slices.SortFunc(need.Ports, securitygroup.ComparePorts)
	need.Ports = slices.Compact(need.Ports)
	slices.Sort(need.MemberSubnetIDs)
	need.MemberSubnetIDs = slices.Compact(need.MemberSubnetIDs)
	keeps, replaces := in.keepsClientAddress(), !in.keepsClientAddress()
	if old := observed.Predecessor; old != nil && old.Provider != "" {
		// Until the predecessor is deleted, packets come from both load balancers.
		before := in
		before.Capabilities.Provider = old.Provider
		keeps, replaces = keeps || before.keepsClientAddress(), replaces || !before.keepsClientAddress()
	}
	need.FromSubnets = monitored || replaces
	if !keeps {
		return need, true
	}
	sources, _, err := in.sources(options)
	for _, text := range sources {
		if source, err := netip.ParsePrefix(text); err == nil {
			need.Sources = append(need.Sources, source.Masked())
		}
	}
	return need, len(problems) == 0 && err == nil
}

// predecessorSubnets returns the subnets from which the predecessor reaches the nodes. If its VIP is in another
// subnet, they include the subnets of both VIPs.
func predecessorSubnets(l lb.LoadBalancer, old *lb.LoadBalancer) (subnets []string) {
	if old == nil {
		return nil
	}
	for _, o := range old.Listeners {
		subnets = append(subnets, memberSubnets(o)...)
	}
	if a, b := l.VIP.SubnetID, old.VIP.SubnetID; a != "" && b != "" && a != b {
		subnets = append(subnets, a, b)
	}
	return subnets
}

// nodePorts returns the ports that a listener needs on the nodes even while it has no members, so that moving Pods
// change no rules.
func (in Input) nodePorts(l lb.Listener) (opened []securitygroup.PortKey) {
	for _, p := range in.Spec.Ports {
		if !in.members.pods && l.Key() == (lb.ListenerKey{Transport: lb.Transport(p.Protocol), Port: int(p.Port)}) && p.NodePort != 0 {
			opened = append(opened, securitygroup.PortKey{Transport: l.Protocol.Transport(), Port: int(p.NodePort)})
		}
	}
	if check := in.Spec.HealthCheckNodePort; check != 0 && l.Pool.Monitor != nil && l.Pool.Monitor.Type == lb.MonitorHTTP {
		opened = append(opened, securitygroup.PortKey{Transport: lb.TCP, Port: check})
	}
	return opened
}

// openedPorts returns the ports of the members of an own listener and of their monitors. Packets to Pods may enter
// through the ports of their nodes, but only the operator may decide that: the author of a Service chooses the ports of
// Pods.
func (in Input) openedPorts(l lb.Listener) (opened []securitygroup.PortKey) {
	if l.Pool == nil || !in.Owner.OwnsListener(l) {
		return nil
	}
	onNode, endpoints := nodeAddresses(in.Nodes), map[lb.MemberKey]bool{}
	for _, port := range in.Spec.Ports {
		maps.Copy(endpoints, in.endpointKeys(port))
	}
	for _, m := range l.Pool.Members {
		if pod := !onNode[m.Address] || endpoints[m.Key()]; pod && !in.Config.SecurityGroupPodPorts {
			continue
		}
		opened = append(opened, securitygroup.PortKey{Transport: l.Protocol.Transport(), Port: m.Port})
		if m.MonitorPort != 0 {
			opened = append(opened, securitygroup.PortKey{Transport: lb.TCP, Port: m.MonitorPort})
		}
	}
	return opened
}

func memberSubnets(l lb.Listener) []string {
	var ids []string
	if l.Pool != nil {
		for _, m := range l.Pool.Members {
			if m.SubnetID != "" {
				ids = append(ids, m.SubnetID)
			}
		}
	}
	return ids
}
