// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// release deletes what the Service has.
func release(f Facts) Decision {
	d := Decision{Action: Release, Record: f.Record, Wish: Wish{Known: true}}
	d.Wish.Wanted.KeepFloatingIP = annotation.KeepsFloatingIP(f.Service.Annotations, f.Config)
	if l := f.loadBalancer(); l != nil && l.ProvisioningStatus == lb.Error && !f.Preview {
		if f.Record.Recovery.Deletions.Count > 0 {
			d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonFailed, fmt.Sprintf("Octavia could not delete load balancer %s, which is in ERROR; it is tried again", l.ID)
		}
		if d.Delay = f.Record.Recovery.Deletions.Wait(f.Now); d.Delay > 0 {
			return d
		}
	}
	if d.Plan, _ = plans(f, d); f.lacksFloatingIPs(d) {
		return d.needs(NeedFloatingIPs)
	}
	return withoutDiscards(f, d)
}

// Released reports whether the cloud has nothing of the Service any more, and nothing can
// appear that Octavia was asked for and did not answer.
func Released(f Facts, d Decision) bool {
	c := d.Record.Cloud
	o := c.Observed
	f.Record = d.Record
	// One that others use, too, is left to them when nothing of ours is on it.
	gone := o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus == lb.Active && diff.Shared(*o.LoadBalancer, f.Owner())
	return c.Known && c.Unanswered.IsZero() && gone && o.Predecessor == nil && len(o.Unsettled) == 0 &&
		len(diff.New(d.Wish.Wanted, o, f.Owner()).Ops) == 0
}
