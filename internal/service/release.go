// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/decide"
)

// releaseAll takes the finalizer off a Service that has no load balancer any more. The
// security group goes before, and last of what the Service has: until then no packet is
// dropped.
func (r *Reconciler) releaseAll(ctx context.Context, f decide.Facts, d decide.Decision, o outcome) (outcome, error) {
	if !decide.Released(f, d) {
		return o, nil
	}
	if gone, why := r.Requirements.Release(keyOf(f.Service), f.Service.UID); !gone {
		o.groupLeft = "the Service's security group is taken off the nodes and deleted"
		if why != "" {
			o.groupLeft += "; that is tried again: " + why
		}
		return o, nil
	}
	if err := r.dropAllCertificates(ctx, f); err != nil {
		return o, err
	}
	o.stopped = r.letGo(context.WithoutCancel(ctx), f)
	o.released = o.stopped == nil
	return o, nil
}

// reportReleased forgets a Service that has nothing in the cloud any more. Those that share
// the load balancer may have been refused for the sake of the one that left.
func (r *Reconciler) reportReleased(ctx context.Context, f decide.Facts) (reconcile.Result, error) {
	ctrl.LoggerFrom(ctx).Info("everything the Service had in the cloud is gone")
	r.forget(keyOf(f.Service))
	if l := f.Record.Cloud.Observed.LoadBalancer; l != nil {
		for _, key := range r.Memory.Users(l.ID) {
			r.Enqueue(key)
		}
	}
	return reconcile.Result{}, nil
}
