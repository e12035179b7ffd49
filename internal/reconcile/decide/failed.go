// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// awaitRepeats removes from the plan the operations that Octavia has failed to carry out, until it is time to repeat
// them. Each change of a child in ERROR has its own wait: a first one after the child was seen in ERROR, and one after
// each attempt. A deletion is tried at once the first time. Changes that the Service requests now are not repeats, and
// do not wait.
//
// With a drift policy other than repair, repeats wait until the Service changes, like the recovery of a load balancer
// in ERROR.
func awaitRepeats(f Facts, d Decision) Decision {
	l := f.loadBalancer()
	if f.Preview || l == nil || l.ProvisioningStatus != lb.Active {
		return d
	}
	leaves := f.leavesDrift(d.Goal)
	var next time.Duration
	d.Plan.Ops = diff.Without(d.Plan.Ops, func(op diff.Op) bool {
		key, failed := diff.Failed(op)
		if !failed {
			return false
		}
		wait := f.Timing.SlowRetry
		if !leaves {
			if _, seen := d.Record.Failed.Repeats[key]; !seen && !diff.Deletes(op) {
				d.Record.Failed = d.Record.Failed.Again(key, f.Now, f.Timing.Repeat)
			}
			wait = d.Record.Failed.Repeats[key].Wait(f.Now)
		}
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
		return wait > 0
	})
	if next > 0 && (d.Delay == 0 || next < d.Delay) {
		d.Delay = next
	}
	if anyInError(*l, f.Identity()) {
		// What was written is expected to work, so the text stays until the children are read again.
		d.Record.Failed.Text = cmp.Or(d.Record.Failed.Text, failedText(f, d, *l))
		d.Unready = d.Record.Failed.Text
	}
	return d
}

// anyInError reports whether children of ours are in ERROR.
func anyInError(l lb.LoadBalancer, owner lb.Owner) bool {
	return diff.AnyOfOurs(l, owner, func(s lb.ProvisioningStatus) bool { return s == lb.Error })
}

// failedText says what it means that our children are in ERROR, and what is done about them. It is "" if no child is in
// ERROR. A monitor that must not be changed is not written again.
func failedText(f Facts, d Decision, l lb.LoadBalancer) string {
	if !anyInError(l, f.Identity()) {
		return ""
	}
	text := unready(l, f.Identity())
	switch {
	case f.leavesDrift(d.Goal):
		text += "; because of the drift-policy, the change is not repeated until the Service changes"
	case len(d.Record.Failed.Repeats) > 0:
		text += "; kube-octavia repeats the change"
	}
	return text + "; the cloud operator finds the cause in the log of Octavia's worker"
}
