// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"slices"
)

// PartName names a listener, pool or health monitor, by its kind and its id.
func PartName(kind, id string) string { return kind + " " + id }

// MemberName names a member. Its id is unknown after a write, but a pool has only one member with this address and
// port.
func MemberName(poolID string, k MemberKey) string {
	return fmt.Sprintf("member %s port %d of pool %s", k.Address, k.Port, poolID)
}

// PartNames returns the names of all listeners, pools, health monitors and members of the load balancer that have an
// id.
func (l LoadBalancer) PartNames() map[string]bool {
	names := map[string]bool{}
	add := func(kind, id string) {
		if id != "" {
			names[PartName(kind, id)] = true
		}
	}
	addPool := func(p Pool) {
		add("pool", p.ID)
		if p.Monitor != nil {
			add("health monitor", p.Monitor.ID)
		}
		for _, m := range p.Members {
			names[MemberName(p.ID, m.Key())] = true
		}
	}
	for _, listener := range l.Listeners {
		add("listener", listener.ID)
		if listener.Pool != nil {
			addPool(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		addPool(p)
	}
	return names
}

// WithoutParts returns a copy of the load balancer without the parts that have the names.
func (l LoadBalancer) WithoutParts(names []string) LoadBalancer {
	leaves := func(kind, id string) bool { return slices.Contains(names, PartName(kind, id)) }
	rest := func(p Pool) *Pool {
		if leaves("pool", p.ID) {
			return nil
		}
		if p.Monitor != nil && leaves("health monitor", p.Monitor.ID) {
			p.Monitor = nil
		}
		p.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool { return slices.Contains(names, MemberName(p.ID, m.Key())) })
		return &p
	}
	listeners := l.Listeners
	l.Listeners = nil
	for _, listener := range listeners {
		if leaves("listener", listener.ID) {
			continue
		}
		if listener.Pool != nil {
			listener.Pool = rest(*listener.Pool)
		}
		l.Listeners = append(l.Listeners, listener)
	}
	detached := l.DetachedPools
	l.DetachedPools = nil
	for _, p := range detached {
		if still := rest(p); still != nil {
			l.DetachedPools = append(l.DetachedPools, *still)
		}
	}
	return l
}
