// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Replaces reports whether the load balancer was created to replace the other one, which still
// works.
func Replaces(l, old lb.LoadBalancer) bool {
	failed := old.ProvisioningStatus == lb.Error || old.ProvisioningStatus == lb.PendingDelete
	return lb.Replaces(l.Tags) == old.ID && !failed
}

// HasFloatingIP reports whether one of the floating IPs is attached to the load balancer.
func HasFloatingIP(l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return slices.ContainsFunc(floating, func(f lb.FloatingIP) bool { return f.PortID != "" && f.PortID == l.VIP.PortID })
}

// HandedOver reports whether a replacement has the address: the floating IP, or, if neither
// load balancer has one, the id on the Service.
func HandedOver(of claim.Owner, o lb.Observed) bool {
	l, old := o.LoadBalancer, o.Predecessor
	if l == nil || old == nil || !Replaces(*l, *old) {
		return false
	}
	return HasFloatingIP(*l, o.FloatingIPs) || !HasFloatingIP(*old, o.FloatingIPs) && of.Recorded.LoadBalancerID == l.ID
}

// RetirePredecessor makes a replaced load balancer a duplicate after its drain time, which starts when the replacement
// is complete and has the address. A new controller starts the drain time again.
func RetirePredecessor(f Facts) (_ memory.Record, retired bool) {
	r := f.Record
	if !HandedOver(f.Owner, r.Cloud.Observed) {
		r.Recovery.HandedOver = time.Time{}
		return r, false
	}
	since := r.Recovery.HandedOver
	retired = f.Preview || !since.IsZero() && f.Now.Sub(since) >= f.Timing.Drain
	if retired {
		r.Cloud.Observed = discard(r.Cloud.Observed, *r.Cloud.Observed.Predecessor)
	}
	return r, retired
}

// withoutReplacement makes the replacement a duplicate.
func withoutReplacement(o lb.Observed) lb.Observed {
	replacement := *o.LoadBalancer
	o.LoadBalancer = o.Predecessor
	return discard(o, replacement)
}

// discard makes one of two load balancers a duplicate.
func discard(o lb.Observed, l lb.LoadBalancer) lb.Observed {
	o.Predecessor = nil
	if l.ProvisioningStatus.Pending() {
		o.Unsettled = append(slices.Clone(o.Unsettled), l.ID)
	} else {
		o.Duplicates = append(slices.Clone(o.Duplicates), l.ID)
	}
	return o
}

// handOver checks, before the address moves to a replacement, that no other Service has
// started to share the predecessor, and that the nodes accept the traffic of the replacement.
// Otherwise the address does not move in this pass. It reports whether the decision is final.
func handOver(f Facts, d Decision) (_ Decision, final bool) {
	switch {
	case d.Action != CompleteReplacement && d.Complete:
		r := &d.Record.Recovery
		if r.HandedOver.IsZero() {
			r.HandedOver = f.Now
		}
		d.Postponed, d.Delay = true, max(r.HandedOver.Add(f.Timing.Drain).Sub(f.Now), timing.StaleRetry)
		return d, false
	case d.Action != CompleteReplacement:
		return d, false
	case d.Complete && d.Goal.Wanted.FloatingIP != nil:
		d.Delay = timing.StaleRetry
		return d, true
	case !d.Complete && !slices.ContainsFunc(d.Plan.Ops, is[diff.AssociateFloatingIP]):
		return d, false
	case !f.provided(NeedPredecessor):
		return d.needs(NeedPredecessor), false
	}
	d.Delay = timing.StaleRetry
	if f.MissingNodeRules != "" {
		d.Delay = f.Timing.ChildrenRetry // a change of the rules enqueues the Service earlier
		d.Record.Progress.Trouble += "; " + f.MissingNodeRules
	}
	if f.MissingNodeRules != "" || otherUsers(*f.observed().Predecessor, f.Identity()) != "" {
		d.Complete = false
		d.Plan.Ops = slices.DeleteFunc(d.Plan.Ops, is[diff.AssociateFloatingIP])
	}
	return d, true
}
