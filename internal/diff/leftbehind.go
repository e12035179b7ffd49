// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Some versions of Octavia make a load balancer ACTIVE and leave parts of it
// PENDING for ever: Octavia 11.0 with provider amphora everything below a load
// balancer that was created complete, provider ovn the health monitors of such a
// create, and at times what is above a monitor that was deleted. What becomes of
// a write to such a part differs: it is repaired, or it is refused, or, with a
// monitor of provider ovn, the load balancer is locked for ever, also against its
// deletion. All of them let such a pool be deleted, though, and such a listener
// be changed. So another pool takes the pool's place, and the listener is written
// to once more.

// LeftBehind reports whether the load balancer is ACTIVE and has parts of ours
// that are PENDING nevertheless. Whether Octavia is still at work on them only
// time can tell; New takes them for left behind.
func LeftBehind(l *lb.LoadBalancer, owner lb.Owner) bool {
	return l != nil && l.ProvisioningStatus == lb.Active && anyOfOurs(*l, owner, lb.ProvisioningStatus.Pending)
}

// UnfinishedIDs returns the ids of the parts of ours that are PENDING.
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

// LeftBehindAtCreation reports whether parts of ours are in PENDING_CREATE. When they were
// left behind, so will be others that are created together with their load
// balancer.
func LeftBehindAtCreation(l lb.LoadBalancer, owner lb.Owner) bool {
	return anyOfOurs(l, owner, func(s lb.ProvisioningStatus) bool { return s == lb.PendingCreate })
}

func anyOfOurs(l lb.LoadBalancer, owner lb.Owner, is func(lb.ProvisioningStatus) bool) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return owner.OwnsListener(l) && (is(l.ProvisioningStatus) || l.Pool != nil && l.Pool.Any(is))
	}) || slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return owner.OwnsPool(p) && p.Any(is) })
}

// Repairs reports whether ops are there because of what was left behind.
func Repairs(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool {
		switch op := op.(type) {
		case UpdateListener:
			return op.LeftBehind
		case DeletePool:
			return op.LeftBehind
		}
		return false
	})
}

// OnlyMembers returns those of the ops that set the members of pools which
// listeners have and which are finished.
func OnlyMembers(ops []Op, l *lb.LoadBalancer) []Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op Op) bool {
		set, ok := op.(SetMembers)
		return !ok || !slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
			return l.Pool != nil && l.Pool.ID == set.PoolID && !l.Pool.Unfinished()
		})
	})
}

// OnlySources returns those of the ops that change who may connect to listeners
// which are finished, and leaves out what else they change.
func OnlySources(ops []Op, l *lb.LoadBalancer) []Op {
	var sources []Op
	for _, op := range ops {
		update, ok := op.(UpdateListener)
		if ok && update.AllowedCIDRs != nil && slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
			return l.ID == update.ID && !l.ProvisioningStatus.Pending()
		}) {
			sources = append(sources, UpdateListener{ID: update.ID, Key: update.Key, AllowedCIDRs: update.AllowedCIDRs})
		}
	}
	return sources
}

// removeLeft plans the end of pools that were left behind and have been replaced.
// It does not come last: many may have to be replaced, and the quota may hold no
// more than one pool besides those that are needed.
func (t *tree) removeLeft() {
	t.detached = slices.DeleteFunc(t.detached, func(p lb.Pool) bool {
		left := p.Unfinished() && t.owner.OwnsPool(p)
		if left {
			t.left = append(t.left, DeletePool{ID: p.ID, Name: p.Name, LeftBehind: true})
		}
		return left
	})
}

// unmade returns a pool as it is to be made: what is wanted may have been
// observed, with the statuses of what it is to replace.
func unmade(p lb.Pool) lb.Pool {
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
