// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
)

// MayHavePods reports whether Pods are requested as members, or existing members may be Pods. A member may be a Pod if
// its address is that of no node, or its port is none of the NodePorts.
func MayHavePods(in Input, observed *lb.LoadBalancer) bool {
	if in.Spec.PodTargets() {
		return true
	}
	if observed == nil {
		return false
	}
	onNode := nodeAddresses(in.Nodes)
	atNodePort := func(m lb.Member) bool {
		return slices.ContainsFunc(in.Spec.Ports, func(p corev1.ServicePort) bool { return m.Port == int(p.NodePort) })
	}
	return slices.ContainsFunc(observed.Listeners, func(l lb.Listener) bool {
		return l.Pool != nil && slices.ContainsFunc(l.Pool.Members, func(m lb.Member) bool { return !onNode[m.Address] || !atNodePort(m) })
	})
}

// Unreachable returns the addresses of endpoints that are in none of the PodSubnets, sorted.
func Unreachable(in Input) (addresses []netip.Addr) {
	in.both = in.hasBoth() && len(in.Families()) > 1
	for _, port := range in.Spec.Ports {
		for _, e := range in.endpoints(port) {
			if _, reachable := in.podSubnet(e.Address); !reachable {
				addresses = append(addresses, e.Address)
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}

// nodeAddresses are all addresses of the nodes.
func nodeAddresses(nodes []corev1.Node) map[string]bool {
	all := make(map[string]bool, len(nodes))
	for i := range nodes {
		for _, a := range member.Addresses(&nodes[i]) {
			all[a.String()] = true
		}
	}
	return all
}

// endpoints returns the endpoints of a port. With VIPs of both families, a Pod with addresses of both families is a
// member once for a TCP port, and twice for other ports, for the same reasons as nodes in targets. If it is a member
// once, its address is that of the first family, even while this address takes no traffic: Kubernetes writes the slices
// of the families one after the other, so a Pod that is no longer ready in one slice may still be ready in the other.
func (in Input) endpoints(port corev1.ServicePort) []member.Endpoint {
	var all []member.Endpoint
	pods := map[string]bool{}
	for _, family := range in.served() {
		of := member.WithPortNames(ofFamily(in.Slices, family), in.Spec.Ports)
		found := member.Endpoints(of, port, in.Gated)
		if port.Protocol == corev1.ProtocolTCP {
			found = slices.DeleteFunc(found, func(e member.Endpoint) bool { return pods[e.Pod] })
		}
		maps.Copy(pods, member.Pods(of, port))
		all = append(all, found...)
	}
	return all
}

// podMembers returns the endpoints of a port as members. Endpoints in no subnet that is configured are left out.
func (in Input) podMembers(port corev1.ServicePort) []lb.Member {
	endpoints := in.endpoints(port)
	members := make([]lb.Member, 0, len(endpoints))
	for _, e := range endpoints {
		subnet, reachable := in.podSubnet(e.Address)
		weight, takes := in.weight(e)
		if !reachable || !takes {
			continue
		}
		name := e.Pod
		if name == "" {
			name = e.Address.String()
		}
		members = append(members, lb.Member{Name: name, Address: e.Address.String(), Port: e.Port, SubnetID: subnet, Weight: weight})
	}
	return in.withoutRefused(members)
}

// weight returns the weight of an endpoint, and whether it is a member. Without weights, a draining endpoint is not a
// member: it would get new connections. OVN keeps the open ones of a member that is removed, since 25.03 except those
// through a floating IP.
func (in Input) weight(e member.Endpoint) (weight int, takes bool) {
	if !e.Draining {
		return 1, true
	}
	return 0, in.Capabilities.Has(lb.FeatureWeights)
}

// podSubnet returns the subnet from which a Pod is reached: the configured subnet that contains its address. If no
// subnets are configured, it is the subnet of the nodes, whose router leads to the Pods.
func (in Input) podSubnet(address netip.Addr) (id string, ok bool) {
	if len(in.Networks.PodSubnets) == 0 {
		return in.memberSubnet(address), true
	}
	var best lb.Subnet
	for _, s := range in.Networks.PodSubnets {
		if s.CIDR.Contains(address) && (!ok || s.CIDR.Bits() > best.CIDR.Bits()) {
			best, ok = s, true
		}
	}
	return best.ID, ok
}

// unreachable reports the endpoints that are not members because no subnet contains their address.
func (in Input) unreachable() []lb.Withheld {
	if !in.members.pods {
		return nil
	}
	addresses := Unreachable(in)
	if len(addresses) == 0 {
		return nil
	}
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return []lb.Withheld{{Reason: ReasonEndpointUnreachable, Message: fmt.Sprintf(
		"endpoints %s are not members: no subnet of the networks in pod-network-ids of cloud.conf contains their addresses, and neither does the nodes' subnet. "+
			"Add the network of these Pods to pod-network-ids, or remove pod-network-ids if a router leads to all Pods", some(texts))}}
}

// hasPods reports whether the members of an existing pool are Pods. An empty pool counts as having what the Service
// requests.
func (in Input) hasPods(pool lb.Pool, port corev1.ServicePort) bool {
	onNode := nodeAddresses(in.Nodes)
	endpoints := in.endpointKeys(port)
	pods := false
	for _, m := range pool.Members {
		nodePort := port.NodePort != 0 && m.Port == int(port.NodePort)
		switch {
		case nodePort && onNode[m.Address]:
			return false
		case endpoints[m.Key()], !nodePort && !onNode[m.Address]:
			// The other members at the NodePort are of nodes that have been deleted.
			pods = true
		}
	}
	return pods || in.members.pods
}

// endpointKeys are the addresses and ports of the endpoints of a port.
func (in Input) endpointKeys(port corev1.ServicePort) map[lb.MemberKey]bool {
	keys := map[lb.MemberKey]bool{}
	for _, e := range in.endpoints(port) {
		keys[lb.MemberKey{Address: e.Address.String(), Port: e.Port}] = true
	}
	return keys
}

// followPods returns the pool with the endpoints of the port. If sure is false, it is not known how they are reached.
// Then existing members that are still endpoints stay, and there are no new members.
func (in Input) followPods(pool lb.Pool, port corev1.ServicePort, sure bool) *lb.Pool {
	had := pool.Members
	if sure {
		pool.Members = in.podMembers(port)
		return &pool
	}
	pool.Members = nil
	endpoints := in.endpointKeys(port)
	for _, m := range had {
		if endpoints[m.Key()] {
			pool.Members = append(pool.Members, m)
		}
	}
	return &pool
}
