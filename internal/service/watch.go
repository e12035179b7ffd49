// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/conflict"
	"github.com/kube-octavia/kube-octavia/internal/fairqueue"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/target"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// SetUp adds the reconciler itself, which makes a pass over each Service that it is
// woken for and over those of which something changed in Kubernetes.
func (r *Reconciler) SetUp(m manager.Manager, concurrency int, wake <-chan event.TypedGenericEvent[types.NamespacedName]) error {
	woken := handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[types.NamespacedName],
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			queue.Add(r.askFor(ctx, e.Object))
		},
	}
	if err := r.addIndexes(context.Background(), m); err != nil {
		return err
	}
	options := crcontroller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrency, NewQueue: fairqueue.New,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](r.Timing.FirstBackoff, r.Timing.LastBackoff),
		LogConstructor:   logOf(m.GetLogger()),
		CacheSyncTimeout: timing.CacheLimit,
	}
	options.DefaultFromConfig(m.GetControllerOptions())
	c, err := crcontroller.NewUnmanaged("service", options)
	if err != nil {
		return fmt.Errorf("make the controller of Services: %w", err)
	}
	// The manager runs already, and starts what is added at once. What is watched
	// before that is seen whole before the first pass.
	informers := m.GetCache()
	for _, watched := range []source.Source{
		source.Kind[client.Object](informers, &corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.asked), r.serviceMatters()),
		source.Kind(informers, client.Object(&corev1.Service{}), r.sharingEvents()),
		source.Kind(informers, client.Object(&corev1.Node{}), r.nodeEvents(), notSeenYet),
		source.Kind(informers, client.Object(&discoveryv1.EndpointSlice{}), handler.EnqueueRequestsFromMapFunc(r.serviceOfSlice), notSeenYet),
		source.TypedChannel(wake, woken),
	} {
		if err := c.Watch(watched); err != nil {
			return fmt.Errorf("watch what Services depend on: %w", err)
		}
	}
	return m.Add(c)
}

// logOf names the Service of a pass in what is logged.
func logOf(log logr.Logger) func(*reconcile.Request) logr.Logger {
	log = log.WithValues("controller", "service")
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return log
		}
		return log.WithValues("Service", klog.KRef(request.Namespace, request.Name))
	}
}

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
			fields := conflict.Changed(before, after)
			others := len(fields) > 0 && !r.own.Made(after) && r.Memory.Has(client.ObjectKeyFromObject(after), after.UID)
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
			r.own.Forget(client.ObjectKeyFromObject(e.Object))
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
