// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Decide decides what is done for the Service now. It asks for no need that was provided,
// but for NeedDesired, for which it changes Record so that it is not asked for again.
func Decide(f Facts) Decision {
	if !f.Serves {
		return release(f)
	}
	w, action, record, need := resolve(f)
	d := Decision{Action: action, Wish: w, Record: record, Need: need}
	f.Record = record
	switch {
	case need != "" || !w.Known:
		return d
	case f.lacksCertificate(w):
		return d.needs(NeedCertificate)
	case f.reached(d):
		d.Done = true
		return d
	case f.lacksRequestedAddress(w):
		return d.needs(NeedRequestedAddress)
	case f.mustSee():
		return d.needs(NeedStatusTree)
	}
	if d = awaitParts(f, d); d.Need != "" || d.Action == AwaitParts {
		return d
	}
	f.Record = d.Record
	switch l := f.loadBalancer(); {
	case f.awaitsRebuild(&d):
		return d
	case l != nil && l.ProvisioningStatus == lb.Error && f.served():
		return recovery(f, d)
	case d.Action == Replace:
		return replace(f, d)
	case f.failedAtBirth():
		return rebuild(f, d)
	}
	return noteForeign(f, follow(f, d))
}

// served reports whether the Service ever had an address that somebody may use.
func (f Facts) served() bool { return status.Published(f.Service) != "" }

// reached reports whether everything wanted was reached before and nobody changed the load
// balancer since.
func (f Facts) reached(d Decision) bool {
	was := f.Record.Progress.Reached
	return !f.Preview && !d.Wish.MembersOnly && d.Action == Follow && f.Record.Cloud.Known && was != nil && equal(*was, d.Wish.Wanted)
}

// resolve works out what the Service is to have just now, and whether its load balancer has
// to be replaced for that.
func resolve(f Facts) (w Wish, action Action, record memory.Record, need Need) {
	built, o := f.Desired.Built, f.observed()
	w, action, record = Wish{Wanted: built.Wanted, Input: built.Input, Err: built.Err, old: f.Desired.Old}, Follow, f.Record
	if built.Input.Service == nil {
		return w, action, record, ""
	}
	if o.LoadBalancer != nil && !o.Sharer && (built.Err == nil || misplaced(built.Input)) {
		of := f.fit()
		switch action = of.action(); action {
		case TakeBack:
			record.Cloud.Observed = takenBack(o)
			return w, action, record, NeedDesired
		case Refuse:
			w.Err = cannotReplace(build.RequiresReplacement(built.Err), of.obstacle)
		case FinishFirst:
			asItIs := built.Input
			asItIs.Found = nil
			w.Wanted, w.Err = build.Wanted(asItIs)
		case Replace:
			if f.Desired.Fresh == nil {
				return w, action, record, NeedFresh
			}
			w, action = f.replacementWish(w)
		}
	}
	record.Progress = replacementTrouble(f, action)
	w = f.limit(w)
	if w.Known {
		w.Digest, w.Policy = digest(w.Input), f.options().Drift
		record.Drift = readDigest(record.Drift, f.Service)
	}
	return w, action, record, ""
}

// limit wants no more than that pools follow the nodes for a Service that is refused, or of
// which it is not known what it is to have. What a Service that waits for its group will
// have to do without is said all the same.
func (f Facts) limit(w Wish) Wish {
	o := f.observed()
	w.MembersOnly = w.Err != nil
	w.Known = w.Err == nil || o.LoadBalancer != nil
	if errors.As(w.Err, &w.Refused) || errors.As(w.Err, &w.Waits) {
		w.Known, w.Err = true, nil
	}
	if w.MembersOnly {
		withheld := w.Wanted.Withheld
		if w.Wanted = build.MembersOnly(w.Input, o); w.Waits != nil {
			w.Wanted.Withheld = withheld
		}
		return w
	}
	if o.LoadBalancer == nil && w.Wanted.FloatingIP == nil {
		w.Wanted = withNotedVIP(w.Wanted, f.Service)
	}
	return w
}

// follow plans what leads to what is wanted. When nothing is left to do it makes sure that
// this is true.
func follow(f Facts, d Decision) Decision {
	d.Plan, d.Complete = plans(f, d)
	if f.lacksFloatingIPs(d) {
		return d.needs(NeedFloatingIPs)
	}
	d = withoutDiscards(f, d)
	var settled bool
	if d, settled = handOver(f, d); settled || d.Need != "" {
		return d
	}
	d.Record.Progress.SteadyFor = steady(f, d)
	if l := f.loadBalancer(); len(d.Plan.Ops) == 0 && l != nil && l.ProvisioningStatus == lb.Active && !f.Preview {
		if d = confirm(f, d, *l); d.Need != "" {
			return d
		}
		d.Agrees = d.Record.Cloud.Confirmed
	}
	return hold(f, d)
}

// plans makes the plan, and reports whether a load balancer that replaces another one is
// complete and lacks no more than to be published. The one that carries the traffic comes
// first.
func plans(f Facts, d Decision) (plan diff.Plan, complete bool) {
	w, o, owner := d.Wish, f.observed(), f.Owner()
	l, old := o.LoadBalancer, o.Predecessor
	if w.replaces && l != nil {
		return besidePlan(w, o, owner), false
	}
	plan = diff.New(w.Wanted, o, owner)
	if l == nil || old == nil || w.Wanted.LoadBalancer == nil {
		return plan, false
	}
	plan.Ops = append(keepServing(w, *old, owner), plan.Ops...)
	if Replaces(*l, *old) {
		// It goes some time after the Service's new address was published.
		plan.Ops = slices.DeleteFunc(plan.Ops, func(op diff.Op) bool {
			end, is := op.(diff.DeleteLoadBalancer)
			is = is && end.ID == old.ID
			complete = complete || is
			return is
		})
	}
	return plan, complete
}
