// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
)

// awaitParts gives parts that are PENDING below an ACTIVE load balancer their time: whatever
// is written to them may be refused. Parts that are still PENDING later are what Octavia
// left behind, and are planned for. When one of them has become ACTIVE, Octavia is at work
// on them, and the others get as much time again.
func awaitParts(f Facts, d Decision) Decision {
	l, was := f.loadBalancer(), f.Record.Unfinished
	switch {
	case f.Preview, l != nil && l.ProvisioningStatus.Pending():
		return d // nothing can be done now, and what is known of its parts stays so
	case !diff.LeftBehind(l, f.Owner()):
		d.Record.Unfinished.LeftBehind, d.Record.Unfinished.Since = false, time.Time{}
		return d
	case was.LeftBehind:
		return d // only our own writes end that; they are under way
	}
	if next, waits := startWaiting(f, d); waits {
		return awaitMembers(f, next)
	}
	if !f.has(NeedStatusTree) {
		return d.needs(NeedStatusTree)
	}
	d.Record.Unfinished.Since = time.Time{}
	now := diff.UnfinishedIDs(*l, f.Owner())
	if slices.ContainsFunc(was.IDs, func(id string) bool { return !slices.Contains(now, id) }) {
		if next, waits := startWaiting(f, d); waits {
			return awaitMembers(f, next)
		}
		return d
	}
	d.Record.Unfinished.LeftBehind, d.Record.Unfinished.Repairs = true, min(was.Repairs+1, 10)
	d.LeftBehind = true
	return d
}

// startWaiting gives unfinished parts their time, which begins when they are first seen,
// and reports whether some of it is left.
func startWaiting(f Facts, d Decision) (_ Decision, waits bool) {
	l, u := *f.loadBalancer(), d.Record.Unfinished
	if u.Since.IsZero() {
		u = memory.Unfinished{Since: f.Now, IDs: diff.UnfinishedIDs(l, f.Owner()), LeftBehind: u.LeftBehind, Repairs: u.Repairs}
	}
	left := f.Timing.Unfinished.After(u.Repairs+1) - f.Now.Sub(u.Since)
	d.Record.Unfinished = u
	if left <= 0 {
		return d, false
	}
	d.Unready, d.Delay = unready(l, f.Owner()), left
	return d, true
}

// awaitMembers plans what cannot wait and cannot be refused, and no more.
func awaitMembers(f Facts, d Decision) Decision {
	d.Action = AwaitParts
	d.Plan = urgent(f, d)
	return hold(f, d)
}

// unready names a part of an ACTIVE load balancer that is not ready itself; of the pools
// that no listener uses, only the owner's count.
func unready(l lb.LoadBalancer, owner lb.Owner) string {
	var parts []string
	add := func(kind, id string, s lb.ProvisioningStatus) {
		if s != "" && s != lb.Active {
			parts = append(parts, fmt.Sprintf("%s %s is in %s", kind, id, s))
		}
	}
	addPool := func(p lb.Pool) {
		add("pool", p.ID, p.ProvisioningStatus)
		if m := p.Monitor; m != nil {
			add("health monitor", m.ID, m.ProvisioningStatus)
		}
		for _, m := range p.Members {
			add("member", m.ID, m.ProvisioningStatus)
		}
	}
	for _, listener := range l.Listeners {
		add("listener", listener.ID, listener.ProvisioningStatus)
		if listener.Pool != nil {
			addPool(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		if owner.OwnsPool(p) {
			addPool(p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("load balancer %s is ACTIVE, but its %s", l.ID, parts[0])
	if len(parts) > 1 {
		text += fmt.Sprintf(", and %d more parts are not ready", len(parts)-1)
	}
	return text
}
