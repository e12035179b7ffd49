// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// A load balancer that works, and that Octavia cannot make into what its Service asks for,
// is replaced: another one is built beside it, and serves nobody until it is complete. Then
// it gets the address, and the old one is deleted when it has drained.

// Replaces reports whether one load balancer of a Service was built to take the place of the
// other, which has not failed.
func Replaces(l, old lb.LoadBalancer) bool {
	gone := old.ProvisioningStatus == lb.Error || old.ProvisioningStatus == lb.PendingDelete
	return lb.Replaces(l.Tags) == old.ID && !gone
}

// LeadsTo reports whether one of the floating IPs leads to the load balancer.
func LeadsTo(floating []lb.FloatingIP, l lb.LoadBalancer) bool {
	return slices.ContainsFunc(floating, func(f lb.FloatingIP) bool { return f.PortID != "" && f.PortID == l.VIP.PortID })
}

// HandedOver reports whether there are two load balancers, and the one that was built to
// replace the other has its address: the floating IP leads there, or, where none leads to
// either, the Service names it.
func HandedOver(service *corev1.Service, o lb.Observed) bool {
	l, old := o.LoadBalancer, o.Predecessor
	if l == nil || old == nil || !Replaces(*l, *old) {
		return false
	}
	return LeadsTo(o.FloatingIPs, *l) || !LeadsTo(o.FloatingIPs, *old) && service.Annotations[annotation.LoadBalancerID] == l.ID
}

// Retire makes a load balancer that was replaced a duplicate once it has drained, which is
// some time after the other one was complete and had its address. Another controller begins
// to count anew.
func Retire(f Facts) (_ memory.Record, retired bool) {
	r := f.Record
	if !HandedOver(f.Service, r.Cloud.Observed) {
		r.Recovery.HandedOver = time.Time{}
		return r, false
	}
	since := r.Recovery.HandedOver
	if retired = f.Preview || !since.IsZero() && f.Now.Sub(since) >= f.Timing.Drain; retired {
		r.Cloud.Observed = discard(r.Cloud.Observed, *r.Cloud.Observed.Predecessor)
	}
	return r, retired
}

// takenBack makes the load balancer that was built to replace another one a duplicate.
func takenBack(o lb.Observed) lb.Observed {
	l := *o.LoadBalancer
	o.LoadBalancer = o.Predecessor
	return discard(o, l)
}

// discard makes one of the two load balancers a duplicate.
func discard(o lb.Observed, l lb.LoadBalancer) lb.Observed {
	o.Predecessor = nil
	if l.ProvisioningStatus.Pending() {
		o.Unsettled = append(slices.Clone(o.Unsettled), l.ID)
	} else {
		o.Duplicates = append(slices.Clone(o.Duplicates), l.ID)
	}
	return o
}

// misplaced reports whether the load balancer that is there would have to go for what the
// Service asks for, rather than for what others have.
func misplaced(in build.Input) bool {
	_, err := build.Wanted(in)
	return build.RequiresReplacement(err) != nil
}

// fit gathers what it depends on whether the load balancer is replaced.
func (f Facts) fit() fit {
	o, options := f.observed(), f.options()
	l, old := *o.LoadBalancer, o.Predecessor
	of := fit{suits: build.RequiresReplacement(f.Desired.Err) == nil, allowed: options.AllowReplacement, succeeds: old != nil}
	switch {
	case old == nil:
		of.obstacle = obstacle(l, []lb.VIP{{PortID: options.PortID}}, f.Owner(), f.Capabilities)
	case f.Desired.Old != nil && Replaces(l, *old) && !HandedOver(f.Service, o):
		of.replaces, of.oldSuits = true, !misplaced(*f.Desired.Old)
		of.obstacle = obstacle(*old, nil, f.Owner(), f.Capabilities)
	}
	if options.Group != "" {
		of.obstacle = fmt.Sprintf("others of group %q may use it; take the Service out of the group first (annotation %s)", options.Group, annotation.LoadBalancerGroup)
	}
	return of
}

// obstacle says why no other load balancer can be built beside the one that is there, or
// "". The VIPs are those that it is to have, as far as they are asked for.
func obstacle(old lb.LoadBalancer, vips []lb.VIP, owner lb.Owner, can lb.Capabilities) string {
	if !can.Has(lb.FeatureTags) {
		return fmt.Sprintf("two load balancers of one Service cannot be told apart without %s", lb.FeatureTags.Needs())
	}
	if users := otherUsers(old, owner); users != "" {
		return users + " would lose its ports with it; let it leave first"
	}
	for _, want := range vips {
		for _, have := range append([]lb.VIP{old.VIP}, old.AdditionalVIPs...) {
			switch {
			case want.PortID != "" && want.PortID == have.PortID:
				return fmt.Sprintf("its VIP is port %s, which is asked for, and only one load balancer can have it; ask for another port as well", have.PortID)
			case want.Address != "" && want.Address == have.Address:
				return fmt.Sprintf("its VIP has the address %s, which is asked for, and only one load balancer can have it; do not ask for it", have.Address)
			}
		}
	}
	return ""
}

