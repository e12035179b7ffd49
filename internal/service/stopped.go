// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/conflict"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// yield makes the whole pass for a Service that is left as it is, for a moment or because
// work on it has stopped: another controller writes to the same. One that is to go is
// released all the same, or it could not be deleted.
func (r *Reconciler) yield(ctx context.Context, f decide.Facts) (result reconcile.Result, yields bool, err error) {
	if !f.Serves {
		return reconcile.Result{}, false, nil
	}
	state := r.conflicts.State(f.Service)
	if state.Stopped {
		result, err = r.passStopped(ctx, f, state)
	}
	return reconcile.Result{RequeueAfter: max(result.RequeueAfter, state.Wait)}, state.Stopped || state.Wait > 0, err
}

// passStopped says, once, that work on the Service has stopped. Nothing else is written but
// that pools follow the nodes, so that nobody loses traffic, unless the members are what the
// other controller writes; and, now and then, the finalizer or the mark if it was taken
// away, or what the Service has would be left behind when it is deleted. The mark of another
// controller of this project is left: two would set theirs in turn for ever.
func (r *Reconciler) passStopped(ctx context.Context, f decide.Facts, state conflict.State) (reconcile.Result, error) {
	if err := r.reportStopped(context.WithoutCancel(ctx), f.Service, state); err != nil {
		return retry(err)
	}
	if r.waiters.Leave(keyOf(f.Service)) {
		r.wakeWaiters(1) // it was its turn
	}
	wait := state.Wait
	f, err := r.gather(ctx, f)
	if err == nil && f.Record.Cloud.Holds() && claim.Unclaimed(f.Service) {
		if wait = min(wait, r.Timing.ConflictWait.Last); r.conflicts.MayClaim(f.Service) {
			err = r.claim(ctx, f.Service)
		}
	}
	d := decide.Decision{Record: f.Record}
	if err == nil && !state.Concerns(diff.Kind(diff.SetMembers{})) {
		if f, d, err = r.PlanStopped(ctx, f); err == nil {
			d, _, err = r.carryOut(ctx, f, d)
		}
	}
	r.Memory.Put(keyOf(f.Service), d.Record)
	r.await(d.Record.Cloud.Observed)
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
		wait, err = decide.Next(f, d, decide.Outcome{Failure: err})
	}
	if err != nil {
		return retry(err)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// reportStopped writes to the Service that work on it has stopped, unless it says so already.
// If the other controller writes that over, it stays written over.
func (r *Reconciler) reportStopped(ctx context.Context, service *corev1.Service, state conflict.State) error {
	if state.Reported {
		return nil
	}
	c := status.Conflict{Overwritten: state.Overwritten, Undone: state.Undone, Again: state.Until}
	if len(c.Overwritten) > 0 {
		c.Writer = r.writerOf(ctx, service, state.Last)
	}
	err := r.writeStatus(ctx, service, func(s *corev1.ServiceStatus) {
		meta.SetStatusCondition(&s.Conditions, c.Condition(service.Generation))
	})
	if err == nil {
		r.conflicts.Reported(service)
	}
	return err
}

// reportOverwritten makes an event of fields that another client wrote over. Who it was is
// known as long as they are not repaired.
func (r *Reconciler) reportOverwritten(ctx context.Context, service *corev1.Service, fields []string) {
	if len(fields) == 0 {
		return
	}
	e := status.Overwritten(fields, r.writerOf(ctx, service, fields))
	// Events of the same kind about the same objects are counted as one, and show the text of
	// the first: the version tells them apart.
	related := &corev1.ObjectReference{Kind: "Service", Namespace: service.Namespace, Name: service.Name, ResourceVersion: service.ResourceVersion}
	r.Recorder.Eventf(service, related, e.Type, e.Reason, "Reconcile", "%s", e.Message)
}

// writerOf asks Kubernetes who wrote to the fields last; "" means that it does not say. The
// cache does not have that. It is asked for by a list, as the cache is, so that it takes no
// other right.
func (r *Reconciler) writerOf(ctx context.Context, service *corev1.Service, fields []string) string {
	ctx, cancel := context.WithTimeout(ctx, r.Timing.KubernetesLimit)
	defer cancel()
	page := metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
	err := r.Uncached.List(ctx, &page, client.InNamespace(service.Namespace), client.MatchingFields{"metadata.name": service.Name})
	if err != nil || len(page.Items) != 1 {
		return ""
	}
	return conflict.LastWriter(page.Items[0].ManagedFields, fields)
}
