// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/quota"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// LockedBy returns the load balancer that Octavia locks while it applies the operation.
func LockedBy(op diff.Op, observed lb.Observed) *lb.LoadBalancer {
	if old := observed.Predecessor; old != nil && diff.Within(op, *old) {
		return old
	}
	return observed.LoadBalancer
}

// Applied returns what to remember after an operation of the decision: the expected result,
// or, after an error, that the state of the cloud has to be read.
func Applied(f Facts, d Decision, op diff.Op, made diff.Created, err error) memory.Record {
	r := d.Record
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	r.Cloud.Written, r.Progress.Reached = f.Now, lb.Fingerprint{}
	if key, failed := diff.Failed(op); failed {
		r.Failed = r.Failed.Again(key, f.Now, f.Timing.Repeat)
	}
	if d.Goal.Policy != annotation.DriftRepair {
		// Until the cloud has the desired state, differences are our own.
		r.Drift.Digest = ""
	}
	if err != nil {
		return afterFailure(f, r, op, err)
	}
	if movesAddress(op) {
		r.Cloud.Addressed = f.Now
	}
	if attach, ok := op.(diff.AssociateFloatingIP); ok {
		r.Rejected = attached(r.Rejected, attach.ID)
	}
	if d.RepairsDrift() {
		r.Drift.Repaired = append(r.Drift.Repaired[:len(r.Drift.Repaired):len(r.Drift.Repaired)], op.String())
	}
	if made.Missing {
		r.Cloud.Distrust()
	}
	r.Certificates = r.Certificates.Accepted(diff.CertificateRefs(op))
	r.Cloud.FreesQuota = r.Cloud.FreesQuota || freesQuota(f, op)
	switch op := op.(type) {
	case diff.SetMembers:
		r.Refused = r.Refused.Accepted(op.Members)
	case diff.CreateLoadBalancer:
		r.Refused = r.Refused.Accepted(diff.NewMembers(op, r.Cloud.Observed))
		r = afterCreate(f, d, r, op, made)
	case diff.DeleteLoadBalancer:
		return afterDelete(f, d, r, op)
	case diff.FailoverLoadBalancer:
		r.Recovery = failedOver(f, r.Recovery, op.ID)
		r.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	}
	before := r.Cloud
	r.Cloud.Observed = diff.After(before.Observed, op, made)
	r.Cloud.Removed = removedBy(f, before, r.Cloud.Observed)
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

// afterFailure returns what to remember after an operation that failed.
func afterFailure(f Facts, r memory.Record, op diff.Op, err error) memory.Record {
	r.Refused, r.Certificates = refusedMembers(f, r, op, err), refusedCertificates(f, r, op, err)
	if r.Refused.Again || r.Certificates.Again {
		return r // Octavia changed nothing
	}
	r.Cloud.Distrust()
	class := openstack.Classify(err)
	if class == openstack.Busy && r.Cloud.Observed.LoadBalancer != nil {
		LockedBy(op, r.Cloud.Observed).ProvisioningStatus = lb.PendingUpdate
	}
	if attach, ok := attachment(op, r.Cloud.Observed); ok && rejects(err) {
		r.Rejected = rejectedAgain(f, r.Rejected, attach, err)
	}
	create, creates := op.(diff.CreateLoadBalancer)
	if !creates {
		return r
	}
	var cloud *openstack.Error
	if errors.As(err, &cloud) && cloud.Unanswered {
		r.Cloud.Unanswered = f.Now
	}
	if class == openstack.Invalid || class == openstack.Conflict {
		r.Recovery.RejectedCreates = r.Recovery.RejectedCreates.Again(f.Now, timing.Backoff{First: 2 * f.Timing.SlowRetry, Last: 4 * f.Timing.SlowRetry})
	}
	r.Cloud.CreateWithoutChildren = createWithoutChildren(r.Cloud.CreateWithoutChildren, create, err)
	if vip, recorded := RecordedVIP(f.Owner); recorded && create.LoadBalancer.VIP.Address == vip.Address && class == openstack.Conflict {
		r.Progress.Reason, r.Progress.Trouble = status.ReasonAddressInUse, fmt.Sprintf("another port took address %s while the failed load balancer was replaced; "+
			"free the address, or remove annotation %s to get another one", vip.Address, annotation.VIPAddress)
	}
	return r
}

// NamedButMissing returns the id of the load balancer that the Service names but that does not exist, if the operation
// creates another one for that reason; or "". It also returns "" if this controller deleted the load balancer to create
// it again, or if another client deleted it and that is reported as drift.
func (d Decision) NamedButMissing(f Facts, op diff.Op) string {
	_, creates := op.(diff.CreateLoadBalancer)
	own := d.Record.Recovery.Deletions.Count > 0 || d.Record.Recovery.Replacements.Count > 0
	if !creates || d.Action != Converge || own || d.RepairsDrift() {
		return ""
	}
	return f.Owner.Recorded.LoadBalancerID
}

// createWithoutChildren reports whether to create the load balancer without children from now on, after a create
// failed. Octavia may have rejected one of the children, and each rejected create leaves a VIP port behind. If the
// create is rejected without children too, the children were not the reason.
func createWithoutChildren(alone bool, create diff.CreateLoadBalancer, failure error) bool {
	children := len(create.LoadBalancer.Listeners) > 0
	switch openstack.Classify(failure) {
	case openstack.Invalid, openstack.Conflict:
		return children
	case openstack.Quota:
		return alone || children && quota.OfChild(failure)
	}
	return alone
}

// afterCreate remembers the new load balancer, and for which action it was created.
func afterCreate(f Facts, d Decision, r memory.Record, op diff.CreateLoadBalancer, made diff.Created) memory.Record {
	r.Cloud.CreatedWithChildren = ""
	if len(op.LoadBalancer.Listeners) > 0 {
		r.Cloud.CreatedWithChildren = made.ID
	}
	c := &r.Recovery
	c.RejectedCreates = timing.Tries{}
	switch {
	case d.Action == Replace:
		if !c.ChangeTo.EqualExceptMembers(d.Goal.Wanted.Fingerprint()) {
			c.Changes = timing.Tries{}
		}
		c.ChangeTo, c.Changes = d.Goal.Wanted.Fingerprint(), c.Changes.Again(f.Now, f.Timing.Replacement)
	case d.Action == ReplaceFailed:
		c.Replacements, c.RequestID = f.replacedAgain(*c), f.RequestID
	case c.Replacements.Count == 0:
		r.Progress.Reason, r.Progress.Trouble = "", ""
	}
	if c.Replacements.Count > 0 {
		built := append(slices.Clone(c.Built), made.ID)
		c.Built = built[max(0, len(built)-quickReplacements):]
		if r.Progress.Reason == status.ReasonAddressInUse {
			r.Progress.Reason, r.Progress.Trouble = status.ReasonReplacing, fmt.Sprintf("load balancer %s is created with the address of the failed one", made.ID)
		}
	}
	return r
}

// afterDelete remembers that Octavia deletes a load balancer. The state of a duplicate is not
// remembered, so it has to be read.
func afterDelete(f Facts, d Decision, r memory.Record, op diff.DeleteLoadBalancer) memory.Record {
	c := &r.Recovery
	l := r.Cloud.Observed.LoadBalancer
	if l == nil || l.ID != op.ID {
		c.Discards = c.Discards.Again(f.Now, f.Timing.Deletion)
		r.Cloud.Distrust()
		return r
	}
	if d.Action == ReplaceInPlace {
		c.Replacements, c.RequestID = f.replacedAgain(*c), f.RequestID
	} else {
		c.Deletions = c.Deletions.Again(f.Now, f.Timing.Deletion)
	}
	l.ProvisioningStatus = lb.PendingDelete
	return r
}

// freesQuota reports whether the operation frees quota for other Services. The replacement of
// a load balancer uses what its deletion frees.
func freesQuota(f Facts, op diff.Op) bool {
	switch op := op.(type) {
	case diff.DeleteLoadBalancer:
		return !f.Owner.Serves
	case diff.DeleteListener, diff.DeletePool, diff.DeleteMonitor:
		return true
	case diff.SetMembers:
		return op.Removed > 0
	}
	return false
}
