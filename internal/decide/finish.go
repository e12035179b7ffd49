// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Finish is what is remembered when the plan was carried out as far as possible. Repaired
// are the ops that made up for drift which is repaired now.
func Finish(f Facts, d Decision) (_ Decision, repaired []string) {
	r := &d.Record
	if d.Done && !d.Wish.MembersOnly && !d.Postponed {
		wanted := d.Wish.Wanted
		wanted.Serial = false // which matters to what is yet to be created
		r.Progress.Reached, r.Progress.SteadyFor, r.Cloud.CreateWithoutChildren = &wanted, &wanted, false
	}
	if len(r.Cloud.Observed.Unsettled) > 0 && (f.Desired.Discarded || d.Action == Replace) {
		r.Cloud.Known, d.Delay = false, f.Timing.DuplicateRetry
	}
	l := r.Cloud.Observed.LoadBalancer
	switch has := d.Done || l != nil && l.ProvisioningStatus == lb.Active && len(d.Plan.Ops) == 0; {
	case has:
		r.Progress.Behind = time.Time{}
	case r.Progress.Behind.IsZero():
		r.Progress.Behind = f.Now
	}
	if (d.Agrees || d.Done) && !d.Wish.MembersOnly {
		repaired = r.Drift.Repaired
		r.Drift.Digest, r.Drift.Detected, r.Drift.Reported, r.Drift.Repaired = d.Wish.Digest, false, false, nil
	}
	return d, repaired
}

// longestSteady is how long an update of members may take before the Service is said not to
// be Programmed: some of its nodes may be gone.
const longestSteady = 5 * time.Minute

// Patience is how much of that time is left; it may be negative.
func Patience(f Facts, d Decision) time.Duration {
	if d.Record.Progress.Behind.IsZero() {
		return longestSteady
	}
	return d.Record.Progress.Behind.Add(longestSteady).Sub(f.Now)
}

// Outcome is what came of a pass.
type Outcome struct {
	// Wrote is whether an op was carried out.
	Wrote bool
	// Failure is why the pass failed, or nil.
	Failure error
	// Woken is whether the Service waited for quota and something was freed.
	Woken bool
}

// Next says when to look at the Service again, by the class of what failed: after a time, or
// after the backoff of an error that is returned.
func Next(f Facts, d Decision, o Outcome) (time.Duration, error) {
	if o.Failure != nil {
		return nextAfterFailure(f, d, o)
	}
	l := d.Record.Cloud.Observed.LoadBalancer
	pending := l != nil && l.ProvisioningStatus.Pending()
	switch {
	case d.Delay > 0:
		return d.Delay, nil
	case d.Unready != "":
		return timing.Jitter(f.Timing.PartsRetry), nil
	case len(d.Plan.Refused) > 0:
		return timing.Jitter(f.Timing.SlowRetry), nil
	case !d.Record.Cloud.Known && (l == nil || l.ProvisioningStatus == lb.Active):
		return timing.Jitter(f.Timing.DuplicateRetry), nil
	case o.Wrote && !d.Done && !pending:
		// Only Neutron was written to, which has done it already: nothing else brings the
		// Service back to say so.
		return timing.StaleRetry, nil
	case !d.Record.Cloud.Unanswered.IsZero():
		return timing.Jitter(max(f.Timing.AnswerLimit-f.Now.Sub(d.Record.Cloud.Unanswered), time.Second)), nil
	case d.Record.Progress.SteadyFor != nil && pending:
		return max(Patience(f, d), 0), nil // its users are told when that takes too long
	case d.Wish.Waits != nil, d.Wish.Refused != nil && d.Wish.Refused.Reason == build.ReasonSharingRefused:
		// Lest it is not heard of what becomes of the Services that it depends on.
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
		return max(Patience(f, d), 0), nil // the watcher brings the Service back
	case class == openstack.Throttled:
		return timing.Jitter(max(cloud.RetryAfter, time.Second)), nil
	case class == openstack.Quota:
		return quota.Delay(d.Record.QuotaRefusals, o.Woken, f.Timing), nil
	case class == openstack.Invalid, class == openstack.Foreign:
		return timing.Jitter(f.Timing.SlowRetry), nil
	}
	return 0, o.Failure
}
