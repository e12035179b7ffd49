// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// addressless tells of nodes that are to be members and have no address for that. It looks
// when the sweeper does, at what the caches have: a node that has just joined gets its
// addresses a moment later, so it is told of when two looks in a row found none.
type addressless struct {
	planner  *Planner
	memory   *memory
	recorder events.EventRecorder
	metrics  *metrics.Metrics
	// found is what the last look found, told what was said of it.
	found, told map[string]string
}

// look makes one look.
func (a *addressless) look(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := a.planner.Reader.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var services corev1.ServiceList
	if err := a.planner.Reader.List(ctx, &services); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	before := a.found
	a.found = a.lacks(nodes.Items, services.Items)
	told := map[string]string{}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		lacks := a.found[n.Name]
		if lacks == "" || before[n.Name] == "" {
			continue
		}
		told[n.Name] = lacks
		if a.told[n.Name] != lacks {
			a.recorder.Eventf(n, nil, corev1.EventTypeWarning, status.ReasonNoMemberAddress, "Reconcile",
				"load balancers cannot send traffic to this node: its status has neither an InternalIP nor an ExternalIP of family %s. Its kubelet or cloud controller sets these; other nodes are not affected", lacks)
		}
	}
	a.told = told
	a.metrics.Addressless.Set(float64(len(told)))
	return nil
}

// lacks returns, by the names of nodes, of which families Services that select the node
// need an address that it has not got.
func (a *addressless) lacks(nodes []corev1.Node, services []corev1.Service) map[string]string {
	both := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	without, needed := map[corev1.IPFamily][]string{}, map[corev1.IPFamily]map[string]bool{}
	for _, family := range both {
		_, without[family] = target.Nodes(nodes, target.Choice{Family: family})
		needed[family] = map[string]bool{}
	}
	for i := range services {
		s := &services[i]
		selector, err := annotation.Selector(s.Annotations, a.planner.Config)
		if err != nil || !a.planner.Serves(s) {
			continue
		}
		families := build.Input{Service: s}.Families()
		if !a.memory.dualStack(client.ObjectKeyFromObject(s)) {
			families = families[:1]
		}
		for _, n := range nodes {
			has := slices.ContainsFunc(families, func(f corev1.IPFamily) bool { return !slices.Contains(without[f], n.Name) })
			if !has && selector.Matches(n.Labels) {
				needed[families[0]][n.Name] = true
			}
		}
	}
	found := map[string]string{}
	for _, family := range both {
		for name := range needed[family] {
			found[name] = strings.TrimPrefix(found[name]+" and "+string(family), " and ")
		}
	}
	return found
}
