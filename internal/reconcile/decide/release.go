// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// release deletes everything that the Service has in the cloud, unless the Service will be created again.
func release(f Facts) Decision {
	d := Decision{Action: Release, Record: f.Record, Goal: Goal{Known: true}}
	if f.Identity().Returns {
		return d
	}
	d.Goal.Err = f.Desired.Err
	if d.Goal.Err != nil {
		return d // what is remembered may be old: another Service may share the load balancer by now
	}
	d.Goal.Wanted.KeepFloatingIP = f.Owner.Spec.KeepsFloatingIP()
	if l := f.loadBalancer(); l != nil && l.ProvisioningStatus == lb.Error && !f.Preview {
		if f.Record.Recovery.Deletions.Count > 0 {
			d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonFailed, fmt.Sprintf("Octavia could not delete load balancer %s, which is in ERROR; the deletion is retried", l.ID)
		}
		d.Delay = f.Record.Recovery.Deletions.Wait(f.Now)
		if d.Delay > 0 {
			return d
		}
	}
	if l := f.loadBalancer(); l != nil && l.ProvisioningStatus == lb.Active && f.Capabilities.FinishesLate(l.Provider) && !f.Preview {
		// The provider may be deleting it, although it shows it as ACTIVE.
		d.Delay = f.Record.Recovery.Deletions.Wait(f.Now)
		if d.Delay > 0 {
			return d
		}
	}
	d.Goal.Wanted.Addresses.Requested = f.RequestedAddresses
	d.Plan, _ = planFor(f, d)
	switch {
	case f.lacksRequestedAddresses(d):
		return d.needs(NeedRequestedAddresses)
	case f.lacksFloatingIPs(d):
		return d.needs(NeedFloatingIPs)
	}
	return awaitRepeats(f, postponeDiscards(f, d))
}

// LeftUnseen reports whether the Service has left a shared load balancer according to its own writes, but the result
// was not read yet. The load balancer is read once more before the Service forgets it: traces that are left on it would
// keep it for ever.
func LeftUnseen(d Decision, owner lb.Owner) bool {
	c := d.Record.Cloud
	l := c.Observed.LoadBalancer
	return c.Known && !c.Confirmed && l != nil && l.ProvisioningStatus == lb.Active && len(d.Plan.Ops) == 0 && diff.Shared(*l, owner)
}

// Released reports whether the Service has nothing in the cloud, and no create without an answer can still produce a
// load balancer; or whether its objects stay, because the Service will be created again.
func Released(f Facts, d Decision) bool {
	if f.Identity().Returns {
		return true
	}
	c := d.Record.Cloud
	o := c.Observed
	f.Record = d.Record
	// A shared load balancer stays, without ports of this Service.
	gone := o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus == lb.Active && diff.Shared(*o.LoadBalancer, f.Identity())
	return c.Known && c.Unanswered.IsZero() && gone && o.Predecessor == nil && len(o.Unsettled) == 0 &&
		len(diff.New(d.Goal.Wanted, o, f.Identity()).Ops) == 0
}
