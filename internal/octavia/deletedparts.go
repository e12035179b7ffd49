// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// withoutDeleted returns the tree without the parts that Octavia is deleting, besides those that are known.
func (t Tree) withoutDeleted(known map[string]bool) Tree {
	leaves := func(p part) bool { return p.ProvisioningStatus == lb.PendingDelete && !known[p.ID] }
	t.Listeners = without(t.Listeners, func(l treeListener) bool { return leaves(l.part) })
	for i, listener := range t.Listeners {
		pools := without(listener.Pools, func(p treePool) bool { return leaves(p.part) })
		for j, pool := range pools {
			if pool.Monitor != nil && leaves(*pool.Monitor) {
				pools[j].Monitor = nil
			}
			pools[j].Members = without(pool.Members, func(m treeMember) bool { return leaves(m.part) })
		}
		t.Listeners[i].Pools = pools
	}
	return t
}

// without returns a copy of the slice without some elements.
func without[T any](all []T, leaves func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), leaves)
}

// partsOf returns the ids of all parts of the load balancer that have one.
func partsOf(l lb.LoadBalancer) map[string]bool {
	ids := map[string]bool{}
	add := func(p lb.Pool) {
		ids[p.ID] = true
		if p.Monitor != nil {
			ids[p.Monitor.ID] = true
		}
		for _, m := range p.Members {
			ids[m.ID] = true
		}
	}
	for _, listener := range l.Listeners {
		ids[listener.ID] = true
		if listener.Pool != nil {
			add(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		add(p)
	}
	return ids
}
