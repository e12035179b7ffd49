// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"bytes"
	"slices"
	"time"
)

// What a change comes to. Octavia's worker and its providers say for each part when
// it is ACTIVE, and forget some.

// changeTime is what a change takes that takes an amphora so long.
func changeTime(lb *loadBalancer, amphorae time.Duration) time.Duration {
	if lb.provider == ovn {
		return amphorae / 10
	}
	return amphorae
}

// rulesFit reports whether Octavia can make the rules of the VIP's security group.
// It makes each for the families of all VIPs, so that a source range makes it
// fail when there are both.
func rulesFit(lb *loadBalancer) bool {
	both := slices.ContainsFunc(lb.additional, func(a additionalVIP) bool { return isIPv6(a.address) != isIPv6(lb.address) })
	return !both || !slices.ContainsFunc(lb.listeners, func(l *listener) bool { return len(l.cidrs) > 0 })
}

// children returns all parts of a load balancer that Octavia brings to ACTIVE
// with it. With amphorae it forgets pools that no listener and no policy uses.
func children(lb *loadBalancer) []*object {
	var all []*object
	used := map[*pool]bool{}
	for _, l := range lb.listeners {
		all = append(all, &l.object)
		used[l.pool] = true
		for _, policy := range l.policies {
			all = append(all, &policy.object)
			used[policy.pool] = true
			for _, rule := range policy.rules {
				all = append(all, &rule.object)
			}
		}
	}
	for _, p := range lb.pools {
		if used[p] || lb.provider == ovn {
			all = append(all, poolParts(p)...)
		}
	}
	return all
}

// poolParts returns a pool and what is in it.
func poolParts(p *pool) []*object {
	all := []*object{&p.object}
	if p.monitor != nil {
		all = append(all, &p.monitor.object)
	}
	for _, m := range p.members {
		all = append(all, &m.object)
	}
	return all
}

// finished returns the parts that become ACTIVE with a new load balancer. The others
// stay in PENDING_CREATE: with provider ovn the health monitors, which it never makes,
// and with amphorae everything if stuck says so.
func finished(lb *loadBalancer, stuck bool) []*object {
	if lb.provider != ovn {
		if stuck {
			return nil
		}
		return children(lb)
	}
	all := children(lb)
	for _, p := range lb.pools {
		if p.monitor != nil {
			p.monitor.unmade = true
			all = slices.DeleteFunc(all, func(o *object) bool { return o == &p.monitor.object })
		}
	}
	return all
}

// alsoActive returns what becomes ACTIVE besides the parts that a change touched: the
// worker for amphorae, when it has changed anything about a pool, says so of all
// listeners that are just being created.
func alsoActive(lb *loadBalancer, touched []*object) []*object {
	if lb.provider == ovn || !slices.ContainsFunc(lb.pools, func(p *pool) bool { return slices.Contains(touched, &p.object) }) {
		return nil
	}
	var also []*object
	for _, l := range lb.listeners {
		if l.prov == pendingCreate {
			also = append(also, &l.object)
		}
	}
	return also
}

// aboveMonitor returns what a change of the pool's monitor puts into PENDING_UPDATE, and
// what of it becomes ACTIVE afterwards. Provider ovn does not say so of the listeners,
// and when the monitor is deleted it says so of the first pool that it finds, not of
// this one.
func aboveMonitor(p *pool, deletes bool) (pending, finished []*object) {
	pending = abovePart(p)
	if p.lb.provider != ovn {
		return pending, pending
	}
	if !deletes {
		return pending, []*object{&p.object}
	}
	first := slices.MinFunc(p.lb.pools, func(a, b *pool) int { return bytes.Compare(a.id[:], b.id[:]) })
	return pending, []*object{&first.object}
}

// abovePart returns what a change of something in the pool puts into PENDING_UPDATE
// with it: the pool and the listeners it serves.
func abovePart(p *pool) []*object {
	above := []*object{&p.object}
	for _, l := range p.listeners() {
		above = append(above, &l.object)
	}
	return above
}

// neverEnds reports whether a change of the monitor locks the load balancer for ever: one
// that provider ovn has not made it does not find.
func neverEnds(m *monitor) bool { return m.unmade }

// givesUpOnTwins reports whether a batch that names a member twice locks the load
// balancer for ever, as the worker for amphorae does.
func givesUpOnTwins(lb *loadBalancer) bool { return lb.provider != ovn }
