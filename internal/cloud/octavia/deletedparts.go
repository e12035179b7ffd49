// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// withoutDeleted returns the tree without the parts that Octavia is deleting, and without those that our own writes
// have removed, unless they are predicted. left are the names of the latter that the tree still shows.
func (t Tree) withoutDeleted(predicted lb.LoadBalancer, removed []string) (_ Tree, left []string) {
	known := predicted.PartNames()
	leaves := func(p part, name string) bool {
		if known[name] {
			return false
		}
		if slices.Contains(removed, name) {
			left = append(left, name)
			return true
		}
		return p.ProvisioningStatus == lb.PendingDelete
	}
	t.Listeners = without(t.Listeners, func(l treeListener) bool { return leaves(l.part, lb.PartName("listener", l.ID)) })
	for i, listener := range t.Listeners {
		pools := without(listener.Pools, func(p treePool) bool { return leaves(p.part, lb.PartName("pool", p.ID)) })
		for j, pool := range pools {
			if pool.Monitor != nil && leaves(*pool.Monitor, lb.PartName("health monitor", pool.Monitor.ID)) {
				pools[j].Monitor = nil
			}
			pools[j].Members = without(pool.Members, func(m treeMember) bool {
				return leaves(m.part, lb.MemberName(pool.ID, lb.MemberKey{Address: m.Address, Port: m.ProtocolPort}))
			})
		}
		t.Listeners[i].Pools = pools
	}
	return t, left
}

// without returns a copy of the slice without the elements for which leaves returns true.
func without[T any](all []T, leaves func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), leaves)
}
