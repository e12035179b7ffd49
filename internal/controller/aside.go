// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// This is what a pass does about somebody else who writes to what the Service has:
// rival.go decides when. A Service that is to have nothing any more is released all the
// same, or it could not be deleted.

// yield makes the whole pass for a Service that is left as it is, for a moment or
// because work on it has stopped.
func (r *ServiceReconciler) yield(ctx context.Context, p *pass) (result reconcile.Result, yields bool, err error) {
	if r.rivals.resumes(p.service) {
		// What was known may not be true any more in any respect.
		p.record.known, p.record.reached, p.record.believed = false, nil, nil
		r.memory.store(client.ObjectKeyFromObject(p.service), p.record)
	}
	known, is, wait := r.rivals.of(p.service)
	switch is {
	case holdOn:
		return reconcile.Result{RequeueAfter: wait}, true, nil
	case standAside:
		result, err = r.standAside(ctx, p, known, wait)
		return result, true, err
	}
	if marks := r.rivals.takeUntold(p.service); len(marks) > 0 {
		// Who it was is known as long as it is not put right.
		e := status.Overwritten(marks, r.writerOf(ctx, p.service, marks))
		r.Recorder.Eventf(p.service, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return reconcile.Result{}, false, nil
}

// standAside says, once, that somebody else writes to the Service. Nothing else is
// written but that pools follow the nodes, so that nobody who did nothing loses traffic,
// unless the members are what the other one writes; and, now and then, the finalizer or
// the mark if it was taken away, or what the Service has would be left behind with its end.
// A mark of another one of us is left: two would set theirs in turn for ever.
func (r *ServiceReconciler) standAside(ctx context.Context, p *pass, known rivalry, wait time.Duration) (reconcile.Result, error) {
	if err := r.tellContest(context.WithoutCancel(ctx), p.service, known); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if r.waiters.Leave(client.ObjectKeyFromObject(p.service)) {
		r.wakeWaiters(1) // it was its turn
	}
	err := r.observe(ctx, p)
	if err == nil && p.record.holds() && r.Serves(p.service) && claim.Unclaimed(p.service) {
		if wait = min(wait, r.timing.LastRivalWait); r.rivals.mayClaim(p.service) {
			err = r.claim(ctx, p.service)
		}
	}
	if err == nil && !known.concerns(diff.Kind(diff.SetMembers{})) {
		err = r.followNodes(ctx, p)
	}
	r.memory.store(client.ObjectKeyFromObject(p.service), p.record)
	r.await(p)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	}
	if err != nil && ctx.Err() == nil {
		return r.next(p, err)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// followNodes sets the members of the pools that are there, if the nodes changed since
// we last did. What somebody else made of them meanwhile is no reason to.
func (r *ServiceReconciler) followNodes(ctx context.Context, p *pass) error {
	l, believed := p.record.observed.LoadBalancer, p.record.observed
	if l == nil || l.ProvisioningStatus != lb.Active || nameless(*l) {
		return nil
	}
	if p.record.believed != nil {
		believed = *p.record.believed
	}
	var err error
	if p.input, err = r.input(ctx, p.service, p.record.observed); err != nil {
		return err
	}
	if len(setMembers(p.input, believed, p.owner).Ops) == 0 {
		return nil
	}
	p.weigh(r.Config)
	p.plan = setMembers(p.input, p.record.observed, p.owner)
	p.record.believed = nil
	return r.apply(ctx, p)
}

// setMembers is the plan that lets the pools follow the nodes, and does nothing else.
func setMembers(in build.Input, observed lb.Observed, owner lb.Owner) diff.Plan {
	plan := diff.New(build.MembersOnly(in, observed), observed, owner)
	plan.Ops = slices.DeleteFunc(plan.Ops, func(op diff.Op) bool {
		_, members := op.(diff.SetMembers)
		return !members
	})
	return plan
}

// tellContest writes to the Service that work on it has stopped, unless it says so
// already. If the other one writes that over, it stays written over. One that is being
// released is told nothing.
func (r *ServiceReconciler) tellContest(ctx context.Context, service *corev1.Service, known rivalry) error {
	if known.told || !r.Serves(service) {
		return nil
	}
	before := service.DeepCopy()
	service.Status.Conditions = slices.Clone(before.Status.Conditions)
	meta.SetStatusCondition(&service.Status.Conditions, r.contest(ctx, service, known).Condition(service.Generation))
	if !equality.Semantic.DeepEqual(before.Status, service.Status) {
		if err := r.Client.Status().Patch(ctx, service, optimistic(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the condition that somebody else writes to the Service: %w", err)
		}
	}
	r.rivals.told(service)
	for _, e := range status.Events(before.Status.Conditions, service.Status.Conditions) {
		r.Recorder.Eventf(service, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return nil
}

// believe remembers, before it is read again, what the load balancer was thought to
// be: what is different then was changed by somebody else.
func (r *record) believe(found lb.Observed) {
	l := r.observed.LoadBalancer
	switch now := found.LoadBalancer; {
	case now != nil && now.ProvisioningStatus == lb.Error:
		// Octavia did that.
		r.believed = nil
	case r.believed != nil || r.written.IsZero() || l == nil:
	case l.ProvisioningStatus == lb.Active || l.ProvisioningStatus == lb.PendingUpdate:
		believed := diff.Clone(r.observed)
		believed.LoadBalancer.ProvisioningStatus = lb.Active
		r.believed = &believed
	}
}

// contested notes what somebody else changed in the cloud, if anything, and tells
// whether it is to stay as it is now.
func (r *ServiceReconciler) contested(p *pass) bool {
	if p.record.believed != nil && p.record.known {
		if !p.leavesDrift() {
			r.rivals.wrote(p.service, undone(p.wanted, *p.record.believed, p.plan, p.owner)...)
		}
		p.record.believed = nil
	}
	_, is, wait := r.rivals.of(p.service)
	if is == goOn {
		return false
	}
	p.delay = wait
	return true
}

// undone are the changes of somebody else to a load balancer that was believed to
// lack nothing, by what it takes to make up for them. If it lacked anything, what it
// lacks now may be due to that.
func undone(wanted lb.Wanted, believed lb.Observed, plan diff.Plan, owner lb.Owner) []foreignWrite {
	if diff.Repairs(plan.Ops) || slices.ContainsFunc(diff.New(wanted, believed, owner).Ops, diff.Op.Octavia) {
		return nil
	}
	var writes []foreignWrite
	for _, op := range plan.Ops {
		// One change of another controller takes several ops of a kind.
		known := slices.ContainsFunc(writes, func(w foreignWrite) bool { return w.what == diff.Kind(op) })
		if op.Octavia() && !known {
			writes = append(writes, foreignWrite{what: diff.Kind(op), texts: []string{op.String()}})
		}
	}
	return writes
}
