// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/conflict"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// notSeenYet passes what was not there when the controller began: the first passes
// over all Services saw the rest.
var notSeenYet = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

// serviceMatters passes only changes of Services that change what is wanted, and writes of
// other clients to fields that only the controller writes. Its own writes ask for no pass, or
// one that failed would bring about the next one by reporting.
func (r *Reconciler) serviceMatters() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Service)
			after, also := e.ObjectNew.(*corev1.Service)
			if !ok || !also {
				return true
			}
			fields := conflict.ChangedFields(before, after)
			others := len(fields) > 0 && !r.conflicts.Made(after) && r.Memory.Has(client.ObjectKeyFromObject(after), after.UID)
			if others && r.Serves(before) && r.Serves(after) {
				if !r.OnlyObserves(before, lb.Observed{}) {
					r.conflicts.Wrote(after, conflict.Write{Kind: conflict.OnService, Texts: fields})
				}
				r.Memory.MarkStale(client.ObjectKeyFromObject(after))
			}
			if !sameWish(before, after) {
				r.conflicts.Changed(after)
			}
			return others || !sameService(before, after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.conflicts.Forget(client.ObjectKeyFromObject(e.Object))
			return true
		},
	}
}

// sameService reports whether a Service wants the same after a change as before. A
// finalizer that somebody took away has to be set again.
func sameService(a, b *corev1.Service) bool {
	lost := controllerutil.ContainsFinalizer(a, claim.Finalizer) && !controllerutil.ContainsFinalizer(b, claim.Finalizer)
	return !lost && a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && sameWish(a, b)
}

// sameWish reports whether those who use the Service ask for the same.
func sameWish(a, b *corev1.Service) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(theirs(a.Annotations), theirs(b.Annotations))
}

// theirs are the annotations that are not written here.
func theirs(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	maps.DeleteFunc(rest, func(key, _ string) bool { return conflict.IsOwn(key) })
	return rest
}

// nodeEvents lets the Services be looked at whose members a change of a node changes.
func (r *Reconciler) nodeEvents() handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.enqueueMembers(ctx, q, nil, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.enqueueMembers(ctx, q, e.Object, nil) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueMembers(ctx, q, e.ObjectOld, e.ObjectNew)
		},
	}
}

// enqueueMembers enqueues the Services that are served and whose members differ after a
// change of a node. Before is nil for one that is new, after for one that is gone.
func (r *Reconciler) enqueueMembers(ctx context.Context, q workqueue.TypedInterface[reconcile.Request], before, after client.Object) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	same := was != nil && is != nil && target.SameNode(was, is)
	if same && maps.Equal(was.Labels, is.Labels) {
		return // such as a heartbeat
	}
	var services corev1.ServiceList
	if err := r.Reader.List(ctx, &services); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot tell which Services a node serves")
		return
	}
	for i := range services.Items {
		service := &services.Items[i]
		if !r.Serves(service) {
			continue
		}
		// One that cannot be read selects what it did before.
		selector, err := annotation.Selector(service.Annotations, r.Config)
		selected := func(n *corev1.Node) bool { return n != nil && (err != nil || selector.Matches(n.Labels)) }
		if was, is := selected(was), selected(is); was != is || was && !same {
			q.Add(r.ask(ctx, service))
		}
	}
}

// serviceOfSlice returns the slice's Service if its members depend on where its
// endpoints run.
func (r *Reconciler) serviceOfSlice(ctx context.Context, slice client.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: slice.GetNamespace(), Name: slice.GetLabels()[discoveryv1.LabelServiceName]}
	var service corev1.Service
	if key.Name == "" || r.Reader.Get(ctx, key, &service) != nil {
		// A Service that is not there yet will see its slices when it comes.
		return nil
	}
	if !r.Serves(&service) || service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return nil
	}
	return []reconcile.Request{r.ask(ctx, &service)}
}

// sharingEvents asks for passes over Services that share a load balancer, or are to share
// one, when one of them changes in what decides about the others, also by our own writes.
func (r *Reconciler) sharingEvents() handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*corev1.Service)
			after, also := e.ObjectNew.(*corev1.Service)
			if !ok || !also {
				return
			}
			was, is := r.standing(before), r.standing(after)
			if was == is {
				return
			}
			if was.address != "" && was.address != is.address {
				// What the others remember of the floating IP is not so any more.
				for _, key := range r.others(ctx, after) {
					r.Memory.MarkStale(key)
				}
			}
			for _, key := range append(r.others(ctx, before), r.others(ctx, after)...) {
				q.Add(r.askFor(ctx, key))
			}
			if was.refused && !is.refused && is.group != "" {
				q.Add(r.ask(ctx, after)) // it may be its turn
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if gone, ok := e.Object.(*corev1.Service); ok {
				for _, key := range r.others(ctx, gone) {
					q.Add(r.askFor(ctx, key))
				}
			}
		},
	}
}

// standing is what of a Service decides about those that share a load balancer with it.
type standing struct {
	group, balancer, address   string
	claimed, refused, internal bool
}

func (r *Reconciler) standing(s *corev1.Service) standing {
	options, _ := annotation.Parse(s.Annotations, r.Config)
	return standing{
		group: r.GroupOf(s), balancer: notedID(s), address: s.Annotations[annotation.LoadBalancerAddress],
		claimed: r.Claimed(s), refused: planner.Refused(*s), internal: options.Internal,
	}
}

// others are the Services that share a load balancer with this one, without itself.
func (r *Reconciler) others(ctx context.Context, s *corev1.Service) []types.NamespacedName {
	all, err := r.sharing(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
	}
	return slices.DeleteFunc(all, func(key types.NamespacedName) bool { return key == keyOf(s) })
}
