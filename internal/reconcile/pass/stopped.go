// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// awaitConflict adds to the facts how work on the owner has stopped because of another controller. It returns how long to
// leave the owner alone, if that controller has changed it but work has not stopped.
func (r *Reconciler) awaitConflict(f decide.Facts) (_ decide.Facts, wait time.Duration) {
	if !f.Owner.Serves {
		return f, 0
	}
	state := r.conflicts.State(f.Owner)
	wait = state.Wait(f.Now)
	if !state.Stopped {
		return f, wait
	}
	f.Stop = &decide.Stop{
		For: wait, Members: state.Repeated(diff.Kind(diff.SetMembers{})),
		MayClaim: state.MayRestore(f.Now, r.Timing), ClaimAgain: r.Timing.ConflictWait.Last,
	}
	return f, 0
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