// otherUsers names who else has ports on the Service's load balancer, or "".
func otherUsers(l lb.LoadBalancer, owner lb.Owner) string {
	others := slices.DeleteFunc(lb.NameTags(l), func(tag string) bool { return tag == owner.LoadBalancerName() || tag == l.Name })
	if len(others) > 0 {
		return strings.Join(others, " and ")
	}
	for _, listener := range l.Listeners {
		if !owner.OwnsListener(listener) {
			return fmt.Sprintf("the owner of listener %s (%s)", listener.ID, listener.Name)
		}
	}
	if diff.Shared(l, owner) {
		return "another Service"
	}
	return ""
}

// cannotReplace says why a load balancer that would have to be replaced is not.
func cannotReplace(refused *build.Invalid, obstacle string) error {
	way := fmt.Sprintf("take that back, or let another one take its place (annotation %s: \"true\")", annotation.AllowReplacement)
	if obstacle != "" {
		way = "no other one can be built beside it: " + obstacle
	}
	return &build.Invalid{Reason: refused.Reason, Message: refused.Message + "; " + way}
}

// replacementWish wants what is to take the place of the load balancer. What it is to be has
// to be known, and to be possible beside the old one.
func (f Facts) replacementWish(w Wish) (Wish, Action) {
	fresh := *f.Desired.Fresh
	if w.Err = fresh.Err; w.Err != nil {
		return w, Follow
	}
	l := fresh.Wanted.LoadBalancer
	if why := obstacle(*f.loadBalancer(), append([]lb.VIP{l.VIP}, l.AdditionalVIPs...), f.Owner(), f.Capabilities); why != "" {
		_, refused := build.Wanted(w.Input)
		w.Err = cannotReplace(build.RequiresReplacement(refused), why)
		return w, Refuse
	}
	w.Wanted, w.old, w.replaces = fresh.Wanted, &f.Desired.Input, true
	return w, Replace
}

// replacementTrouble says of a load balancer that was built beside another one what it waits
// for, and no more of one that is not replaced after all.
func replacementTrouble(f Facts, action Action) memory.Progress {
	p, o := f.Record.Progress, f.observed()
	switch gone := len(o.Duplicates)+len(o.Unsettled) == 0; {
	case action == TakeOver:
		p.Reason, p.Trouble = status.ReasonReplacingOnChange, fmt.Sprintf("load balancer %s is built beside %s, which serves until the other one is complete and takes its place%s",
			o.LoadBalancer.ID, o.Predecessor.ID, failedBuilds(f.Record.Recovery.Changes.Count-1))
	case p.Reason == status.ReasonReplacingOnChange && (action == Refuse || action == Follow && gone):
		p.Reason, p.Trouble = "", ""
	}
	return p
}

// failedBuilds says that so many that were built failed.
func failedBuilds(times int) string {
	if times <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d that were built for that went into ERROR, which the cloud's operator can tell more of", times)
}

// replace builds another load balancer beside one that cannot be changed, which goes on
// serving.
func replace(f Facts, d Decision) Decision {
	r := f.Record.Recovery
	if !EqualButMembers(r.ChangeTo, d.Wish.Wanted) {
		r.Changes = timing.Tries{}
	}
	d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonReplacingOnChange, fmt.Sprintf(
		"load balancer %s, which serves, cannot be made what the Service asks for; another one is built beside it%s", f.loadBalancer().ID, failedBuilds(f.Record.Recovery.Changes.Count))
	d.Plan, _ = plans(f, d)
	d.Record.Cloud.Believed = nil // what it lacks no other client took from it
	if wait := r.Changes.Wait(f.Now); wait > 0 {
		d.Delay = wait
		d.Plan.Ops = slices.DeleteFunc(d.Plan.Ops, func(op diff.Op) bool {
			_, creates := op.(diff.CreateLoadBalancer)
			return creates
		})
	}
	return withoutDiscards(f, d)
}

// handOver makes sure, before clients are led to a load balancer that was built beside
// another one, that nobody came to use that one meanwhile, and that the nodes let the new
// one's traffic in. Otherwise what would lead them there is left out of the plan. It reports
// whether there is nothing more to find out in this pass.
func handOver(f Facts, d Decision) (_ Decision, over bool) {
	moves := func(op diff.Op) bool { _, is := op.(diff.AssociateFloatingIP); return is }
	switch {
	case d.Action != TakeOver && d.Complete:
		r := &d.Record.Recovery
		if r.HandedOver.IsZero() {
			r.HandedOver = f.Now
		}
		d.Postponed, d.Delay = true, max(r.HandedOver.Add(f.Timing.Drain).Sub(f.Now), timing.StaleRetry)
		return d, false
	case d.Action != TakeOver:
		return d, false
	case d.Complete && d.Wish.Wanted.FloatingIP != nil:
		d.Delay = timing.StaleRetry
		return d, true
	case !d.Complete && !slices.ContainsFunc(d.Plan.Ops, moves):
		return d, false
	case !f.has(NeedPredecessor):
		return d.needs(NeedPredecessor), false
	}
	d.Delay = timing.StaleRetry
	if f.NodesClosed != "" {
		d.Delay = f.Timing.PartsRetry // it comes back when that has changed
		d.Record.Progress.Trouble += "; " + f.NodesClosed
	}
	if old := f.observed().Predecessor; f.NodesClosed != "" || otherUsers(*old, f.Owner()) != "" {
		d.Complete = false
		d.Plan.Ops = slices.DeleteFunc(d.Plan.Ops, moves)
	}
	return d, true
}
