// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
)

// hasPatience reports whether it is too early to do anything about parts that are
// PENDING below an ACTIVE load balancer: whatever is written to them may be
// refused. Parts that are still PENDING later are what Octavia left behind, and are planned for.
func (r *ServiceReconciler) hasPatience(ctx context.Context, p *pass) (bool, error) {
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus.Pending() {
		// Nothing can be done now, and what is known of its parts stays so.
		return false, nil
	}
	if !diff.LeftBehind(p.record.observed.LoadBalancer, p.owner) {
		p.record.leftBehind, p.record.unfinished = false, time.Time{}
		return false, nil
	}
	if p.record.leftBehind {
		// Only our own writes end that; they are under way.
		return false, nil
	}
	if r.waits(p) {
		return true, nil
	}
	return r.judge(ctx, p)
}

// waits gives unfinished parts their time, which begins when they are first seen,
// and reports whether some of it is left.
func (r *ServiceReconciler) waits(p *pass) bool {
	l := *p.record.observed.LoadBalancer
	if p.record.unfinished.IsZero() {
		p.record.unfinished, p.record.unfinishedIDs = r.now(), diff.UnfinishedIDs(l, p.owner)
	}
	patience := min(r.timing.FirstPatience<<p.record.repairs, r.timing.LastPatience)
	left := patience - r.now().Sub(p.record.unfinished)
	if left <= 0 {
		return false
	}
	p.unready, p.delay = unready(l, p.owner), left
	return true
}

// meanwhile plans what cannot wait and cannot be refused: source ranges, and that
// pools follow the nodes. Members are those of the monitors that the pools have,
// which stay as they are for now.
func meanwhile(p *pass) diff.Plan {
	l := p.record.observed.LoadBalancer
	plan := diff.New(p.wanted, p.record.observed, p.owner)
	follow := diff.New(build.MembersOnly(p.input, p.record.observed), p.record.observed, p.owner)
	plan.Ops = slices.Concat(diff.OnlySources(plan.Ops, l), diff.OnlyMembers(follow.Ops, l))
	if old := p.record.observed.Predecessor; old != nil {
		plan.Ops = append(p.keepUp(*old, p.owner), plan.Ops...)
	}
	return plan
}

// judge looks once more at parts that had time enough. When one of them has become
// ACTIVE, Octavia is at work on them, and the others get as much time again.
func (r *ServiceReconciler) judge(ctx context.Context, p *pass) (bool, error) {
	if err := r.verify(ctx, p); err != nil {
		return false, err
	}
	p.record.unfinished = time.Time{}
	l := p.record.observed.LoadBalancer
	if !p.record.known || !diff.LeftBehind(l, p.owner) {
		return false, nil
	}
	if someFinished(p.record.unfinishedIDs, diff.UnfinishedIDs(*l, p.owner)) {
		return r.waits(p), nil
	}
	p.record.leftBehind, p.record.repairs = true, min(p.record.repairs+1, 10)
	r.Metrics.LeftBehind.Inc()
	p.log.Info("Octavia left parts of the load balancer unfinished; they are replaced, or written to once more",
		"loadBalancerID", l.ID, "what", unready(*l, p.owner))
	if p.record.madeComplete == l.ID && diff.LeftAtBirth(*l, p.owner) && !r.leavesParts.Swap(true) {
		p.log.Info("this cloud leaves parts of load balancers unfinished that are created by one call; from now on they are created step by step")
	}
	return false, nil
}

// someFinished reports whether any of the parts that were unfinished is not any
// more.
func someFinished(before, now []string) bool {
	return slices.ContainsFunc(before, func(id string) bool { return !slices.Contains(now, id) })
}
