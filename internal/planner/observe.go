// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// seen is what is remembered of the cloud after it was read. MayAppear is whether a load
// balancer may still come to show that a controller before this one asked for.
func seen(f decide.Facts, found lb.Observed, mayAppear bool) memory.Cloud {
	c := f.Record.Cloud
	if found.LoadBalancer != nil && c.Observed.LoadBalancer == nil {
		c.Unanswered = time.Time{} // it is what the create made that was not answered
	}
	if mayAppear || len(found.Unsettled) > 0 && c.Unanswered.IsZero() {
		c.Unanswered = f.Now
	}
	c.Believed = believed(c, found)
	complete := found.LoadBalancer == nil || found.LoadBalancer.ProvisioningStatus == lb.Active
	c.Stale = changeMayHide(c.Observed.LoadBalancer, found.LoadBalancer, f.Now) || c.Stale && f.Now.Sub(c.Written) <= memory.SecondOver
	c.Observed, c.Known, c.Confirmed, c.Written = found, complete, complete, f.Now
	return c
}

// believed is what the load balancer was thought to be before it was read: what is different
// then was changed by another client.
func believed(c memory.Cloud, found lb.Observed) *lb.Observed {
	l := c.Observed.LoadBalancer
	switch now := found.LoadBalancer; {
	case now != nil && now.ProvisioningStatus == lb.Error:
		return nil // Octavia did that
	case c.Believed != nil || c.Written.IsZero() || l == nil:
	case l.ProvisioningStatus == lb.Active || l.ProvisioningStatus == lb.PendingUpdate:
		before := diff.Clone(c.Observed)
		before.LoadBalancer.ProvisioningStatus = lb.Active
		return &before
	}
	return c.Believed
}

// changeMayHide reports whether another client may change the load balancer after it was
// read without that being seen: updated_at counts whole seconds, and the second of the last
// change may not be over. That is so when its updated_at was not seen before and is not old,
// as far as clocks can be trusted.
func changeMayHide(before, now *lb.LoadBalancer, at time.Time) bool {
	if now == nil || before != nil && before.ID == now.ID && before.UpdatedAt == now.UpdatedAt {
		return false
	}
	changed, err := time.Parse("2006-01-02T15:04:05", now.UpdatedAt)
	return err != nil || at.Sub(changed) < 10*time.Minute
}

// mayStillAppear reports, at the first look that this controller takes at a Service, whether
// a controller before it may have asked for a load balancer that does not show yet. It was
// killed then: the Service is claimed, and what was made for it was never noted on it.
// Octavia takes a while to show what it was asked for.
func (p *Planner) mayStillAppear(f decide.Facts, found lb.Observed) bool {
	if !f.Record.Cloud.Written.IsZero() || !p.Claimed(f.Service) {
		return false
	}
	known := found.LoadBalancer
	if found.Predecessor != nil && known != nil && decide.Replaces(*known, *found.Predecessor) {
		known = found.Predecessor // the other one is there as well
	}
	noted := f.Service.Annotations[annotation.LoadBalancerID]
	return noted == "" || known != nil && known.ID != noted
}

// compare compares the ACTIVE load balancer with its status tree, from which it takes ids and
// statuses. One that is not as it was predicted is read in full.
func (p *Planner) compare(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	c := &f.Record.Cloud
	l, old := *c.Observed.LoadBalancer, c.Observed.Predecessor
	tree, err := p.Octavia.Tree(ctx, l.ID)
	if err != nil {
		c.Known = false
		return f, err
	}
	confirmed, difference := octavia.Confirm(l, tree)
	if difference == nil {
		c.Observed.LoadBalancer, c.Confirmed = &confirmed, true
		return f, nil
	}
	logDifference(ctx, l.ID, difference)
	c.Known = false
	if f, err = p.Observe(ctx, f); err != nil {
		return f, err
	}
	if now := f.Record.Cloud.Observed; now.LoadBalancer == nil || now.LoadBalancer.ID != l.ID || now.Predecessor != nil && old == nil {
		f = p.Desire(ctx, f) // what was wanted suited the one that was there
	}
	return f, nil
}

// withAddress returns the floating IPs that were observed, with what the cloud says now of
// the one with the address.
func (p *Planner) withAddress(ctx context.Context, address string, observed lb.Observed) ([]lb.FloatingIP, error) {
	found, err := p.Neutron.FloatingIPsWithAddress(ctx, address)
	if err != nil {
		return observed.FloatingIPs, err
	}
	var others []lb.FloatingIP
	for _, f := range observed.FloatingIPs {
		if f.Address != address {
			others = append(others, f)
		}
	}
	return append(others, found...), nil
}

// again reads floating IPs once more.
func (p *Planner) again(ctx context.Context, all []lb.FloatingIP) ([]lb.FloatingIP, error) {
	var now []lb.FloatingIP
	for _, f := range all {
		found, err := p.Neutron.FloatingIPsWithAddress(ctx, f.Address)
		if err != nil {
			return all, err
		}
		now = append(now, found...)
	}
	return now, nil
}

// logDifference says why a load balancer is read in full.
func logDifference(ctx context.Context, id string, difference error) {
	ctrl.LoggerFrom(ctx).Info("the load balancer is not as it was written; reading it in full", "loadBalancerID", id, "difference", difference.Error())
}

// Provide reads what a decision needs. It stores no certificate.
func (p *Planner) Provide(ctx context.Context, f decide.Facts, d decide.Decision) (_ decide.Facts, err error) {
	c := &f.Record.Cloud
	switch d.Need {
	case decide.NeedDesired:
		f = p.desire(ctx, f)
		f.Desired.Discarded = true
	case decide.NeedReplacement:
		fresh := p.fresh(ctx, f)
		f.Desired.Replacement = &fresh
	case decide.NeedRequestedFloatingIP:
		c.Observed.FloatingIPs, err = p.withAddress(ctx, d.Goal.Wanted.FloatingIP.Address, c.Observed)
	case decide.NeedFloatingIPs:
		c.Observed.FloatingIPs, err = p.again(ctx, c.Observed.FloatingIPs)
	case decide.NeedStatusTree:
		return p.compare(ctx, f)
	case decide.NeedPredecessor:
		var old lb.LoadBalancer
		if old, err = p.Octavia.Observe(ctx, *c.Observed.Predecessor); err == nil {
			c.Observed.Predecessor = &old
		}
	}
	return f, err
}
