// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Shared reports whether the load balancer must not be deleted with the owner's Service, because
//   - it, a listener or a pool has the mark of another Service: openstack-cloud-controller-manager lets Services share
//     a load balancer that they name by its id,
//   - or it was created for another Service, or by a user, and other Services still use it.
func Shared(l lb.LoadBalancer, owner lb.Owner) bool {
	return !owner.Owns(l) && !owner.Abandoned(l) || owner.SharedBy(l) != "" ||
		slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool {
			return owner.MarkedByAnother(l, o.Tags) || o.Pool != nil && owner.MarkedByAnother(l, o.Pool.Tags)
		}) ||
		slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return owner.MarkedByAnother(l, p.Tags) })
}

// leaveShared removes the owner's listeners, pools and marks from a load balancer with sharers. Name, VIP and
// floating IP stay.
func leaveShared(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) Plan {
	have := *observed.LoadBalancer
	plan := Plan{Ops: handOver(wanted, observed, owner), Refused: []Refusal{{ReasonLoadBalancerInUse, fmt.Sprintf(
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
	drop := func(p lb.Pool) {
		if !kept[p.ID] {
			kept[p.ID] = true
			pools = append(pools, DeletePool{ID: p.ID, Name: p.Name, Failed: inError(p.ProvisioningStatus)})
		}
	}
	for _, l := range have.Listeners {
		if owner.OwnsListener(l) {
			plan.Ops = append(plan.Ops, deleteListener(l))
			if l.Pool != nil {
				drop(*l.Pool)
			}
		}
	}
	for _, p := range have.DetachedPools {
		if owner.OwnsPool(p) {
			drop(p)
		}
	}
	plan.Ops = append(plan.Ops, pools...)
	tags := slices.DeleteFunc(slices.Clone(have.Tags), func(t string) bool { return t == owner.LoadBalancerName() || t == owner.ServiceTag() })
	if !owner.Sharer {
		tags = lb.Retag(tags, nil)
		// The cluster's mark shows the last sharer that the load balancer was created for a Service of the cluster, so
		// that the sharer may delete it. A load balancer of openstack-cloud-controller-manager does not have this mark
		// yet. Neither does one whose tags another client removed.
		if cluster := lb.ClusterTag(owner.ClusterUID); !slices.Contains(tags, cluster) {
			tags = append(tags, cluster)
		}
	}
	if !sameTags(tags, have.Tags) {
		plan.Ops = append(plan.Ops, UpdateLoadBalancer{ID: have.ID, Tags: &tags})
	}
	return plan
}

// handOver writes descriptions of the owner's floating IPs, which stay with the sharers: a description marks a
// floating IP as created for the owner, or as kept for a user. So they are recognized when the last sharer has left.
// The descriptions of openstack-cloud-controller-manager have only a name. The owner's custom tags are removed.
func handOver(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) []Op {
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
