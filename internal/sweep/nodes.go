// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// nodes reports nodes that should be members but have no address, according to the cache. A node
// gets its addresses a moment after it joins, so it is reported after two checks in a row.
type nodes struct {
	Options
	// found is the result of the last check, reported what was reported: the missing address
	// families by node.
	found, reported map[string]string
}

// check makes one check.
func (n *nodes) check(ctx context.Context) error {
	var all corev1.NodeList
	if err := n.Finder.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var services corev1.ServiceList
	if err := n.Finder.Reader.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	before := n.found
	n.found = n.missing(all.Items, services.Items)
	reported := map[string]string{}
	for i := range all.Items {
		node := &all.Items[i]
		missing := n.found[node.Name]
		if missing == "" || before[node.Name] == "" {
			continue
		}
		reported[node.Name] = missing
		if n.reported[node.Name] != missing {
			n.Recorder.Eventf(node, nil, corev1.EventTypeWarning, status.ReasonNoMemberAddress, "Reconcile",
				"load balancers cannot send traffic to this node: its status has neither an InternalIP nor an ExternalIP of family %s. Its kubelet or cloud controller sets these; other nodes are not affected", missing)
		}
	}
	n.reported = reported
	n.Metrics.Addressless.Set(float64(len(reported)))
	return nil
}

// missing returns, by node name, the families of the addresses that the node lacks and that
// Services need whose selector matches it.
func (n *nodes) missing(all []corev1.Node, services []corev1.Service) map[string]string {
	without := map[corev1.IPFamily][]string{}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		_, without[family] = target.Nodes(all, target.Choice{Family: family})
	}
	needed := map[string][]string{}
	for i := range services {
		s := &services[i]
		settings := n.Finder.ConfigOf(s, n.Finder.Config)
		selector, err := annotation.Selector(s.Annotations, settings)
		if err != nil || !n.Finder.Serves(s) || build.PodTargets(s, settings) {
			continue
		}
		families := build.Input{Service: s}.Families()
		if !n.Memory.DualStack(client.ObjectKeyFromObject(s)) {
			families = families[:1]
		}
		for _, node := range all {
			has := slices.ContainsFunc(families, func(f corev1.IPFamily) bool { return !slices.Contains(without[f], node.Name) })
			if !has && selector.Matches(node.Labels) {
				needed[node.Name] = append(needed[node.Name], string(families[0]))
			}
		}
	}
	missing := map[string]string{}
	for name, families := range needed {
		slices.Sort(families)
		missing[name] = strings.Join(slices.Compact(families), " and ")
	}
	return missing
}
