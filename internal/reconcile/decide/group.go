// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// GroupMember is an owner of a group, whose owners share one load balancer.
type GroupMember struct {
	Owner claim.Owner
	// LoadBalancerID is the id of the load balancer that it has, or "".
	LoadBalancerID string
	// CreateRejected means that the cloud has rejected the last create of a load balancer for it, and that the next one
	// is not due. MayAppear means that a create without an answer may still produce one.
	CreateRejected, MayAppear bool
}

// NamesIDAndGroup reports whether a user requests sharing both by id and by group.
func NamesIDAndGroup(f Facts) bool {
	if f.Owner.Group == "" || f.Owner.Recorded.LoadBalancerID == "" || f.Owner.Copied {
		return false
	}
	// The id on the owner may be that of its own load balancer, which the owner or only the memory shows.
	return f.Owner.LoadBalancerID() == "" && !slices.ContainsFunc(f.Group, func(m GroupMember) bool {
		return m.Owner.UID == f.Owner.UID && m.LoadBalancerID != ""
	})
}

// AwaitsGroup returns a *GroupWait if another owner of the group has to create the load balancer.
func AwaitsGroup(f Facts, observed lb.Observed) error {
	if observed.LoadBalancer != nil || len(f.Group) == 0 {
		return nil
	}
	creator := CreatorOf(f.Group)
	if creator.UID == f.Owner.UID {
		return nil
	}
	return &GroupWait{For: creator.Key.String()}
}

// LoadBalancersOf returns the ids of the load balancers of a group. The first one is that of most owners; if several have
// the same number of owners, it is that of the oldest owner. The others are deleted, or belong to owners that had a load
// balancer before they joined the group. The group is sorted by age.
func LoadBalancersOf(group []GroupMember) []string {
	var ids []string
	users := map[string]int{}
	for _, m := range group {
		users[m.LoadBalancerID]++
		if m.LoadBalancerID != "" && users[m.LoadBalancerID] == 1 {
			ids = append(ids, m.LoadBalancerID)
		}
	}
	slices.SortStableFunc(ids, func(a, b string) int { return users[b] - users[a] })
	return ids
}

// CreatorOf returns the owner of a group that creates its load balancer. It prefers owners that are not refused, then
// owners whose create the cloud has not just rejected, then one that may have started the create, and then the oldest
// one. The group has an owner, and is sorted by age.
func CreatorOf(group []GroupMember) claim.Owner {
	refused := func(m GroupMember) bool { return m.Owner.Recorded.Refused }
	rejected := func(m GroupMember) bool { return m.CreateRejected }
	for _, out := range []func(GroupMember) bool{refused, rejected} {
		others := slices.DeleteFunc(slices.Clone(group), out)
		if len(others) > 0 {
			group = others
		}
	}
	started := slices.IndexFunc(group, func(m GroupMember) bool { return m.Owner.Claimed || m.MayAppear })
	return group[max(started, 0)].Owner
}
