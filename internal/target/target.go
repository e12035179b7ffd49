// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package target decides which members the pools of a Service have: the
// addresses of the nodes that take the cluster's traffic.
//
// It is pure: Kubernetes objects as plain data in, addresses out.
package target

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Labels and taints that keep a node out of load balancers.
const (
	// excludeLabel is Kubernetes' own, whatever its value (KEP-1143).
	excludeLabel = corev1.LabelNodeExcludeBalancers
	// autoscalerTaint is what cluster-autoscaler sets on a node that it is
	// about to delete.
	autoscalerTaint = "ToBeDeletedByClusterAutoscaler"
)

// Target is where traffic for one node goes.
type Target struct {
	// Node is the node's name.
	Node string
	// Address is the one of its addresses that takes traffic.
	Address netip.Addr
}

// Choice says which of a node's addresses takes traffic. Only an InternalIP or an
// ExternalIP of the family does.
type Choice struct {
	Family corev1.IPFamily
	// Type is the type that comes first, where somebody chose one; otherwise that is
	// InternalIP. A node that has none of it has one of the other type.
	Type corev1.NodeAddressType
	// Subnet is from where nodes are reached, as far as that is known. An address inside it
	// comes first; where somebody chose a Type, and nobody the Subnet (Named), only among
	// those of the Type.
	Subnet netip.Prefix
	Named  bool
	// Keep are addresses that come before all others, since they take traffic already.
	Keep []netip.Addr
}

// Nodes returns the targets, sorted by node name, and the names of nodes that should be
// there and have no address of the family.
//
// A node that is not Ready stays: its pods may well go on serving, and health
// monitors know better. A node is left out when it is being deleted, when it
// bears the exclusion label and when the cluster autoscaler is about to delete
// it. One that is cordoned is not missed.
func Nodes(nodes []corev1.Node, c Choice) (targets []Target, addressless []string) {
	for i := range nodes {
		node := &nodes[i]
		if excluded(node) {
			continue
		}
		if all := candidates(node, c.Family); len(all) > 0 {
			targets = append(targets, Target{Node: node.Name, Address: c.of(all)})
		} else if !node.Spec.Unschedulable {
			addressless = append(addressless, node.Name)
		}
	}
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Compare(a.Node, b.Node) })
	slices.Sort(addressless)
	return targets, addressless
}

// AnyChoice reports whether some node that takes traffic has several addresses of the family.
func AnyChoice(nodes []corev1.Node, family corev1.IPFamily) bool {
	return slices.ContainsFunc(nodes, func(n corev1.Node) bool { return !excluded(&n) && len(candidates(&n, family)) > 1 })
}

// Addresses returns all addresses of a node that a Choice may choose.
func Addresses(node *corev1.Node) []netip.Addr {
	var all []netip.Addr
	for _, c := range slices.Concat(candidates(node, corev1.IPv4Protocol), candidates(node, corev1.IPv6Protocol)) {
		all = append(all, c.address)
	}
	return all
}

// SameNode reports whether a change from a to b leaves the node's part in load
// balancers as it is. Nodes report heartbeats all the time; this is what lets
// them pass.
func SameNode(a, b *corev1.Node) bool {
	same := func(family corev1.IPFamily) bool { return slices.Equal(candidates(a, family), candidates(b, family)) }
	return excluded(a) == excluded(b) && same(corev1.IPv4Protocol) && same(corev1.IPv6Protocol)
}

func excluded(node *corev1.Node) bool {
	if node.DeletionTimestamp != nil {
		return true
	}
	if _, labelled := node.Labels[excludeLabel]; labelled {
		return true
	}
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == autoscalerTaint })
}

// candidate is an address that may take traffic.
type candidate struct {
	kind    corev1.NodeAddressType
	address netip.Addr
}

// candidates are the node's addresses of the family that may take traffic, in its order.
func candidates(node *corev1.Node, family corev1.IPFamily) []candidate {
	var all []candidate
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		address, err := netip.ParseAddr(a.Address)
		// An address with a zone has a meaning on the node only.
		if err == nil && address.Zone() == "" && address.Unmap().Is4() == (family == corev1.IPv4Protocol) {
			all = append(all, candidate{a.Type, address.Unmap()})
		}
	}
	return all
}

// of chooses one of the candidates, of which there is at least one.
func (c Choice) of(all []candidate) netip.Addr {
	// What outweighs what: kept, inside the subnet where that counts for more than the
	// type, of the type, inside the subnet.
	behind := func(a candidate) (n int) {
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
	return slices.MinFunc(all, func(a, b candidate) int { return behind(a) - behind(b) }).address
}

// WithEndpoints keeps the targets whose node runs a ready endpoint of the
// Service, for externalTrafficPolicy Local where no health monitor can find out.
// The slices are all of the Service's. An endpoint that is shutting down and
// still serves counts while it is the node's last, as for kube-proxy
// (KEP-1669).
func WithEndpoints(targets []Target, slicesOfService []discoveryv1.EndpointSlice) []Target {
	serving := map[string]bool{}
	for _, s := range slicesOfService {
		for _, e := range s.Endpoints {
			if e.NodeName != nil && (isTrue(e.Conditions.Ready, true) || isTrue(e.Conditions.Serving, false)) {
				serving[*e.NodeName] = true
			}
		}
	}
	var local []Target
	for _, t := range targets {
		if serving[t.Node] {
			local = append(local, t)
		}
	}
	return local
}

// isTrue reads a condition of an endpoint; the API says what nil means.
func isTrue(condition *bool, otherwise bool) bool {
	if condition == nil {
		return otherwise
	}
	return *condition
}
