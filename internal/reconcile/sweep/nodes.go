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

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// nodes reports nodes that should be members but have no address to which a load balancer can send,
// according to the cache. A node gets its addresses a moment after it joins, so one without any is
// reported after two checks in a row.
type nodes struct {
	Options
	// found is the result of the last check, reported what was reported: what is missing by node.
	found, reported map[string]lack
}

// lack is what a node lacks to be a member.
type lack struct {
	// families are those of the missing addresses.
	families string
	// unusable are the addresses of these families that the node has, or "".
	unusable string
}

// note is the text of the event.
func (l lack) note() string {
	const set = "Its kubelet (--node-ip) or cloud controller sets these; other nodes are not affected"
	if l.unusable == "" {
		return fmt.Sprintf("load balancers cannot send traffic to this node: its status has neither an InternalIP nor an ExternalIP of family %s. %s", l.families, set)
	}
	return fmt.Sprintf("load balancers cannot send traffic to this node: address %s of its status cannot be that of a member, and there is no other InternalIP or ExternalIP "+
		"of family %s. %s", l.unusable, l.families, set)
}

// check makes one check.
func (n *nodes) check(ctx context.Context) error {
	var all corev1.NodeList
	if err := n.Finder.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	owners, err := n.Finder.Owners().List(ctx)
	if err != nil {
		return err
	}
	before := n.found
	n.found = n.missing(all.Items, owners)
	reported := map[string]lack{}
	for i := range all.Items {
		node := &all.Items[i]
		missing, lacks := n.found[node.Name]
		if _, lacked := before[node.Name]; !lacks || !lacked && missing.unusable == "" {
			continue
		}
		reported[node.Name] = missing
		if n.reported[node.Name] != missing {
			n.Recorder.Eventf(node, nil, corev1.EventTypeWarning, status.ReasonNoMemberAddress, "Reconcile", "%s", status.Note(missing.note()))
		}
	}
	n.reported = reported
	n.Metrics.Addressless.Set(float64(len(reported)))
	return nil
}

// missing returns, by node name, the addresses that the node lacks and that owners need whose selector
// matches it.
func (n *nodes) missing(all []corev1.Node, owners []claim.Owner) map[string]lack {
	without := map[corev1.IPFamily][]string{}
	unusable := map[string]map[string]string{}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		choice := member.Choice{Family: family}
		_, without[family] = member.Nodes(all, choice)
		for _, left := range member.Unusable(all, choice) {
			if unusable[left.Node] == nil {
				unusable[left.Node] = map[string]string{}
			}
			unusable[left.Node][string(family)] = left.Text()
		}
	}
	needed := map[string][]string{}
	for _, o := range owners {
		selector, err := o.Spec.Selector()
		if err != nil || !o.Serves || o.Spec.PodTargets() {
			continue
		}
		families := desired.Input{Spec: o.Spec}.Families()
		if !n.Memory.DualStack(o.Key) {
			families = families[:1]
		}
		for _, node := range all {
			has := slices.ContainsFunc(families, func(f corev1.IPFamily) bool { return !slices.Contains(without[f], node.Name) })
			if !has && selector.Matches(node.Labels) {
				needed[node.Name] = append(needed[node.Name], string(families[0]))
			}
		}
	}
	missing := map[string]lack{}
	for name, families := range needed {
		slices.Sort(families)
		families = slices.Compact(families)
		var bad []string
		for _, family := range families {
			if text := unusable[name][family]; text != "" {
				bad = append(bad, text)
			}
		}
		missing[name] = lack{families: strings.Join(families, " and "), unusable: strings.Join(bad, ", ")}
	}
	return missing
}
