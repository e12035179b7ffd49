// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// LockedBy returns the load balancer on which Octavia works when it carries out the op.
func LockedBy(op diff.Op, observed lb.Observed) *lb.LoadBalancer {
	if old := observed.Predecessor; old != nil && diff.Within(op, *old) {
		return old
	}
	return observed.LoadBalancer
}

// Applied is what is remembered after an op of the decision: what it leads to once Octavia
// has carried it out, or, with an error, that it is to be seen what the cloud has.
func Applied(f Facts, d Decision, op diff.Op, made diff.Created, err error) memory.Record {
	r := d.Record
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	r.Cloud.Written, r.Progress.Reached = f.Now, nil
	if d.Wish.Policy != annotation.DriftRepair {
		// Until the cloud has all that is asked for, what is missing is our own doing.
		r.Drift.Digest = ""
	}
	if err != nil {
		return failedOp(f, r, op, err)
	}
	if Repairs(d) {
		r.Drift.Repaired = append(r.Drift.Repaired[:len(r.Drift.Repaired):len(r.Drift.Repaired)], op.String())
	}
	if made.Missing {
		r.Cloud.Known = false
	}
	r.Cloud.FreesQuota = r.Cloud.FreesQuota || frees(f, op)
	switch op := op.(type) {
	case diff.CreateLoadBalancer:
		r = created(f, d, r, op, made)
	case diff.DeleteLoadBalancer:
		return deleted(f, d, r, op)
	case diff.FailoverLoadBalancer:
		r.Recovery.FailedOver, r.Recovery.FailoverRefused = op.ID, ""
		r.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	}
	r.Cloud.Observed = diff.After(r.Cloud.Observed, op, made)
	if l := LockedBy(op, r.Cloud.Observed); l != nil && op.Octavia() {
		if l == r.Cloud.Observed.LoadBalancer {
			r.Cloud.Confirmed, r.Cloud.Stale = false, true
		}
		if l.ProvisioningStatus == lb.Active {
			l.ProvisioningStatus = lb.PendingUpdate
		}
	}
	return r
}

// failedOp is what is remembered after an op that failed: the cloud is not as it was thought
// to be.
func failedOp(f Facts, r memory.Record, op diff.Op, err error) memory.Record {
	r.Cloud.Known = false
	class := openstack.Classify(err)
	if class == openstack.Busy && r.Cloud.Observed.LoadBalancer != nil {
		LockedBy(op, r.Cloud.Observed).ProvisioningStatus = lb.PendingUpdate
	}
	create, creates := op.(diff.CreateLoadBalancer)
	if !creates {
		return r
	}
	var cloud *openstack.Error
	if errors.As(err, &cloud) && cloud.Unanswered {
		r.Cloud.Unanswered = f.Now
	}
	r.Cloud.CreateWithoutChildren = createAlone(r.Cloud.CreateWithoutChildren, create, err)
	if vip, noted := NotedVIP(f.Service); noted && create.LoadBalancer.VIP.Address == vip.Address && class == openstack.Conflict {
		r.Progress.Reason, r.Progress.Trouble = status.ReasonAddressInUse, fmt.Sprintf("somebody took the address %s while a load balancer that failed was replaced; "+
			"free it, or remove annotation %s to get another one", vip.Address, annotation.VIPAddress)
	}
	return r
}

// createAlone reports whether a load balancer is to be created without its parts, after its
// create has failed. One that was to be created with them may have been refused for one of
// these, and Octavia leaves the port of the VIP behind then: so that this does not happen
// each time, it is created alone from then on, unless it is refused as well when it is alone.
func createAlone(alone bool, create diff.CreateLoadBalancer, failure error) bool {
	parts := len(create.LoadBalancer.Listeners) > 0
	switch openstack.Classify(failure) {
	case openstack.Invalid, openstack.Conflict:
		return parts
	case openstack.Quota:
		return alone || parts && quota.OfPart(failure)
	}
	return alone
}

// created notes that a load balancer was made, and why.
func created(f Facts, d Decision, r memory.Record, op diff.CreateLoadBalancer, made diff.Created) memory.Record {
	r.Cloud.CreatedWithChildren = ""
	if len(op.LoadBalancer.Listeners) > 0 {
		r.Cloud.CreatedWithChildren = made.ID
	}
	c := &r.Recovery
	switch {
	case d.Action == Replace:
		if !EqualButMembers(c.ChangeTo, d.Wish.Wanted) {
			c.Changes = timing.Tries{}
		}
		c.ChangeTo, c.Changes = d.Wish.Wanted, c.Changes.Again(f.Now, f.Timing.Replacement)
	case d.Action == ReplaceFailed:
		c.Replacements, c.RequestID = c.Replacements.Again(f.Now, f.Timing.Replacement), f.RequestID
	case c.Replacements.Count == 0:
		r.Progress.Reason, r.Progress.Trouble = "", ""
	}
	if c.Replacements.Count > 0 {
		c.Built = append(c.Built[:len(c.Built):len(c.Built)], made.ID)
		if r.Progress.Reason == status.ReasonAddressInUse {
			r.Progress.Reason, r.Progress.Trouble = status.ReasonReplacing, fmt.Sprintf("load balancer %s is built with the address of one that failed", made.ID)
		}
	}
	return r
}

// deleted notes that Octavia deletes a load balancer. Whether a duplicate goes is to be seen.
func deleted(f Facts, d Decision, r memory.Record, op diff.DeleteLoadBalancer) memory.Record {
	c := &r.Recovery
	l := r.Cloud.Observed.LoadBalancer
	if l == nil || l.ID != op.ID {
		c.Discards, r.Cloud.Known = c.Discards.Again(f.Now, f.Timing.Deletion), false
		return r
	}
	if d.Action == ReplaceInPlace {
		c.Replacements, c.RequestID = c.Replacements.Again(f.Now, f.Timing.Replacement), f.RequestID
	} else {
		c.Deletions = c.Deletions.Again(f.Now, f.Timing.Deletion)
	}
	l.ProvisioningStatus = lb.PendingDelete
	return r
}

// frees reports whether an op leaves room for other Services when Octavia has ended it. What
// a load balancer had that another one replaces is not free.
func frees(f Facts, op diff.Op) bool {
	switch op := op.(type) {
	case diff.DeleteLoadBalancer:
		return !f.Serves
	case diff.DeleteListener, diff.DeletePool, diff.DeleteMonitor:
		return true
	case diff.SetMembers:
		return op.Removed > 0
	}
	return false
}
