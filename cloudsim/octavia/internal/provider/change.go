// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// The result of a change. Octavia's worker and its providers report for each part when it is
// ACTIVE, and forget some parts.

// ChangeTime returns the duration of a change, given the duration with amphorae.
func ChangeTime(lb *model.LoadBalancer, amphorae time.Duration) time.Duration {
	if lb.Provider == OVN {
		return amphorae / 10
	}
	return amphorae
}

// SecurityGroupFits reports whether Octavia before 2025.1 can create the rules of the VIP's security
// group. It creates each rule for the families of all VIPs, so a source range makes it fail if there are
// VIPs of both families.
func SecurityGroupFits(lb *model.LoadBalancer) bool {
	both := slices.ContainsFunc(lb.Additional, func(a model.AdditionalVIP) bool { return IsIPv6(a.Address) != IsIPv6(lb.Address) })
	return !both || !slices.ContainsFunc(lb.Listeners, func(l *model.Listener) bool { return len(l.CIDRs) > 0 })
}

// Children returns all parts of a load balancer that Octavia brings to ACTIVE with it: the whole tree since 2025.1.
// Before, with amphorae, it forgets pools that neither a listener nor a policy uses.
func Children(lb *model.LoadBalancer, wholeTree bool) []*model.Object {
	var all []*model.Object
	used := map[*model.Pool]bool{}
	for _, l := range lb.Listeners {
		all = append(all, &l.Object)
		used[l.Pool] = true
		for _, policy := range l.Policies {
			all = append(all, &policy.Object)
			used[policy.Pool] = true
			for _, rule := range policy.Rules {
				all = append(all, &rule.Object)
			}
		}
	}
	for _, p := range lb.Pools {
		if used[p] || wholeTree || lb.Provider == OVN {
			all = append(all, poolParts(p)...)
		}
	}
	return all
}

// poolParts returns a pool and its parts.
func poolParts(p *model.Pool) []*model.Object {
	all := []*model.Object{&p.Object}
	if p.Monitor != nil {
		all = append(all, &p.Monitor.Object)
	}
	for _, m := range p.Members {
		all = append(all, &m.Object)
	}
	return all
}

// Finished returns the parts that become ACTIVE with a new load balancer: the whole tree since 2025.1. Before, some
// stay in PENDING_CREATE: with provider ovn the health monitors, which it never creates, and with amphorae all parts
// if stuck is true.
func Finished(lb *model.LoadBalancer, wholeTree, stuck bool) []*model.Object {
	all := Children(lb, wholeTree)
	if lb.Provider != OVN && stuck {
		return nil
	}
	if lb.Provider != OVN || wholeTree {
		return all
	}
	for _, p := range lb.Pools {
		if p.Monitor != nil {
			p.Monitor.Unmade = true
			all = slices.DeleteFunc(all, func(o *model.Object) bool { return o == &p.Monitor.Object })
		}
	}
	return all
}

// ActiveBesides returns the parts that become ACTIVE in addition to those that a change touched:
// when the worker for amphorae has changed a pool, it also reports all listeners ACTIVE that are
// just being created.
func ActiveBesides(lb *model.LoadBalancer, touched []*model.Object) []*model.Object {
	if lb.Provider == OVN || !slices.ContainsFunc(lb.Pools, func(p *model.Pool) bool { return slices.Contains(touched, &p.Object) }) {
		return nil
	}
	var also []*model.Object
	for _, l := range lb.Listeners {
		if l.Provisioning == model.PendingCreate {
			also = append(also, &l.Object)
		}
	}
	return also
}

// AboveMonitor returns the parts that a change of the pool's monitor puts into PENDING_UPDATE, and
// those that become ACTIVE afterwards: the whole tree since 2025.1. Before, provider ovn does not
// report the listeners, and when the monitor is deleted it reports the first pool that it finds
// instead of this one.
func AboveMonitor(p *model.Pool, wholeTree, deletes bool) (pending, finished []*model.Object) {
	pending = AbovePool(p)
	if p.LB.Provider != OVN || wholeTree {
		return pending, pending
	}
	if !deletes {
		return pending, []*model.Object{&p.Object}
	}
	first := slices.MinFunc(p.LB.Pools, func(a, b *model.Pool) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return pending, []*model.Object{&first.Object}
}

// AbovePool returns what a change inside the pool also puts into PENDING_UPDATE: the pool and its
// listeners.
func AbovePool(p *model.Pool) []*model.Object {
	above := []*model.Object{&p.Object}
	for _, l := range p.Listeners() {
		above = append(above, &l.Object)
	}
	return above
}

// MonitorNeverEnds reports whether a change of the monitor locks the load balancer forever:
// provider ovn does not find a monitor that it has not created.
func MonitorNeverEnds(m *model.Monitor) bool { return m.Unmade }

// DuplicateNeverEnds reports whether a batch that contains a member twice locks the load balancer
// forever, as it does with amphorae.
func DuplicateNeverEnds(lb *model.LoadBalancer) bool { return lb.Provider != OVN }
