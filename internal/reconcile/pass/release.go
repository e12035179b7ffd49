// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
)

// releaseAll removes the finalizer from a Service whose load balancer is deleted, or stays: for other Services, or
// because the Service will be created again. Before that it deletes the Service's security group, as the last of its
// objects, so that no packet is dropped until then. The group of a Service that will be created again stays too.
func (r *Reconciler) releaseAll(ctx context.Context, s subject, f decide.Facts, d decide.Decision, o outcome) (outcome, error) {
	if !decide.Released(f, d) {
		return o, nil
	}
	if !f.Identity().Returns {
		if gone, why := r.Requirements.Release(f.Owner.Key, types.UID(f.Identity().ServiceUID)); !gone {
			o.groupLeft = "the Service's security group is being detached from the nodes and deleted"
			if why != "" {
				o.groupLeft += "; that failed and is retried: " + why
			}
			return o, nil
		}
		if err := r.dropAllCertificates(ctx, f); err != nil {
			return o, err
		}
	}
	o.stopped = r.letGo(context.WithoutCancel(ctx), s, f)
	o.released = o.stopped == nil
	return o, nil
}

// reportReleased forgets a Service that has no cloud objects any more, and enqueues the Services
// that share its load balancer: they may have been refused because of it.
func (r *Reconciler) reportReleased(ctx context.Context, f decide.Facts) (reconcile.Result, error) {
	text := "all cloud objects of the Service are deleted"
	if f.Identity().Returns {
		text = "the Service may be deleted; its cloud objects stay until the API server has created it again"
	}
	ctrl.LoggerFrom(ctx).Info(text)
	r.forget(f.Owner.Key)
	if l := f.Record.Cloud.Observed.LoadBalancer; l != nil {
		for _, key := range r.Memory.Users(l.ID) {
			r.Enqueue(key)
		}
	}
	return reconcile.Result{}, nil
}
