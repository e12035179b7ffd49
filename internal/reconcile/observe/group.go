// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
)

// The Services of a group share one load balancer: the one that most of them have. If there
// is none, one of them creates it, and the others wait until its id is on that Service. All
// this depends on the Services alone, so it survives a restart.

// WithGroup adds the owners of the owner's group to the facts, the oldest first.
func (ob *Observer) WithGroup(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	f.Group = nil
	if f.Owner.Group == "" {
		return f, nil
	}
	all, err := ob.Owners.List(ctx)
	if err != nil {
		return f, err
	}
	owners := []claim.Owner{f.Owner}
	for _, o := range all {
		if o.UID != f.Owner.UID && o.Group == f.Owner.Group {
			owners = append(owners, o)
		}
	}
	slices.SortFunc(owners, func(a, b claim.Owner) int {
		return cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Kind, b.Key.Kind))
	})
	for _, o := range owners {
		member := decide.GroupMember{Owner: o, LoadBalancerID: ob.knownLoadBalancer(o)}
		if ob.Remembered != nil {
			member.CreateRejected, member.MayAppear = ob.Remembered.CreateRejected(o.Key, f.Now), ob.Remembered.MayAppear(o.Key)
		}
		f.Group = append(f.Group, member)
	}
	return f, nil
}

// knownLoadBalancer returns the id of the owner's load balancer, or "". The id of a new load balancer may be only in memory.
func (ob *Observer) knownLoadBalancer(of claim.Owner) string {
	id := of.LoadBalancerID()
	if id == "" && ob.Remembered != nil {
		id = ob.Remembered.LoadBalancerOf(of.Key)
	}
	return id
}
