// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Some versions of Octavia set a load balancer to ACTIVE and leave parts of it PENDING for ever:
//   - Octavia 11.0 with provider amphora: all children of a load balancer that was created complete
//   - provider ovn: the health monitors of such a create, and at times the pool and listener of a deleted monitor
//
// The effect of a write to such a part differs. The part is repaired, or the write is rejected. For a monitor of
// provider ovn, the load balancer stays PENDING for ever and cannot even be deleted. But in all versions such a pool
// can be deleted, and such a listener can be changed. So the pool is replaced, and the listener is written again.

// LeftBehind reports whether the load balancer is ACTIVE but has PENDING parts of ours. Only later reads can show
// whether Octavia still works on them; New assumes that it does not.
func LeftBehind(l *lb.LoadBalancer, owner lb.Owner) bool {
	return l != nil && l.ProvisioningStatus == lb.Active && AnyOfOurs(*l, owner, lb.ProvisioningStatus.Pending)
}

// UnfinishedIDs returns the ids of our PENDING parts.
func UnfinishedIDs(l lb.LoadBalancer, owner lb.Owner) []string {
	var ids []string
	add := func(id string, s lb.ProvisioningStatus) {
		if s.Pending() {
			ids = append(ids, id)
		}
	}
	addPool := func(p lb.Pool) {
		add(p.ID, p.ProvisioningStatus)
		if p.Monitor != nil {
			add(p.Monitor.ID, p.Monitor.ProvisioningStatus)
		}
		for _, m := range p.Members {
			add(m.ID, m.ProvisioningStatus)
		}
	}
	for _, listener := range l.Listeners {
		if !owner.OwnsListener(listener) {
			continue
		}
		add(listener.ID, listener.ProvisioningStatus)
		if listener.Pool != nil {
			addPool(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		if owner.OwnsPool(p) {
			addPool(p)
		}
	}
	return ids
}

// LeftBehindAtCreation reports whether parts of ours are in PENDING_CREATE. If Octavia left them behind, it will do
// the same with other load balancers that are created with their children.
func LeftBehindAtCreation(l lb.LoadBalancer, owner lb.Owner) bool {
	return AnyOfOurs(l, owner, func(s lb.ProvisioningStatus) bool { return s == lb.PendingCreate })
}

// AnyOfOurs reports whether is(status) is true for one of our listeners or pools, or for a part of such a pool.
func AnyOfOurs(l lb.LoadBalancer, owner lb.Owner, is func(lb.ProvisioningStatus) bool) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return owner.OwnsListener(l) && (is(l.ProvisioningStatus) || l.Pool != nil && l.Pool.Any(is))
	}) || slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return owner.OwnsPool(p) && p.Any(is) })
}

// Repairs reports whether ops repair what Octavia left behind, or has failed to carry out.
func Repairs(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool {
		if _, failed := Failed(op); failed {
			return true
		}
		switch op := op.(type) {
		case UpdateListener:
			return op.LeftBehind
		case DeletePool:
			return op.LeftBehind
		}
		return false
	})
}

// OnlyMembers returns the ops that set the members of finished pools with a listener.
func OnlyMembers(ops []Op, l *lb.LoadBalancer) []Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op Op) bool {
		set, ok := op.(SetMembers)
		return !ok || !slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
			return l.Pool != nil && l.Pool.ID == set.PoolID && !l.Pool.Unfinished()
		})
	})
}

// OnlySources returns the changes of the allowed sources of finished listeners, without their other changes.
func OnlySources(ops []Op, l *lb.LoadBalancer) []Op {
	var sources []Op
	for _, op := range ops {
		update, ok := op.(UpdateListener)
		if ok && update.AllowedCIDRs != nil && slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
			return l.ID == update.ID && !l.ProvisioningStatus.Pending()
		}) {
			sources = append(sources, UpdateListener{ID: update.ID, Key: update.Key, AllowedCIDRs: update.AllowedCIDRs, Failed: update.Failed})
		}
	}
	return sources
}

// deleteLeftBehind deletes replaced pools that were left behind. These deletions do not come at the end of the plan:
// many pools may have to be replaced, and the quota may allow only one additional pool.
func (t *changes) deleteLeftBehind() {
	t.detached = slices.DeleteFunc(t.detached, func(p lb.Pool) bool {
		left := p.Unfinished() && t.owner.OwnsPool(p)
		if left {
			t.leftBehind = append(t.leftBehind, DeletePool{ID: p.ID, Name: p.Name, LeftBehind: true})
		}
		return left
	})
}

// asNew returns a pool for its creation: without ids and statuses, which it has if it was copied from the observed
// pool.
func asNew(p lb.Pool) lb.Pool {
	p.ID, p.ProvisioningStatus = "", ""
	p.Members = slices.Clone(p.Members)
	for i := range p.Members {
		m := &p.Members[i]
		m.ID, m.ProvisioningStatus, m.OperatingStatus = "", "", ""
	}
	if p.Monitor != nil {
		m := *p.Monitor
		m.ID, m.ProvisioningStatus = "", ""
		p.Monitor = &m
	}
	return p
}
