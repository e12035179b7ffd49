// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// observe fills the record with what the cloud has, unless that is known. After
// a create that was not answered, to us or to a controller before us, it looks
// once more when Octavia must have ended it.
func (r *ServiceReconciler) observe(ctx context.Context, p *pass) error {
	if late := p.record.unanswered; !late.IsZero() && r.now().Sub(late) >= r.timing.AnswerLimit {
		p.record.known, p.record.unanswered = false, time.Time{}
	}
	if p.record.observed.LoadBalancer == nil && r.groupOf(p.service) != "" {
		p.record.known = false // others may have made it meanwhile
	}
	if p.record.known {
		return nil
	}
	before := remembered{others: p.record.others}
	if l := p.record.observed.LoadBalancer; l != nil {
		before.id, before.guest = l.ID, p.record.observed.Guest
	}
	observed, err := r.Observe(ctx, p.service, p.owner, before)
	if err != nil {
		return err
	}
	if observed.LoadBalancer != nil && p.record.observed.LoadBalancer == nil {
		// What the create made that was not answered.
		p.record.unanswered = time.Time{}
	}
	known := observed.LoadBalancer
	if observed.Predecessor != nil && known != nil && besides(*known, *observed.Predecessor) {
		known = observed.Predecessor // the other one is there as well
	}
	if p.record.written.IsZero() && mayStillAppear(p, known) {
		p.record.unanswered = r.now()
	}
	p.record.believe(observed)
	complete := observed.LoadBalancer == nil || observed.LoadBalancer.ProvisioningStatus == lb.Active
	p.record.unread = changeMayHide(p.record.observed.LoadBalancer, observed.LoadBalancer, r.now()) ||
		p.record.unread && r.now().Sub(p.record.written) <= secondOver
	p.record.observed, p.record.known, p.record.confirmed = observed, complete, complete
	p.owner.Guest = observed.Guest
	p.record.reached, p.record.written = nil, r.now()
	if len(observed.Unsettled)+len(observed.Duplicates) == 0 && observed.Predecessor == nil {
		if p.record.discards > 0 {
			r.freed()
		}
		p.record.discards = 0
	}
	if len(observed.Unsettled) > 0 && p.record.unanswered.IsZero() {
		p.record.unanswered = r.now()
	}
	return nil
}

// changeMayHide reports whether somebody may change the load balancer after it was read
// without that being seen: updated_at counts whole seconds, and the second of the last
// change may not be over. That is so when its updated_at was not seen before and is not
// old, as far as clocks can be trusted.
func changeMayHide(before, now *lb.LoadBalancer, at time.Time) bool {
	if now == nil || before != nil && before.ID == now.ID && before.UpdatedAt == now.UpdatedAt {
		return false
	}
	changed, err := time.Parse("2006-01-02T15:04:05", now.UpdatedAt)
	return err != nil || at.Sub(changed) < 10*time.Minute
}

// mayStillAppear tells, at the first look that this controller takes at a Service,
// whether a controller before it may have asked for a load balancer that does not
// show yet. It was killed then: the Service is claimed, and what was made for it
// was never noted on it. Octavia takes a while to show what it was asked for.
func mayStillAppear(p *pass, found *lb.LoadBalancer) bool {
	noted := p.service.Annotations[annotation.LoadBalancerID]
	return p.claimed && (noted == "" || found != nil && found.ID != noted)
}

// seeRequested looks at the floating IP that the user asked for, until it is on
// the load balancer.
func (r *ServiceReconciler) seeRequested(ctx context.Context, p *pass) error {
	want := p.wanted.FloatingIP
	if want == nil {
		return nil
	}
	found, err := r.requested(ctx, want.Address, p.record.observed)
	if err != nil {
		return err
	}
	p.record.observed.FloatingIPs = found
	return nil
}

// seeFloatingIPs looks again at the floating IPs that are remembered.
func (r *ServiceReconciler) seeFloatingIPs(ctx context.Context, p *pass) error {
	var seen []lb.FloatingIP
	for _, f := range p.record.observed.FloatingIPs {
		found, err := r.Neutron.FloatingIPsWithAddress(ctx, f.Address)
		if err != nil {
			return err
		}
		seen = append(seen, found...)
	}
	p.record.observed.FloatingIPs = seen
	return nil
}

// movesFloatingIP reports whether the op changes where a floating IP leads, or all of its
// tags. The one that the Service asks for by its address was looked at already.
func (p *pass) movesFloatingIP(op diff.Op) bool {
	switch op := op.(type) {
	case diff.DeleteFloatingIP, diff.DisassociateFloatingIP, diff.SetFloatingIPTags:
		return true
	case diff.AssociateFloatingIP:
		return p.wanted.FloatingIP == nil || op.Address != p.wanted.FloatingIP.Address
	}
	return false
}

