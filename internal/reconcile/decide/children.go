// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// awaitChildren gives PENDING children of an ACTIVE load balancer time, because writes to them may be rejected. When
// one of them becomes ACTIVE, Octavia is still working on them, and the others get the same time again. Otherwise
// Octavia has left them unfinished permanently, and they are repaired. A provider that finishes late gets more time,
// and the children are read meanwhile.
func awaitChildren(f Facts, d Decision) Decision {
	l, was := f.loadBalancer(), f.Record.Unfinished
	switch {
	case f.Preview, l != nil && l.ProvisioningStatus.Pending():
		return d // Octavia is working: nothing is known about the children
	case !diff.LeftBehind(l, f.Identity()):
		d.Record.Unfinished.LeftBehind, d.Record.Unfinished.Since = false, time.Time{}
		return d
	case was.LeftBehind:
		return d // the repair continues
	}
	if f.Capabilities.FinishesLate(l.Provider) && !was.Since.IsZero() && !f.provided(NeedStatusTree) {
		return d.needs(NeedStatusTree)
	}
	next, waits := startWaiting(f, d)
	if !waits {
		if !f.provided(NeedStatusTree) {
			return d.needs(NeedStatusTree)
		}
		d.Record.Unfinished.Since = time.Time{}
		now := diff.UnfinishedIDs(*l, f.Identity())
		if !slices.ContainsFunc(was.IDs, func(id string) bool { return !slices.Contains(now, id) }) {
			d.Record.Unfinished.LeftBehind, d.Record.Unfinished.Repairs = true, min(was.Repairs+1, 10)
			d.LeftBehind = true
			return d
		}
		next, waits = startWaiting(f, d)
	}
	if !waits {
		return d
	}
	next.Action, next.Plan = AwaitChildren, urgentPlan(f, next)
	return hold(f, awaitRepeats(f, next))
}

// startWaiting starts the time of unfinished children when they are first seen, and reports
// whether some of it is left.
func startWaiting(f Facts, d Decision) (_ Decision, waits bool) {
	l, u := *f.loadBalancer(), d.Record.Unfinished
	if u.Since.IsZero() {
		u = memory.Unfinished{Since: f.Now, IDs: diff.UnfinishedIDs(l, f.Identity()), LeftBehind: u.LeftBehind, Repairs: u.Repairs}
	}
	d.Record.Unfinished = u
	delay := f.childrenDelay(l.Provider, u)
	if delay <= 0 {
		return d, false
	}
	d.Unready, d.Delay = unready(l, f.Identity()), delay
	return d, true
}

// childrenDelay returns how long to wait before unfinished children are read again, or 0 or less if their time is over.
// With a provider that finishes late, they are read after 1, 2, 4 s and so on. So there are few reads, and the end is
// noticed without a long delay.
func (f Facts) childrenDelay(provider string, u memory.Unfinished) time.Duration {
	waited, patience := f.Now.Sub(u.Since), f.Timing.Unfinished.After(u.Repairs+1)
	if !f.Capabilities.FinishesLate(provider) {
		return patience - waited
	}
	return min(max(patience, f.Timing.Late)-waited, max(waited, f.Timing.Late/60))
}

// unready names one of our children of the ACTIVE load balancer that is not ACTIVE, says what may not be in force
// because of it, and counts the other children that are not ACTIVE. A child in ERROR is named first, because children
// in other statuses become ACTIVE on their own. It returns "" if all are ACTIVE.
func unready(l lb.LoadBalancer, owner lb.Owner) string {
	var pending, failed []string
	add := func(kind, id string, s lb.ProvisioningStatus, lacks string) {
		switch s {
		case "", lb.Active:
		case lb.Error:
			failed = append(failed, fmt.Sprintf("%s %s is in ERROR: Octavia did not carry out its last change, so %s", kind, id, lacks))
		default:
			pending = append(pending, fmt.Sprintf("%s %s is in %s", kind, id, s))
		}
	}
	addPool := func(p lb.Pool) {
		add("pool", p.ID, p.ProvisioningStatus, "its members and settings may not be those that Octavia shows")
		if m := p.Monitor; m != nil {
			add("health monitor", m.ID, m.ProvisioningStatus, "members may be checked in another way than Octavia shows")
		}
		for _, m := range p.Members {
			add("member", m.ID, m.ProvisioningStatus, fmt.Sprintf("%s may not take traffic, and a member that was removed from its pool may still take some", m.Address))
		}
	}
	for _, listener := range l.Listeners {
		if !owner.OwnsListener(listener) {
			continue
		}
		add("listener", listener.ID, listener.ProvisioningStatus, notInForce(listener))
		if listener.Pool != nil {
			addPool(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		if owner.OwnsPool(p) {
			addPool(p)
		}
	}
	children := slices.Concat(failed, pending)
	if len(children) == 0 {
		return ""
	}
	text := fmt.Sprintf("load balancer %s is ACTIVE, but its %s", l.ID, children[0])
	if len(children) > 1 {
		text += fmt.Sprintf(" (and %d more children are not ready)", len(children)-1)
	}
	return text
}

// mostSources is how many source ranges a condition names.
const mostSources = 8

// notInForce says which settings of a listener in ERROR may not be in force.
func notInForce(l lb.Listener) string {
	port := fmt.Sprintf("port %s/%d", l.Key().Transport, l.Port)
	if len(l.AllowedCIDRs) == 0 {
		return port + " may be closed, or have other settings than Octavia shows"
	}
	sources := strings.Join(l.AllowedCIDRs[:min(len(l.AllowedCIDRs), mostSources)], ", ")
	if more := len(l.AllowedCIDRs) - mostSources; more > 0 {
		sources += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s may still admit clients outside of %s, or not yet all of these", port, sources)
}
