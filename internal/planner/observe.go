// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// Observe reads what the cloud has of the Service, unless that is known. After a create that
// was not answered, to us or to a controller before us, it looks once more when Octavia must
// have ended it.
func (p *Planner) Observe(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	c := &f.Record.Cloud
	if late := c.Unanswered; !late.IsZero() && f.Now.Sub(late) >= f.Timing.AnswerLimit {
		c.Known, c.Unanswered = false, time.Time{}
	}
	if c.Observed.LoadBalancer == nil && p.GroupOf(f.Service) != "" {
		c.Known = false // others may have made it meanwhile
	}
	if c.Known {
		return f, nil
	}
	before := remembered{others: c.Others}
	if l := c.Observed.LoadBalancer; l != nil {
		before.id, before.guest = l.ID, c.Observed.Guest
	}
	found, err := p.read(ctx, f.Service, f.Owner(), before)
	if err != nil {
		return f, err
	}
	f.Record.Cloud = seen(f, found, p.mayStillAppear(f, found))
	f.Record.Progress.Reached = nil
	if len(found.Unsettled)+len(found.Duplicates) == 0 && found.Predecessor == nil {
		f.Record.Recovery.Discards.Count = 0
	}
	return f, nil
}

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

// Desire gathers and builds what the Service is to have. A load balancer that was replaced
// and has drained becomes a duplicate before.
func (p *Planner) Desire(ctx context.Context, f decide.Facts) decide.Facts {
	if !f.Serves {
		return f
	}
	var retired bool
	f.Record, retired = decide.Retire(f)
	f = p.desire(ctx, f)
	f.Desired.Discarded = retired
	return f
}

func (p *Planner) desire(ctx context.Context, f decide.Facts) decide.Facts {
	o := f.Record.Cloud.Observed
	f.Desired = decide.Desired{Built: p.built(ctx, f, o)}
	if o.Predecessor != nil && f.Desired.Input.Service != nil {
		old, err := p.input(ctx, f.Service, lb.Observed{LoadBalancer: o.Predecessor})
		if err != nil {
			f.Desired = decide.Desired{Built: decide.Built{Err: err}}
			return f
		}
		f.Desired.Old = &old
	}
	f.Record.Certificate = f.Desired.Input.Certificate
	return f
}

// fresh gathers and builds as if there was no load balancer.
func (p *Planner) fresh(ctx context.Context, f decide.Facts) decide.Built {
	f.Record.Certificate = f.Desired.Input.Certificate
	return p.built(ctx, f, lb.Observed{})
}

func (p *Planner) built(ctx context.Context, f decide.Facts, o lb.Observed) (b decide.Built) {
	in, err := p.input(ctx, f.Service, o)
	if err != nil {
		return decide.Built{Err: err}
	}
	in.Serial, in.Certificate = in.Serial || f.Record.Cloud.CreateAlone, f.Record.Certificate
	b.Wanted, b.Err = p.build(ctx, &in, o)
	b.Input = in
	return b
}

// StoppedPlan plans for a Service on which work has stopped: only that the pools of its load
// balancer follow the nodes, if those changed since the pools last did. What another client
// made of the members meanwhile is no reason to.
func (p *Planner) StoppedPlan(ctx context.Context, f decide.Facts) (decide.Facts, decide.Decision, error) {
	o := f.Record.Cloud.Observed
	d := decide.Decision{Action: decide.Follow, Record: f.Record}
	if o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus != lb.Active || decide.Nameless(*o.LoadBalancer) {
		return f, d, nil
	}
	in, err := p.input(ctx, f.Service, o)
	if err != nil {
		return f, d, err
	}
	f.Desired.Input = in
	return f, decide.Stopped(f), nil
}
