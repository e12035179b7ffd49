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

// partsRetry is how long to wait for parts of a load balancer that Octavia left
// unready although it has ended its work.
const partsRetry = 10 * time.Second

// observe fills the record with what the cloud has, unless that is known.
func (r *ServiceReconciler) observe(ctx context.Context, p *pass) error {
	if !p.record.known {
		observed, err := r.Observe(ctx, p.service, p.owner)
		if err != nil {
			return err
		}
		complete := observed.LoadBalancer == nil || observed.LoadBalancer.ProvisioningStatus == lb.Active
		p.record.observed, p.record.known, p.record.confirmed = observed, complete, complete
		p.record.reached, p.record.written = nil, r.now()
	}
	if want := p.wanted.FloatingIP; want != nil {
		found, err := r.requested(ctx, want.Address, p.record.observed)
		if err != nil {
			return err
		}
		p.record.observed.FloatingIPs = found
	}
	return nil
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
	say := func(kind, id string, s lb.ProvisioningStatus) string {
		return fmt.Sprintf("load balancer %s is ACTIVE, but its %s %s is in %s", l.ID, kind, id, s)
	}
	for _, listener := range l.Listeners {
		if s := listener.ProvisioningStatus; s != "" && s != lb.Active {
			return say("listener", listener.ID, s)
		}
		if pool := listener.Pool; pool != nil && pool.ProvisioningStatus != "" && pool.ProvisioningStatus != lb.Active {
			return say("pool", pool.ID, pool.ProvisioningStatus)
		}
	}
	return ""
}

// apply carries out the Neutron ops of the plan and the first Octavia op:
// Octavia refuses any other until it has ended that one. An op in hand is
// carried to its end although the controller is told to stop.
func (r *ServiceReconciler) apply(ctx context.Context, p *pass) error {
	var failures []error
	octaviaDone := false
	for _, op := range p.plan.Ops {
		op, ready := onPort(op, p.record.observed)
		_, deletes := op.(diff.DeleteLoadBalancer)
		if op.Octavia() && octaviaDone || !ready || deletes && len(failures) > 0 {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		octaviaDone = octaviaDone || op.Octavia()
		if err := r.write(context.WithoutCancel(ctx), p, op); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
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
		return err
	}
	log.Info(op.String(), "created", made.ID)
	note(p, op, made)
	return nil
}

// note records what the op leads to once Octavia has carried it out, and that
// Octavia is at it.
func note(p *pass, op diff.Op, made diff.Created) {
	if deletion, ok := op.(diff.DeleteLoadBalancer); ok {
		if l := p.record.observed.LoadBalancer; l != nil && l.ID == deletion.ID {
			l.ProvisioningStatus = lb.PendingDelete
			return
		}
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
	switch class := openstack.Classify(failure); {
	case failure == nil && p.delay > 0:
		return reconcile.Result{RequeueAfter: p.delay}, nil
	case failure == nil && p.unready != "":
		return reconcile.Result{RequeueAfter: jitter(partsRetry)}, nil
	case failure == nil && len(p.plan.Refused) > 0:
		return reconcile.Result{RequeueAfter: jitter(slowRetry)}, nil
	case failure == nil:
		return reconcile.Result{}, nil
	case cloud == nil:
		return reconcile.Result{}, failure
	case class == openstack.Busy && p.record.observed.LoadBalancer != nil:
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
