// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// How long to wait before looking again at what will not change by itself soon:
// a request that the cloud refuses, an exhausted quota, an address in use.
const slowRetry = 2 * time.Minute

// answerLimit is how long Octavia may take to show what a create made that it
// did not answer.
const answerLimit = time.Minute

// duplicateRetry is how soon to look whether a second load balancer is gone.
const duplicateRetry = 2 * time.Second

// partsRetry is how long to wait for parts of a load balancer that Octavia left
// unready although it has ended its work.
const partsRetry = 10 * time.Second

// observe fills the record with what the cloud has, unless that is known. After
// a create that was not answered it looks once more when Octavia must have
// ended it.
func (r *ServiceReconciler) observe(ctx context.Context, p *pass) error {
	if late := p.record.unanswered; !late.IsZero() && r.now().Sub(late) >= answerLimit {
		p.record.known, p.record.unanswered = false, time.Time{}
	}
	if p.record.known {
		return nil
	}
	observed, err := r.Observe(ctx, p.service, p.owner)
	if err != nil {
		return err
	}
	complete := observed.LoadBalancer == nil || observed.LoadBalancer.ProvisioningStatus == lb.Active
	p.record.observed, p.record.known, p.record.confirmed = observed, complete, complete
	p.record.reached, p.record.written = nil, r.now()
	if len(observed.Unsettled) > 0 && p.record.unanswered.IsZero() {
		p.record.unanswered = r.now()
	}
	return nil
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

// releasesFloatingIP tells whether the op takes a floating IP away from where it
// leads.
func releasesFloatingIP(op diff.Op) bool {
	switch op.(type) {
	case diff.DeleteFloatingIP, diff.DisassociateFloatingIP:
		return true
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
	if l == nil || l.ProvisioningStatus != lb.Active || len(p.plan.Ops) > 0 {
		return nil
	}
	p.unready = unready(*l)
	p.record.confirmed = p.unready == ""
	p.done = p.record.confirmed && len(p.plan.Refused) == 0
	return nil
}

// nameless tells whether the ids of what is below the load balancer are not
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
	p.plan = diff.New(p.wanted, p.record.observed, p.owner)
	return nil
}

// unready names a part of an ACTIVE load balancer that is not ready itself. Some
// versions of Octavia leave parts in PENDING_CREATE for ever.
func unready(l lb.LoadBalancer) string {
	var parts []string
	add := func(kind, id string, s lb.ProvisioningStatus) {
		if s != "" && s != lb.Active {
			parts = append(parts, fmt.Sprintf("%s %s is in %s", kind, id, s))
		}
	}
	for _, listener := range l.Listeners {
		add("listener", listener.ID, listener.ProvisioningStatus)
		if listener.Pool == nil {
			continue
		}
		add("pool", listener.Pool.ID, listener.Pool.ProvisioningStatus)
		if m := listener.Pool.Monitor; m != nil {
			add("health monitor", m.ID, m.ProvisioningStatus)
		}
		for _, m := range listener.Pool.Members {
			add("member", m.ID, m.ProvisioningStatus)
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

// apply carries out the Neutron ops of the plan and the first Octavia op:
// Octavia refuses any other until it has ended that one. What Octavia refuses
// locks nothing, so that ops which do not depend on it have their turn. An op in
// hand is carried to its end although the controller is told to stop.
func (r *ServiceReconciler) apply(ctx context.Context, p *pass) error {
	var failures []error
	octaviaDone, refused := false, false
	for _, op := range p.plan.Ops {
		op, ready := onPort(op, p.record.observed)
		_, deletes := op.(diff.DeleteLoadBalancer)
		switch {
		case !ready, deletes && len(failures) > 0, op.Octavia() && octaviaDone:
			continue
		case op.Octavia() && refused && !standsAlone(op, p.record.observed):
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		err := r.write(context.WithoutCancel(ctx), p, op)
		if err != nil {
			failures = append(failures, err)
		}
		if op.Octavia() {
			refused = refused || refusal(err)
			octaviaDone = !refusal(err)
		}
	}
	return errors.Join(failures...)
}

// refusal tells whether Octavia refused an op, and so did not lock the load
// balancer.
func refusal(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone:
		return true
	}
	return false
}

// standsAlone tells whether an op is right whatever became of those before it:
// membership of pools that are there, restrictions, and the end of what nobody
// wants.
func standsAlone(op diff.Op, observed lb.Observed) bool {
	switch op := op.(type) {
	case diff.SetMembers:
		return op.PoolID != ""
	case diff.UpdateListener:
		return op.PoolID == nil
	case diff.DeleteListener:
		return true
	case diff.DeletePool:
		return observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.DetachedPools,
			func(p lb.Pool) bool { return p.ID == op.ID })
	}
	return false
}

// onPort completes a floating IP op that was planned before the VIP port was
// known. It is not ready while there is none.
func onPort(op diff.Op, observed lb.Observed) (_ diff.Op, ready bool) {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		op.FloatingIP.PortID = port
		return op, port != ""
	case diff.AssociateFloatingIP:
		op.PortID = port
		return op, port != ""
	}
	return op, true
}

// write carries out one op and notes what it leads to.
func (r *ServiceReconciler) write(ctx context.Context, p *pass, op diff.Op) error {
	apply := r.Neutron.Apply
	if op.Octavia() {
		apply = r.Octavia.Apply
	}
	began := r.now()
	made, err := apply(ctx, op)
	r.Metrics.op(op, err, r.now().Sub(began))
	log := p.log.WithValues("op", diff.Kind(op))
	if l := p.record.observed.LoadBalancer; l != nil {
		log = log.WithValues("loadBalancerID", l.ID)
	}
	p.record.written, p.record.reached = r.now(), nil
	if err != nil {
		log.Info("op failed", "what", op.String(), "class", openstack.Classify(err), "error", err.Error())
		// What the cloud refused or may have done unheard shows that it is not
		// as it was thought to be.
		p.record.known = false
		if openstack.Classify(err) == openstack.Busy && p.record.observed.LoadBalancer != nil {
			p.record.observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
		}
		var cloud *openstack.Error
		if _, creates := op.(diff.CreateLoadBalancer); creates && errors.As(err, &cloud) && cloud.Unanswered {
			p.record.unanswered = r.now()
		}
		return err
	}
	log.Info(op.String(), "created", made.ID)
	p.wrote = true
	r.note(p, op, made)
	return nil
}

// note records what the op leads to once Octavia has carried it out, and that
// Octavia is at it.
func (r *ServiceReconciler) note(p *pass, op diff.Op, made diff.Created) {
	switch op := op.(type) {
	case diff.CreateLoadBalancer:
		p.record.failed = ""
	case diff.DeleteLoadBalancer:
		p.record.noteDeletion(r.now())
		if l := p.record.observed.LoadBalancer; l != nil && l.ID == op.ID {
			l.ProvisioningStatus = lb.PendingDelete
			return
		}
		// A duplicate; whether it goes is to be seen.
		p.record.known = false
		return
	}
	p.record.observed = diff.After(p.record.observed, op, made)
	if l := p.record.observed.LoadBalancer; l != nil && op.Octavia() {
		p.record.confirmed = false
		if l.ProvisioningStatus == lb.Active {
			l.ProvisioningStatus = lb.PendingUpdate
		}
	}
}

// next says when to look at the Service again, by the class of what failed.
func (r *ServiceReconciler) next(p *pass, failure error) (reconcile.Result, error) {
	var cloud *openstack.Error
	errors.As(failure, &cloud)
	l := p.record.observed.LoadBalancer
	switch class := openstack.Classify(failure); {
	case failure == nil && p.delay > 0:
		return reconcile.Result{RequeueAfter: p.delay}, nil
	case failure == nil && p.unready != "":
		return reconcile.Result{RequeueAfter: jitter(partsRetry)}, nil
	case failure == nil && len(p.plan.Refused) > 0:
		return reconcile.Result{RequeueAfter: jitter(slowRetry)}, nil
	case failure == nil && !p.record.known && (l == nil || l.ProvisioningStatus == lb.Active):
		return reconcile.Result{RequeueAfter: jitter(duplicateRetry)}, nil
	case failure == nil && p.wrote && !p.done && (l == nil || !l.ProvisioningStatus.Pending()):
		// Only Neutron was written to, which has done it already: nobody else
		// brings the Service back to say so.
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	case failure == nil && !p.record.unanswered.IsZero():
		return reconcile.Result{RequeueAfter: jitter(max(answerLimit-r.now().Sub(p.record.unanswered), time.Second))}, nil
	case failure == nil:
		return reconcile.Result{}, nil
	case cloud == nil:
		return reconcile.Result{}, failure
	case class == openstack.Busy && l != nil:
		// The watcher brings the Service back.
		return reconcile.Result{}, nil
	case class == openstack.Throttled:
		return reconcile.Result{RequeueAfter: jitter(max(cloud.RetryAfter, time.Second))}, nil
	case class == openstack.Invalid, class == openstack.Quota, class == openstack.Foreign:
		return reconcile.Result{RequeueAfter: jitter(slowRetry)}, nil
	default:
		return reconcile.Result{}, failure
	}
}

// jitter lengthens d by up to a fifth, so that what failed together does not
// come back together.
func jitter(d time.Duration) time.Duration {
	return d + rand.N(d/5+1)
}
