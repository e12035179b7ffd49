// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// steady returns what is wanted if only the membership of pools is left to do, or nil.
func steady(f Facts, d Decision) *lb.Wanted {
	l := f.loadBalancer()
	if l == nil || l.ProvisioningStatus != lb.Active || len(d.Plan.Ops) == 0 {
		return d.Record.Progress.SteadyFor
	}
	for _, op := range d.Plan.Ops {
		if _, ok := op.(diff.SetMembers); !ok {
			return nil
		}
	}
	wanted := d.Wish.Wanted
	return &wanted
}

// confirm checks, when nothing is left to do, that the cloud really has what was only
// predicted so far, and that all of it is ready.
func confirm(f Facts, d Decision, l lb.LoadBalancer) Decision {
	switch {
	case !d.Record.Cloud.Confirmed && !f.has(NeedStatusTree):
		return d.needs(NeedStatusTree)
	case diff.LeftBehind(&l, f.Owner()):
		// Nothing can be planned for parts that are unfinished; they get their time again.
		d.Record.Unfinished.LeftBehind, d.Record.Cloud.Confirmed = false, false
		d, _ = startWaiting(f, d)
		return d
	}
	d.Unready = unready(l, f.Owner())
	if d.Record.Cloud.Confirmed = d.Unready == ""; d.Record.Cloud.Confirmed {
		// It serves, whatever else is refused.
		d.Record = d.Record.Serves()
	}
	d.Record.Unfinished.LeftBehind = false
	d.Done = d.Record.Cloud.Confirmed && len(d.Plan.Refused) == 0
	return d
}

// withoutDiscards takes out of the plan what Octavia was asked to delete a short while ago
// and could not: it would have time for nothing else.
func withoutDiscards(f Facts, d Decision) Decision {
	delay := f.Record.Recovery.Discards.Wait(f.Now)
	if delay == 0 || f.Preview {
		return d
	}
	head := f.loadBalancer()
	d.Plan.Ops = slices.DeleteFunc(slices.Clone(d.Plan.Ops), func(op diff.Op) bool {
		end, deletes := op.(diff.DeleteLoadBalancer)
		discards := deletes && (head == nil || end.ID != head.ID)
		if discards {
			d.Delay, d.Postponed = delay, true
		}
		return discards
	})
	return d
}
