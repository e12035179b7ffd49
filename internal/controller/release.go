// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// release is the pass for a Service that is to have no load balancer any more.
// The finalizer comes off when everything was seen gone.
func (r *ServiceReconciler) release(ctx context.Context, p *pass) (reconcile.Result, error) {
	p.wanted = lb.Wanted{KeepFloatingIP: r.keepsFloatingIP(p.service)}
	err := r.dismantle(ctx, p)
	if err == nil && p.record.observed.LoadBalancer == nil && len(diff.New(p.wanted, p.record.observed, p.owner).Ops) == 0 {
		if err := r.letGo(context.WithoutCancel(ctx), p.service); err != nil {
			return reconcile.Result{}, err
		}
		p.log.Info("everything the Service had in the cloud is gone")
		r.forget(client.ObjectKeyFromObject(p.service))
		return reconcile.Result{}, nil
	}
	return r.finish(ctx, p, err)
}

func (r *ServiceReconciler) dismantle(ctx context.Context, p *pass) error {
	remembered := p.record.known
	if err := r.observe(ctx, p); err != nil {
		return err
	}
	p.plan = diff.New(p.wanted, p.record.observed, p.owner)
	if remembered && slices.ContainsFunc(p.plan.Ops, deletesFloatingIP) {
		// Somebody may have moved the address elsewhere since it was last seen;
		// then it is not to be deleted. Or the load balancer is gone and the
		// address leads nowhere; then it is.
		if err := r.seeFloatingIPs(ctx, p); err != nil {
			return err
		}
		p.plan = diff.New(p.wanted, p.record.observed, p.owner)
	}
	return r.apply(ctx, p)
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

func deletesFloatingIP(op diff.Op) bool {
	_, ok := op.(diff.DeleteFloatingIP)
	return ok
}
