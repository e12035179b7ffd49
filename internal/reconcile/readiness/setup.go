// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// byService is the cache index of Pods by the Services that their gates name.
const byService = "kube-octavia.io/readiness-gate"

// workers is how many Pods are looked at in parallel. Only patches take time.
const workers = 4

// SetUp adds a reconciler of Pods to the manager, and returns its Gates.
func SetUp(m manager.Manager, o Options) (*Gates, error) {
	g := New(o)
	if err := m.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byService, servicesOf); err != nil {
		return nil, fmt.Errorf("index Pods by their readiness gates: %w", err)
	}
	options := crcontroller.Options{
		Reconciler: g, MaxConcurrentReconciles: workers, CacheSyncTimeout: timing.CacheLimit,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.Timing.FirstBackoff, o.Timing.LastBackoff),
	}
	options.DefaultFromConfig(m.GetControllerOptions())
	c, err := crcontroller.NewUnmanaged("readiness-gate", options)
	if err != nil {
		return nil, fmt.Errorf("create the readiness gate controller: %w", err)
	}
	for _, watched := range append(slices.Clone(o.First),
		source.Kind(m.GetCache(), client.Object(&corev1.Pod{}), &handler.EnqueueRequestForObject{}, podWaits),
		source.Kind(m.GetCache(), client.Object(&corev1.Pod{}), g.podEvents()),
		source.Kind(m.GetCache(), client.Object(&corev1.Namespace{}), handler.EnqueueRequestsFromMapFunc(g.podsOf), optsIn),
	) {
		if err := c.Watch(watched); err != nil {
			return nil, fmt.Errorf("watch Pods and Namespaces: %w", err)
		}
	}
	return g, m.Add(c)
}

// Sources returns what a controller of Services has to wait for: before the Pods are known, a pass would remove the
// members for which they wait. There is nothing to wait for without Gates (nil).
func (g *Gates) Sources(informers cache.Cache) []source.TypedSource[owner.Key] {
	if g == nil {
		return nil
	}
	nothing := handler.TypedFuncs[client.Object, owner.Key]{}
	return []source.TypedSource[owner.Key]{
		source.TypedKind(informers, client.Object(&corev1.Pod{}), nothing),
		source.TypedKind(informers, client.Object(&corev1.Namespace{}), nothing),
	}
}

// servicesOf is the function of the index.
func servicesOf(o client.Object) []string {
	if pod, ok := o.(*corev1.Pod); ok {
		return Services(pod)
	}
	return nil
}

// podWaits passes Pods that wait for a gate.
var podWaits = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return anyWaits(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return anyWaits(e.ObjectNew) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func anyWaits(o client.Object) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && len(waiting(pod)) > 0
}

// podEvents requests passes over the Services of which other addresses of a Pod count as ready than before. Events of
// Pods and of EndpointSlices have no order: the pass that followed the EndpointSlice may have seen the Pod as it was
// before. A new Pod needs none: a pass follows its EndpointSlice, or when only its gate is missing.
func (g *Gates) podEvents() handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	follow := func(ctx context.Context, before, after client.Object) {
		was, ok := before.(*corev1.Pod)
		if !ok {
			return
		}
		is, _ := after.(*corev1.Pod)
		for _, name := range changed(was, is) {
			var service corev1.Service
			if g.Client.Get(ctx, types.NamespacedName{Namespace: was.Namespace, Name: name}, &service) == nil && g.Services.Policy.Serves(&service) {
				g.Enqueue(owner.ServiceKey(service.Namespace, service.Name))
			}
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ queue) { follow(ctx, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) { follow(ctx, e.Object, nil) },
	}
}

// optsIn passes namespaces that have just got the label: the cache holds no others. The Pods that exist when the
// controller starts have events of their own.
var optsIn = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// podsOf requests a look at the Pods of a namespace that wait for a gate.
func (g *Gates) podsOf(ctx context.Context, namespace client.Object) []reconcile.Request {
	var pods corev1.PodList
	if err := g.Client.List(ctx, &pods, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Pods with readiness gates", "namespace", namespace.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range pods.Items {
		if pod := &pods.Items[i]; len(waiting(pod)) > 0 {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)})
		}
	}
	return requests
}
