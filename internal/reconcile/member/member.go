// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member chooses the members of a Service's pools: the addresses of the nodes that take traffic, or of the
// Pods.
//
// It is pure: Kubernetes objects in, addresses out.
package member

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Labels and taints that exclude a node from load balancers.
const (
	// excludeLabel is Kubernetes' label, with any value (KEP-1143).
	excludeLabel = corev1.LabelNodeExcludeBalancers
	// autoscalerTaint is set by cluster-autoscaler before it deletes a node.
	autoscalerTaint = "ToBeDeletedByClusterAutoscaler"
)

// Target is a node that takes traffic.
type Target struct {
	// Node is the name of the node, Zone its availability zone, or "".
	Node, Zone string
	// Address is the address that takes traffic.
	Address netip.Addr
}

// Choice selects one address of a node. Only addresses of type InternalIP or ExternalIP of the family are eligible.
type Choice struct {
	Family corev1.IPFamily
	// Type is the preferred type; empty means InternalIP. A node without one uses an address of the other type.
	Type corev1.NodeAddressType
	// Subnet is the subnet from which nodes are reached, if known. Addresses in it are preferred. If a Type is
	// given, but no Subnet (Named), that applies only among addresses of the Type.
	Subnet netip.Prefix
	Named  bool
	// Keep are addresses that come first because they already take traffic.
	Keep []netip.Addr
}

// Nodes returns the targets, sorted by node name, and the names of nodes that should be targets but have no address
// of the family to which a load balancer can send. The first usable address counts, so that a wrong one before it does no harm.
//
// A node that is not Ready stays: its Pods may still serve, and health monitors know better. A node is left out
// while it is being deleted, if it has the exclusion label, and if cluster-autoscaler is about to delete it. A
// cordoned node is never reported as one without an address.
func Nodes(nodes []corev1.Node, c Choice) (targets []Target, addressless []string) {
	for i := range nodes {
		node := &nodes[i]
		if excluded(node) {
			continue
		}
		if all := c.usable(candidates(node, c.Family)); len(all) > 0 {
			targets = append(targets, Target{Node: node.Name, Zone: zone(node), Address: c.of(all)})
		} else if !node.Spec.Unschedulable {
			addressless = append(addressless, node.Name)
		}
	}
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Compare(a.Node, b.Node) })
	slices.Sort(addressless)
	return targets, addressless
}

// AnyChoice reports whether the targets depend on the subnet from which nodes are reached: a node that takes traffic has
// several addresses of the family, or one that is usable only inside of the subnet.
func AnyChoice(nodes []corev1.Node, family corev1.IPFamily) bool {
	return slices.ContainsFunc(nodes, func(n corev1.Node) bool {
		if excluded(&n) {
			return false
		}
		all := candidates(&n, family)
		return len(all) > 1 || len(all) == 1 && !usable(all[0].address, netip.Prefix{})
	})
}

// Addresses returns all addresses of a node that a Choice may select.
func Addresses(node *corev1.Node) []netip.Addr {
	var all []netip.Addr
	for _, c := range slices.Concat(candidates(node, corev1.IPv4Protocol), candidates(node, corev1.IPv6Protocol)) {
		all = append(all, c.address)
	}
	return all
}

// SameNode reports whether the change from a to b does not concern load balancers, such as the frequent heartbeats
// of nodes.
func SameNode(a, b *corev1.Node) bool {
	same := func(family corev1.IPFamily) bool { return slices.Equal(candidates(a, family), candidates(b, family)) }
	return excluded(a) == excluded(b) && zone(a) == zone(b) && same(corev1.IPv4Protocol) && same(corev1.IPv6Protocol)
}

// TakesTraffic reports whether a node takes traffic of Services that select it. A node that has just joined may have no
// address yet.
func TakesTraffic(node *corev1.Node) bool {
	return !excluded(node) && len(candidates(node, corev1.IPv4Protocol))+len(candidates(node, corev1.IPv6Protocol)) > 0
}

func zone(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }

func excluded(node *corev1.Node) bool {
	_, labelled := node.Labels[excludeLabel]
	return labelled || node.DeletionTimestamp != nil || slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == autoscalerTaint })
}

// candidate is an address that may take traffic.
type candidate struct {
	kind    corev1.NodeAddressType
	address netip.Addr
}

// candidates returns the eligible addresses of the family, in the order of the node.
func candidates(node *corev1.Node, family corev1.IPFamily) []candidate {
	var all []candidate
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		address, err := netip.ParseAddr(a.Address)
		// An address with a zone is meaningful on the node only.
		if err == nil && address.Zone() == "" && address.Unmap().Is4() == (family == corev1.IPv4Protocol) {
			all = append(all, candidate{a.Type, address.Unmap()})
		}
	}
	return all
}

// of selects one of the candidates, of which there is at least one.
func (c Choice) of(all []candidate) netip.Addr {
	// Lower is better. In order of importance: kept; in the subnet, if that matters more than the type; of the
	// type; in the subnet.
	rank := func(a candidate) (n int) {
		if !slices.Contains(c.Keep, a.address) {
			n += 8
		}
		if !c.Subnet.Contains(a.address) {
			n++
			if c.Named || c.Type == "" {
				n += 4
			}
		}
		if a.kind != cmp.Or(c.Type, corev1.NodeInternalIP) {
			n += 2
		}
		return n
	}
	return slices.MinFunc(all, func(a, b candidate) int { return rank(a) - rank(b) }).address
}

// WithEndpoints returns the targets whose node has a ready endpoint of the Service, for externalTrafficPolicy Local
// without a health monitor that detects this. A terminating endpoint that still serves counts if it is the node's
// last, as for kube-proxy (KEP-1669). The slices are all of the Service's.
func WithEndpoints(targets []Target, slicesOfService []discoveryv1.EndpointSlice) []Target {
	serving := map[string]bool{}
	for _, s := range slicesOfService {
		for _, e := range s.Endpoints {
			// The API defines nil as ready, and as not serving.
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			if e.NodeName != nil && (ready || e.Conditions.Serving != nil && *e.Conditions.Serving) {
				serving[*e.NodeName] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return !serving[t.Node] })
}
