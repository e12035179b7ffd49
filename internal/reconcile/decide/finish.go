// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/quota"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Finish completes the record after the plan was applied as far as possible. Repaired are the operations that repaired
// drift. They are returned once, when all drift is repaired.
func Finish(f Facts, d Decision) (_ Decision, repaired []string) {
	r := &d.Record
	if d.Action == Stopped {
		return d, nil
	}
	if d.Done && !d.Goal.MembersOnly && !d.Postponed && r.Cloud.Observed.Predecessor == nil {
		wanted := d.Goal.Wanted
		wanted.Serial = false // it matters only before a create
		reached := wanted.Fingerprint()
		r.Progress.Reached, r.Progress.SteadyFor, r.Cloud.CreateWithoutChildren = reached, reached, false
	}
	if len(r.Cloud.Observed.Unsettled) > 0 && (f.Desired.Discarded || d.Action == Replace) {
		r.Cloud.Distrust()
		d.Delay = f.Timing.DuplicateRetry
	}
	l := r.Cloud.Observed.LoadBalancer
	// A Service is also behind if the pass has nothing to do now, but waits for something, such as the rules of the
	// nodes.
	switch upToDate := d.Done || l != nil && l.ProvisioningStatus == lb.Active && len(d.Plan.Ops) == 0 && (d.Delay == 0 || d.Postponed); {
	case upToDate:
		r.Progress.Behind = time.Time{}
	case r.Progress.Behind.IsZero():
		r.Progress.Behind = f.Now
	}
	if (d.InSync || d.Done) && !d.Goal.MembersOnly {
		repaired = r.Drift.Repaired
		r.Drift.Digest, r.Drift.Detected, r.Drift.Reported, r.Drift.Repaired = d.Goal.Digest, false, false, nil
	}
	return d, repaired
}

// maxMemberUpdate is how long an update of members may take before the Service is no longer
// reported as Programmed: some of its nodes may be gone.
const maxMemberUpdate = 5 * time.Minute

// TimeUntilLate returns how much of maxMemberUpdate is left; it may be negative.
func TimeUntilLate(f Facts, d Decision) time.Duration {
	if d.Record.Progress.Behind.IsZero() {
		return maxMemberUpdate
	}
	return d.Record.Progress.Behind.Add(maxMemberUpdate).Sub(f.Now)
}

// Outcome is the result of a pass.
type Outcome struct {
	// Wrote reports whether an operation was applied.
	Wrote bool
	// Failure says why the pass failed, or is nil.
	Failure error
	// Woken reports whether the Service waited for quota and some was freed.
	Woken bool
}

// ownRefusals are the reasons of refusals that end only when the Service is changed, or when a controller starts that
// has more features or finds more features in the cloud.
var ownRefusals = []string{desired.ReasonInvalidAnnotation, desired.ReasonMisspeltAnnotation, desired.ReasonInvalidSourceRanges, desired.ReasonNoNodePort, desired.ReasonUnsupported}

// Next returns when to process the Service again: after a time, with 0 at the next event, or,
// with an error, after the backoff of the queue.
func Next(f Facts, d Decision, o Outcome) (time.Duration, error) {
	wait, err := nextByOutcome(f, d, o)
	if next := d.Record.Refused.NextTry(f.Now); err == nil && next > 0 && (wait == 0 || next < wait) {
		wait = next
	}
	if longest := f.longestWait(d); err == nil && longest > 0 && (wait == 0 || longest < wait) {
		wait = longest
	}
	return wait, err
}

// longestWait returns the longest time between two passes, or 0 for no limit. It is for changes that neither an event
// nor a sweep shows: changes of a Secret, of a load balancer without our tags (which a Service that is only observed
// may have), and of members for which Pods wait.
func (f Facts) longestWait(d Decision) time.Duration {
	switch {
	case d.Action == Stopped:
		return 0
	case f.Preview:
		return timing.Jitter(timing.ObserveInterval)
	case f.awaitsMembers(d):
		return timing.Jitter(f.Timing.MemberRetry)
	case f.Owner.Serves && f.Owner.Spec.Options.TLSSecret != "":
		return timing.Jitter(f.Timing.SecretInterval)
	}
	return 0
}

func nextByOutcome(f Facts, d Decision, o Outcome) (time.Duration, error) {
	if o.Failure != nil {
		return nextAfterFailure(f, d, o)
	}
	l := d.Record.Cloud.Observed.LoadBalancer
	pending := l != nil && l.ProvisioningStatus.Pending()
	switch {
	case d.Delay > 0:
		return d.Delay, nil
	case d.Unready != "":
		return timing.Jitter(f.Timing.ChildrenRetry), nil
	case len(d.Plan.Refused) > 0:
		return untilRetry(f, d), nil
	case !d.Record.Cloud.Known && (l == nil || l.ProvisioningStatus == lb.Active):
		return timing.Jitter(f.Timing.DuplicateRetry), nil
	case o.Wrote && !d.Done && !pending:
		// Only Neutron was written to. It has finished, and no event will report that.
		return timing.StaleRetry, nil
	case !d.Record.Cloud.Unanswered.IsZero():
		return timing.Jitter(max(f.Timing.AnswerLimit-f.Now.Sub(d.Record.Cloud.Unanswered), time.Second)), nil
	case !d.Record.Progress.SteadyFor.None() && pending:
		return max(TimeUntilLate(f, d), 0), nil // after that the Service is reported as late
	case d.Goal.Waits != nil, d.Goal.Refused != nil && !slices.Contains(ownRefusals, d.Goal.Refused.Reason):
		// The Service depends on networks, addresses, certificates, other Services and so on. These may change without
		// an event.
		return timing.Jitter(f.Timing.SlowRetry), nil
	}
	return 0, nil
}

func nextAfterFailure(f Facts, d Decision, o Outcome) (time.Duration, error) {
	var cloud *openstack.Error
	if !errors.As(o.Failure, &cloud) {
		return 0, o.Failure
	}
	switch class := openstack.Classify(o.Failure); {
	case class == openstack.Busy && d.Record.Cloud.Observed.LoadBalancer != nil:
		return max(TimeUntilLate(f, d), 0), nil // the watcher enqueues the Service
	case class == openstack.Throttled:
		return timing.Jitter(max(cloud.RetryAfter, time.Second)), nil
	case class == openstack.Quota:
		return quota.Delay(d.Record.QuotaRefusals, o.Woken, f.Timing), nil
	case class == openstack.Invalid, class == openstack.Foreign:
		return timing.Jitter(f.Timing.SlowRetry), nil
	}
	return 0, o.Failure
}