// confirm checks, when nothing is left to do, that the cloud really has what
// was only predicted so far, and that all of it is ready. If it has not, what
// it has is read in full and planned for again.
func (r *ServiceReconciler) confirm(ctx context.Context, p *pass) error {
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Active && !p.record.confirmed {
		if err := r.verify(ctx, p); err != nil {
			return err
		}
	}
	l := p.record.observed.LoadBalancer
	if l == nil || l.ProvisioningStatus != lb.Active {
		return nil
	}
	if diff.LeftBehind(l, p.owner) && (len(p.plan.Ops) == 0 || !p.record.leftBehind) {
		// Some parts were seen PENDING only now: what was planned for them, if
		// anything, comes too early.
		p.plan.Ops, p.record.leftBehind, p.record.confirmed = nil, false, false
		r.waits(p)
		return nil
	}
	if len(p.plan.Ops) > 0 {
		return nil
	}
	p.unready = unready(*l, p.owner)
	p.record.leftBehind = false
	p.record.confirmed = p.unready == ""
	if p.record.confirmed {
		// It serves, whatever else is refused.
		p.record.forgetTrouble()
	}
	p.done = p.record.confirmed && len(p.plan.Refused) == 0
	return nil
}

// mustSee reports whether the ACTIVE load balancer has to be looked at before
// anything is planned: ids below it are not known, or it takes the place of another
// one, which must not lose its address and end because of what was only predicted.
func mustSee(r record) bool {
	l := r.observed.LoadBalancer
	return l != nil && l.ProvisioningStatus == lb.Active && (nameless(*l) || r.observed.Predecessor != nil && !r.confirmed)
}

// nameless reports whether the ids of what is below the load balancer are not
// known yet: it was just created, and nothing below it can be changed.
func nameless(l lb.LoadBalancer) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return l.ID == "" || l.Pool != nil && l.Pool.ID == ""
	})
}

// verify compares the ACTIVE load balancer with its status tree, from which it
// takes ids and statuses. One that is not as it was predicted is read in full
// and planned for again.
func (r *ServiceReconciler) verify(ctx context.Context, p *pass) error {
	l := *p.record.observed.LoadBalancer
	tree, err := r.Octavia.Tree(ctx, l.ID)
	if err != nil {
		p.record.known = false
		return err
	}
	confirmed, difference := octavia.Confirm(l, tree)
	if difference == nil {
		p.record.observed.LoadBalancer, p.record.confirmed = &confirmed, true
		return nil
	}
	p.log.Info("the load balancer is not as it was written; reading it in full",
		"loadBalancerID", l.ID, "difference", difference.Error())
	p.record.known = false
	if err := r.observe(ctx, p); err != nil {
		return err
	}
	if p.record.observed.LoadBalancer == nil {
		// What was wanted suited the one that has gone.
		if err := r.gather(ctx, p); err != nil {
			return err
		}
	}
	p.plan, p.complete = p.plans(p.record.observed, p.owner)
	return nil
}

// unready names a part of an ACTIVE load balancer that is not ready itself; of the
// pools that no listener uses, only the owner's count. What is done about those
// that stay PENDING is in leftbehind.go.
func unready(l lb.LoadBalancer, owner lb.Owner) string {
	var parts []string
	add := func(kind, id string, s lb.ProvisioningStatus) {
		if s != "" && s != lb.Active {
			parts = append(parts, fmt.Sprintf("%s %s is in %s", kind, id, s))
		}
	}
	addPool := func(p lb.Pool) {
		add("pool", p.ID, p.ProvisioningStatus)
		if m := p.Monitor; m != nil {
			add("health monitor", m.ID, m.ProvisioningStatus)
		}
		for _, m := range p.Members {
			add("member", m.ID, m.ProvisioningStatus)
		}
	}
	for _, listener := range l.Listeners {
		add("listener", listener.ID, listener.ProvisioningStatus)
		if listener.Pool != nil {
			addPool(*listener.Pool)
		}
	}
	for _, p := range l.DetachedPools {
		if owner.OwnsPool(p) {
			addPool(p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf("load balancer %s is ACTIVE, but its %s", l.ID, parts[0])
	if len(parts) > 1 {
		text += fmt.Sprintf(", and %d more parts are not ready", len(parts)-1)
	}
	return text
}
