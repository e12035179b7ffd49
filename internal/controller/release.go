// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// release is the pass for a Service that is to have no load balancer any more.
// The finalizer comes off when everything was seen gone.
func (r *ServiceReconciler) release(ctx context.Context, p *pass) (reconcile.Result, error) {
	p.decided = true
	p.wanted = lb.Wanted{KeepFloatingIP: r.keepsFloatingIP(p.service)}
	err := r.dismantle(ctx, p)
	nothing := err == nil && r.nothingLeft(p) && r.groupGone(p)
	if nothing {
		err = r.dropAllCertificates(ctx, p)
	}
	if nothing && err == nil {
		if err := r.letGo(context.WithoutCancel(ctx), p); err != nil {
			return reconcile.Result{}, err
		}
		p.log.Info("everything the Service had in the cloud is gone")
		r.forget(client.ObjectKeyFromObject(p.service))
		if l := p.record.observed.LoadBalancer; l != nil {
			for _, key := range r.memory.users(l.ID) {
				r.enqueue(key) // it may be refused for the sake of the one that left
			}
		}
		return reconcile.Result{}, nil
	}
	return r.finish(ctx, p, err)
}

// nothingLeft reports whether the cloud has nothing of the Service any more, and
// nothing can appear that Octavia was asked for and did not answer.
func (r *ServiceReconciler) nothingLeft(p *pass) bool {
	o := p.record.observed
	// One that others use, too, is left to them when nothing of ours is on it.
	gone := o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus == lb.Active && diff.Shared(*o.LoadBalancer, p.owner)
	return p.record.known && p.record.unanswered.IsZero() && gone && o.Predecessor == nil && len(o.Unsettled) == 0 &&
		len(diff.New(p.wanted, o, p.owner).Ops) == 0
}

// groupGone reports whether the Service has no security group of its own any more. It is the
// last to go: until then no packet of the Service is dropped.
func (r *ServiceReconciler) groupGone(p *pass) bool {
	gone, why := r.needs.release(client.ObjectKeyFromObject(p.service), p.service.UID)
	if !gone {
		p.groupLeft = "the Service's security group is taken off the nodes and deleted"
		if why != "" {
			p.groupLeft += "; that is tried again: " + why
		}
	}
	return gone
}

func (r *ServiceReconciler) dismantle(ctx context.Context, p *pass) error {
	if err := r.observe(ctx, p); err != nil {
		return err
	}
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Error && p.record.deletions > 0 {
		p.record.fail(status.ReasonFailed, fmt.Sprintf("Octavia could not delete load balancer %s, which is in ERROR; it is tried again", l.ID))
	}
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Error {
		if p.delay = max(p.record.notBefore.Sub(r.now()), 0); p.delay > 0 {
			return nil
		}
	}
	if err := r.plan(ctx, p); err != nil {
		return err
	}
	r.withoutDiscards(p)
	return r.apply(ctx, p)
}
