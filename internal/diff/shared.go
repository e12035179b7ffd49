// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Shared reports whether the load balancer, or a listener or pool of it, bears the mark of
// another Service: openstack-cloud-controller-manager lets Services share one that they
// name by its id. It is not the owner's to delete. Nor is one that was created for another
// Service, or by a person, and that the owner uses, too; unless all others have left it.
func Shared(l lb.LoadBalancer, owner lb.Owner) bool {
	return !owner.Owns(l) && !owner.Abandoned(l) || owner.SharedBy(l) != "" ||
		slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool {
			return owner.MarkedByAnother(l, o.Tags) || o.Pool != nil && owner.MarkedByAnother(l, o.Pool.Tags)
		}) ||
		slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return owner.MarkedByAnother(l, p.Tags) })
}

// withdraw plans the end of what the owner has on a load balancer that others use, too:
// its listeners and pools, and its marks. Name, VIP and floating IP stay as they are.
func withdraw(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) Plan {
	have := *observed.LoadBalancer
	plan := Plan{Ops: bequeath(wanted, observed, owner), Refused: []Refusal{{ReasonLoadBalancerInUse, fmt.Sprintf(
		"load balancer %s is used by other Services and stays, with its addresses; only the ports of this Service are removed", have.ID)}}}
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
	if !owner.Sharer {
		tags = lb.Retag(tags, nil)
	}
	if !sameTags(tags, have.Tags) {
		plan.Ops = append(plan.Ops, UpdateLoadBalancer{ID: have.ID, Tags: &tags})
	}
	return plan
}

// bequeath says on the floating IPs of the owner, which stay with the others, whose they
// were and whether a person wants them kept: by that they are known when the last one
// has left. openstack-cloud-controller-manager says no more of them than a name. The
// owner's custom tags go.
func bequeath(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) []Op {
	description := owner.FloatingIPDescription()
	if wanted.KeepFloatingIP {
		description = owner.KeptFloatingIPDescription()
	}
	var ops []Op
	for _, f := range observed.FloatingIPs {
		port := observed.LoadBalancer.VIP.PortID
		if owner.Sharer || port == "" || f.PortID != port {
			continue
		}
		ops = append(ops, retagged(f, nil)...)
		if owner.MadeFloatingIP(f) && f.Description != description {
			ops = append(ops, AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: port, Description: description})
		}
	}
	return ops
}
