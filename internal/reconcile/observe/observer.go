// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe reads what an owner has in the cloud, and what other owners have or request of it: those of its group, and
// those that request the same floating IP. It writes nothing.
package observe

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Observer reads what owners have in the cloud. All fields are set before its first use.
type Observer struct {
	// Owners reads the owners of load balancers.
	Owners  claim.Owners
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Config holds the operator's settings for load balancers.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// Policy knows the uid of the cluster and the subnet of its ClusterIPs.
	Policy claim.Policy
	// Remembered is the memory of a controller, and Survey what it reads at its start; nil in a
	// command.
	Remembered Remembered
	Survey     *survey.Survey
	// Members knows which members owners request.
	Members Members
}

// Remembered is what a controller remembers of owners that the cache may not show yet.
type Remembered interface {
	// LoadBalancerOf returns the id of the load balancer that was created for the Service, or "".
	LoadBalancerOf(owner.Key) string
	// MayAppear reports whether a create without an answer may still produce a load balancer.
	MayAppear(owner.Key) bool
	// CreateRejected reports whether the cloud rejected the last create of a load balancer for the Service, and the next
	// attempt is not due at the time.
	CreateRejected(owner.Key, time.Time) bool
	// Users returns the Services that use the load balancer.
	Users(id string) []owner.Key
}

// Members knows which members an owner requests.
type Members interface {
	// FollowInput returns what the members depend on.
	FollowInput(context.Context, claim.Owner, lb.Observed) (desired.Input, error)
	// WantedMembers returns what the owner requests, with the right members.
	WantedMembers(context.Context, claim.Owner, lb.Observed) (lb.Wanted, error)
}

// Observe reads what the Service has in the cloud, unless that is known. After a create
// without an answer it reads again when Octavia must have finished it.
func (ob *Observer) Observe(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	c := &f.Record.Cloud
	if since := c.Unanswered; !since.IsZero() && f.Now.Sub(since) >= f.Timing.AnswerLimit {
		c.Distrust()
		c.Unanswered = time.Time{}
	}
	if c.Observed.LoadBalancer == nil && f.Owner.Group != "" {
		c.Distrust() // another Service of the group may have created the load balancer since
	}
	if !c.Known || sharesWithoutJoining(f) {
		var err error
		f, err = ob.WithGroup(ctx, f)
		if err != nil {
			return f, err
		}
	}
	if requestsOther(f) {
		c.Distrust()
	}
	if c.Known {
		return f, nil
	}
	if next, done, err := ob.observeSurveyed(ctx, f); done || err != nil {
		return next, err
	}
	s := ob.searchFor(f)
	if (c.Written.IsZero() && (f.Owner.Claimed || !f.Owner.Serves) || hasAddressWithoutID(f.Owner)) && ob.Capabilities.Has(lb.FeatureTags) {
		// The previous controller may have been killed before the id was on the Service, or the id was removed since.
		// The search by tag ensures two things. A Service that is to be released, and may have lost all annotations, is
		// not released without its load balancer. A Service that has an address does not get a second load balancer.
		s.byTag = ob.Octavia.FindByTag
	}
	found, err := s.read(ctx)
	if err != nil {
		return f, err
	}
	f.Record.Cloud = remember(f, found, ob.createMayBePending(f, found))
	f.Record.Progress.Reached = lb.Fingerprint{}
	if len(found.Unsettled)+len(found.Duplicates) == 0 && found.Predecessor == nil {
		f.Record.Recovery.Discards.Count = 0
	}
	return f, nil
}

// Lists show what the project has in the cloud, in place of calls for one Service. What is missing
// in them does not exist.
type Lists interface {
	balancerReader
	floatingReader
}

// ObserveInLists finds what the Service has in lists. What was found before an error is in the facts, too.
func (ob *Observer) ObserveInLists(ctx context.Context, f decide.Facts, lists Lists) (decide.Facts, error) {
	f, err := ob.WithGroup(ctx, f)
	if err != nil {
		return f, err
	}
	s := ob.searchFor(f)
	s.balancers, s.floating = lists, lists
	found, err := s.read(ctx)
	if err != nil {
		f.Record.Cloud.Observed = found
		return f, err
	}
	f.Record.Cloud = remember(f, found, ob.createMayBePending(f, found))
	return f, nil
}

// Compare compares the ACTIVE load balancer with its status tree, and takes ids and statuses from it. If something
// differs, everything is read. Another reports whether the Service has another load balancer since, or another one to
// replace: what was built for the one before is of no use.
func (ob *Observer) Compare(ctx context.Context, f decide.Facts) (_ decide.Facts, another bool, err error) {
	c := &f.Record.Cloud
	l, old := *c.Observed.LoadBalancer, c.Observed.Predecessor
	tree, err := ob.Octavia.Tree(ctx, l.ID)
	if err != nil {
		c.Distrust()
		return f, false, err
	}
	confirmed, left, difference := octavia.Confirm(l, c.Removed.Shown(f.Now, f.Timing.Late), tree)
	if difference == nil {
		c.Observed.LoadBalancer, c.Confirmed, c.Removed = &confirmed, true, c.Removed.Left(left)
		return f, false, nil
	}
	ctrl.LoggerFrom(ctx).Info("the load balancer differs from the expected state; reading everything", "loadBalancerID", l.ID, "difference", difference.Error())
	c.Distrust()
	f, err = ob.Observe(ctx, f)
	now := f.Record.Cloud.Observed
	return f, err == nil && (now.LoadBalancer == nil || now.LoadBalancer.ID != l.ID || now.Predecessor != nil && old == nil), err
}
