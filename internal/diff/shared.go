// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Shared tells whether the load balancer, or a listener or pool of it, bears the mark of
// another Service: openstack-cloud-controller-manager lets Services share one that they
// name by its id. It is not the owner's to delete. Nor is one that was made for somebody
// else, or by a person, and that the owner uses, too; unless all others have left it.
func Shared(l lb.LoadBalancer, owner lb.Owner) bool {
	return !owner.Owns(l) && !owner.Abandoned(l) || owner.SharedBy(l) != "" ||
		slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool {
			return owner.MarkedByAnother(l, o.Tags) || o.Pool != nil && owner.MarkedByAnother(l, o.Pool.Tags)
		}) ||
		slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return owner.MarkedByAnother(l, p.Tags) })
}

// withdraw plans the end of what the owner has on a load balancer that others use, too:
// its listeners and pools, and its marks. Name, VIP and floating IP stay as they are.
func withdraw(have lb.LoadBalancer, owner lb.Owner) Plan {
	plan := Plan{Refused: []Refusal{{ReasonSharedLoadBalancer, fmt.Sprintf(
		"load balancer %s also serves others, and stays with its addresses; the ports of this Service are taken off it", have.ID)}}}
	if have.ProvisioningStatus != lb.Active {
		return plan
	}
	kept := map[string]bool{}
	for _, l := range have.Listeners {
		if l.Pool != nil && !owner.OwnsListener(l) {
			kept[l.Pool.ID] = true
		}
	}
	var pools []Op
	end := func(p lb.Pool) {
		if !kept[p.ID] {
			kept[p.ID] = true
			pools = append(pools, DeletePool{ID: p.ID, Name: p.Name})
		}
	}
	for _, l := range have.Listeners {
		if owner.OwnsListener(l) {
			plan.Ops = append(plan.Ops, DeleteListener{ID: l.ID, Key: l.Key()})
			if l.Pool != nil {
				end(*l.Pool)
			}
		}
	}
	for _, p := range have.DetachedPools {
		if owner.OwnsPool(p) {
			end(p)
		}
	}
	plan.Ops = append(plan.Ops, pools...)
	// The mark of the cluster stays: by it the last one knows that nobody else has a use for it.
	tags := slices.DeleteFunc(slices.Clone(have.Tags), func(t string) bool { return t == owner.LoadBalancerName() || t == owner.ServiceTag() })
	if len(tags) != len(have.Tags) {
		plan.Ops = append(plan.Ops, UpdateLoadBalancer{ID: have.ID, Tags: &tags})
	}
	return plan
}
