// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// Stop says how work on an owner has stopped, because another controller keeps undoing it.
type Stop struct {
	// For is the time until work resumes.
	For time.Duration
	// Members means that the other controller changes members too. Then these do not follow the nodes either.
	Members bool
	// MayClaim means that a finalizer or mark that the other controller removed may be restored now.
	MayClaim bool
	// ClaimAgain is the longest time until it may be restored again.
	ClaimAgain time.Duration
}

// stopped decides about an owner on which work has stopped: members follow the nodes if the nodes have changed. Changes of
// members by the other controller are not undone.
func stopped(f Facts) Decision {
	d := Decision{Action: Stopped, Record: f.Record, Delay: f.Stop.For}
	d.Goal = Goal{Input: f.Desired.Input, Err: f.Desired.Err, Policy: f.Owner.Spec.Options.Drift}
	if f.Record.Cloud.Holds() && f.Owner.Unclaimed {
		d.Delay = min(d.Delay, f.Stop.ClaimAgain)
	}
	l := f.loadBalancer()
	if d.Goal.Err != nil || f.Stop.Members || l == nil || l.ProvisioningStatus != lb.Active || MissesIDs(*l) {
		return d
	}
	members := func(o lb.Observed) []diff.Op {
		return only[diff.SetMembers](diff.New(desired.MembersOnly(f.Desired.Input, o), o, f.Identity()).Ops)
	}
	before := f.observed()
	if expected := f.Record.Cloud.Expected; expected != nil {
		before = *expected
	}
	if len(members(before)) > 0 {
		d.Plan.Ops, d.Record.Cloud.Expected = members(f.observed()), nil
	}
	return d
}

// Claims reports whether the owner is claimed before anything is written to the cloud. A refused owner without cloud
// objects is not claimed: it can be deleted at any time.
func (d Decision) Claims(f Facts) bool {
	switch {
	case !f.Owner.Serves:
		return false
	case d.Action == Stopped:
		return d.Goal.Err == nil && d.Record.Cloud.Holds() && f.Owner.Unclaimed && f.Stop.MayClaim
	}
	return d.Record.Cloud.Holds() || d.Goal.Known && !d.Goal.MembersOnly
}
