// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// steady returns the fingerprint of the desired state if only members of pools are left to update.
func steady(f Facts, d Decision) lb.Fingerprint {
	l := f.loadBalancer()
	if l == nil || l.ProvisioningStatus != lb.Active || len(d.Plan.Ops) == 0 {
		return d.Record.Progress.SteadyFor
	}
	if slices.ContainsFunc(d.Plan.Ops, func(op diff.Op) bool { return !is[diff.SetMembers](op) }) {
		return lb.Fingerprint{}
	}
	return d.Goal.Wanted.Fingerprint()
}

// Settled reports whether the Service has exactly one load balancer, which has everything that is requested. Then
// objects that this load balancer does not use are not needed any more.
func (d Decision) Settled() bool { return d.Done && d.onlyOne() }

// Rests reports whether the Service has exactly one load balancer, on which nothing is left to do. A part of the
// request may be refused or left out. That is the difference from Settled: for example, a Service that is served by one
// IP family only never settles, and old certificates that were renewed would stay for ever.
func (d Decision) Rests() bool {
	return d.Settled() || d.Action == Converge && d.Record.Cloud.Confirmed && len(d.Plan.Ops) == 0 && d.onlyOne()
}

// onlyOne reports whether there is one load balancer, which is ACTIVE and whose desired state is known.
func (d Decision) onlyOne() bool {
	c := d.Record.Cloud
	o, l := c.Observed, c.Observed.LoadBalancer
	return !d.Goal.MembersOnly && c.Known && l != nil && l.ProvisioningStatus == lb.Active && o.Predecessor == nil &&
		len(o.Unsettled)+len(o.Duplicates) == 0 && !slices.ContainsFunc(c.Others, func(id string) bool { return id != l.ID })
}

// confirm checks, when nothing is left to do, that the cloud has the predicted state and that
// every child is ready.
func confirm(f Facts, d Decision, l lb.LoadBalancer) Decision {
	switch {
	case !d.Record.Cloud.Confirmed && !f.provided(NeedStatusTree):
		return d.needs(NeedStatusTree)
	case diff.LeftBehind(&l, f.Identity()):
		// Nothing can be planned for unfinished children; they get the same time as before to become ACTIVE.
		d.Record.Unfinished.LeftBehind, d.Record.Cloud.Confirmed = false, false
		d, _ = startWaiting(f, d)
		return d
	}
	d.Record.Failed.Text = failedText(f, d, l)
	d.Unready = cmp.Or(d.Record.Failed.Text, unready(l, f.Identity()))
	d.Record.Cloud.Confirmed = d.Unready == ""
	if d.Record.Cloud.Confirmed {
		d.Record = d.Record.Serves() // even if something else is refused
	}
	d.Record.Unfinished.LeftBehind = false
	old := d.Record.Cloud.Observed.Predecessor
	// A predecessor on which Octavia works is deleted afterwards.
	deletesLater := old != nil && old.ProvisioningStatus != lb.PendingDelete && !d.Postponed
	d.Done = d.Record.Cloud.Confirmed && len(d.Plan.Refused) == 0 && !deletesLater
	return d
}

// postponeDiscards removes deletions of duplicates and predecessors from the plan if Octavia recently failed at one: a
// pass has only one Octavia operation, and the other operations must have a chance, too.
func postponeDiscards(f Facts, d Decision) Decision {
	delay := f.Record.Recovery.Discards.Wait(f.Now)
	if delay == 0 || f.Preview {
		return d
	}
	l := f.loadBalancer()
	d.Plan.Ops = slices.DeleteFunc(slices.Clone(d.Plan.Ops), func(op diff.Op) bool {
		deletion, deletes := op.(diff.DeleteLoadBalancer)
		discards := deletes && (l == nil || deletion.ID != l.ID)
		if discards {
			d.Delay, d.Postponed = delay, true
		}
		return discards
	})
	return d
}
