// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// yield makes the whole pass over a Service that is not changed because of a conflict with another controller: because
// of a backoff, or because work on it has stopped. Yields reports whether that is so. A Service that is being released
// is not left alone, because otherwise it could not be deleted.
func (r *Reconciler) yield(ctx context.Context, s subject, f decide.Facts) (result reconcile.Result, yields bool, err error) {
	if !f.Owner.Serves {
		return reconcile.Result{}, false, nil
	}
	state := r.conflicts.State(f.Owner)
	wait := state.Wait(r.Now())
	if state.Stopped {
		result, err = r.passStopped(ctx, s, f, state, wait)
		return result, true, err
	}
	return reconcile.Result{RequeueAfter: wait}, wait > 0, nil
}

// passStopped makes a pass over a Service that kube-octavia has stopped changing. It reports the stop once, and writes
// only:
//   - members, so that no traffic is lost, unless the conflict is about members;
//   - from time to time a finalizer or mark that was removed: without them, objects would be left over when the Service
//     is deleted. The mark of another kube-octavia is kept, because two instances would overwrite each other's marks
//     forever.
func (r *Reconciler) passStopped(ctx context.Context, s subject, f decide.Facts, state conflict.State, wait time.Duration) (reconcile.Result, error) {
	if err := r.reportStopped(context.WithoutCancel(ctx), s, state); err != nil {
		return retry(err)
	}
	if r.waiters.Leave(f.Owner.Key) {
		r.wakeWaiters(1) // the next waiter takes its turn
	}
	f, err := r.gather(ctx, f)
	if err == nil && f.Record.Cloud.Holds() && f.Owner.Unclaimed {
		if wait = min(wait, r.Timing.ConflictWait.Last); r.conflicts.MayRestore(f.Owner) {
			err = r.claim(ctx, s, f.Record.Cloud.Observed)
		}
	}
	d, wrote := decide.Decision{Record: f.Record}, written{}
	if err == nil && !state.Repeated(diff.Kind(diff.SetMembers{})) {
		if f, d, err = r.Planner.PlanStopped(ctx, f); err == nil {
			d, wrote, err = r.carryOut(ctx, s, f, d)
		}
	}
	r.Memory.Put(f.Owner.Key, d.Record)
	r.await(d.Record.Cloud.Observed, wrote.octavia)
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
		wait, err = decide.Next(f, d, decide.Outcome{Failure: err})
	}
	if err != nil {
		return retry(err)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// reportStopped writes the condition ConflictingController once. If the other controller
// overwrites it, it is not restored.
func (r *Reconciler) reportStopped(ctx context.Context, s subject, state conflict.State) error {
	if state.Reported {
		return nil
	}
	overwritten, last := state.Overwritten()
	c := status.Conflict{Overwritten: overwritten, Undone: state.Undone(), Again: state.Until}
	if len(overwritten) > 0 {
		c.Writer = r.writerOf(ctx, s, last)
	}
	of := s.owner()
	err := r.writeStatus(ctx, s, func(to *claim.Status) {
		meta.SetStatusCondition(&to.Conditions, c.Condition(of.Generation))
		meta.SetStatusCondition(&to.Conditions, status.NotFollowed(of.Generation))
	})
	if err == nil {
		r.conflicts.Reported(of)
	}
	return err
}

// reportOverwritten writes an event about fields that another client overwrote. The managed
// fields name that client until they are repaired.
func (r *Reconciler) reportOverwritten(ctx context.Context, s subject, fields []string) {
	if len(fields) == 0 {
		return
	}
	e := status.Overwritten(fields, r.writerOf(ctx, s, fields))
	// Kubernetes counts events with equal objects as one, with the text of the first. The
	// resource version makes them differ.
	related := &corev1.ObjectReference{Kind: s.kind.Name(), Namespace: s.object.GetNamespace(), Name: s.object.GetName(), ResourceVersion: s.object.GetResourceVersion()}
	r.Recorder.Eventf(s.object, related, e.Type, e.Reason, "Reconcile", "%s", e.Message)
}

// writerOf returns the client that wrote to the fields last, or "" if it is unknown. The cache
// does not hold managed fields. They are read by a list, because the role allows lists.
func (r *Reconciler) writerOf(ctx context.Context, s subject, fields []string) string {
	ctx, cancel := context.WithTimeout(ctx, r.Timing.KubernetesLimit)
	defer cancel()
	page := metav1.PartialObjectMetadataList{}
	kind, err := r.Client.GroupVersionKindFor(s.object)
	if err != nil {
		return ""
	}
	kind.Kind += "List"
	page.SetGroupVersionKind(kind)
	err = r.Uncached.List(ctx, &page, client.InNamespace(s.object.GetNamespace()), client.MatchingFields{"metadata.name": s.object.GetName()})
	if err != nil || len(page.Items) != 1 {
		return ""
	}
	return conflict.LastWriter(page.Items[0].ManagedFields, fields)
}
