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
	// Address is its InternalIP of the wanted family.
	Address netip.Addr
}

// Nodes returns the targets of the given IP family, sorted by node name, and
// the names of nodes that should be there and have no InternalIP of the family.
//
// A node that is not Ready stays: its pods may well go on serving, and health
// monitors know better. A node is left out when it is being deleted, when it
// bears the exclusion label and when the cluster autoscaler is about to delete
// it.
func Nodes(nodes []corev1.Node, family corev1.IPFamily) (targets []Target, addressless []string) {
	for i := range nodes {
		node := &nodes[i]
		if excluded(node) {
			continue
		}
		if address, ok := internalIP(node, family); ok {
			targets = append(targets, Target{Node: node.Name, Address: address})
		} else {
			addressless = append(addressless, node.Name)
		}
	}
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Compare(a.Node, b.Node) })
	slices.Sort(addressless)
	return targets, addressless
}

// SameNode tells whether a change from a to b leaves the node's part in load
// balancers as it is. Nodes report heartbeats all the time; this is what lets
// them pass.
func SameNode(a, b *corev1.Node) bool {
	if excluded(a) != excluded(b) {
		return false
	}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		before, _ := internalIP(a, family)
		after, _ := internalIP(b, family)
		if before != after {
			return false
		}
	}
	return true
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

func internalIP(node *corev1.Node, family corev1.IPFamily) (netip.Addr, bool) {
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		address, err := netip.ParseAddr(a.Address)
		// An address with a zone has a meaning on the node only.
		if err == nil && address.Zone() == "" && address.Unmap().Is4() == (family == corev1.IPv4Protocol) {
			return address.Unmap(), true
		}
	}
	return netip.Addr{}, false
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
