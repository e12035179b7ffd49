// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller holds the reconcilers and their wiring: Services in, load
// balancers out. It is the top of the house: it may import every other internal
// package but cli.
package controller

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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
	"github.com/kube-octavia/kube-octavia/internal/fairqueue"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/sweep"
	"github.com/kube-octavia/kube-octavia/internal/target"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// backlog is how many load balancers may end their changes at once before the
// watcher has to wait for the queue.
const backlog = 1024

// Options is what the controller is made of and how it works.
type Options struct {
	Planner *Planner
	Metrics *metrics.Metrics
	// Registry is where the watcher's gauges are registered.
	Registry prometheus.Registerer
	Logger   logr.Logger
	// Concurrency is how many Services are worked on at once. A pass lasts as
	// long as its few calls, never as long as Octavia takes.
	Concurrency int
	// WatchInterval lies between two looks at what Octavia is working on.
	WatchInterval time.Duration
	// SweepInterval lies between two looks at everything.
	SweepInterval time.Duration
	// OrphanGrace is how long orphans stay, or orphan.Never.
	OrphanGrace time.Duration
	// Timing is how long things are left alone; timing.Default is for real clouds.
	Timing timing.Delays
}

// SetUp adds the Service reconciler, the watcher and the sweeper to the manager.
func SetUp(m manager.Manager, o Options) error {
	wake := make(chan event.TypedGenericEvent[types.NamespacedName], backlog)
	stopped := make(chan struct{})
	enqueue := func(key types.NamespacedName) {
		select {
		case wake <- event.TypedGenericEvent[types.NamespacedName]{Object: key}:
		case <-stopped:
		}
	}
	ending := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		close(stopped)
		return nil
	})
	known, heard := newMemory(), newEchoes()
	var reconciler *ServiceReconciler
	watcher := octavia.NewWatcher(octavia.WatcherOptions{
		Heads:      o.Planner.heads,
		Get:        o.Planner.Octavia.Head,
		PortsThere: o.Planner.Neutron.PortsThere,
		Interval:   o.WatchInterval,
		Logger:     o.Logger.WithName("watcher"),
		Changed: func(id string, head octavia.Head) {
			freed := known.takeFrees(id)
			for _, key := range known.settle(id, head, time.Now()) {
				enqueue(key)
			}
			if freed {
				reconciler.freed()
			}
		},
	})
	// A process may run one controller after the other.
	o.Registry.Unregister(watcher)
	if err := o.Registry.Register(watcher); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	reconciler = &ServiceReconciler{
		Planner:   o.Planner,
		Client:    announcing{patient{m.GetClient(), o.Timing.KubernetesLimit}, heard},
		Uncached:  m.GetAPIReader(),
		Recorder:  m.GetEventRecorder("kube-octavia"),
		Watcher:   watcher,
		Metrics:   o.Metrics,
		timing:    o.Timing,
		memory:    known,
		now:       time.Now,
		enqueue:   enqueue,
		echoes:    heard,
		rivals:    newRivals(o.Timing, o.Metrics, o.Logger),
		observers: newObservers(o.Metrics),
		waiters:   quota.NewWaiters(),
	}
	if o.Planner.Config.ManageSecurityGroups {
		group, wakeGroup := o.groupReconciler(m, known, reconciler.Recorder, enqueue)
		reconciler.needs = group.needs
		if err := group.setUp(m, wakeGroup); err != nil {
			return err
		}
	}
	sweeper := sweep.New(sweep.Options{
		Finder: o.Planner.Finder(), Uncached: m.GetAPIReader(), Capabilities: o.Planner.Capabilities, Memory: sweepMemory{known},
		Interval: o.SweepInterval, OrphanGrace: o.OrphanGrace, Enqueue: enqueue,
		Recorder: reconciler.Recorder, Metrics: o.Metrics, Logger: o.Logger,
	})
	for _, r := range []manager.Runnable{ending, manager.RunnableFunc(watcher.Run), sweeper} {
		if err := m.Add(r); err != nil {
			return fmt.Errorf("add to the manager: %w", err)
		}
	}
	return reconciler.setUp(m, o.Concurrency, wake)
}

// setUp adds the reconciler itself, which makes a pass over each Service that it is
// woken for and over those of which something changed in Kubernetes.
func (r *ServiceReconciler) setUp(m manager.Manager, concurrency int, wake <-chan event.TypedGenericEvent[types.NamespacedName]) error {
	woken := handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName],
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			queue.Add(reconcile.Request{NamespacedName: e.Object})
		},
	}
	options := crcontroller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrency, NewQueue: fairqueue.New,
		RateLimiter:    workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](r.timing.FirstBackoff, r.timing.LastBackoff),
		LogConstructor: logOf(m.GetLogger()),
		// Readiness tells of caches that are not filled; to end would not fill them.
		CacheSyncTimeout: cacheLimit,
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
		source.Kind[client.Object](informers, &corev1.Service{}, &handler.EnqueueRequestForObject{}, r.serviceMatters()),
		source.Kind(informers, client.Object(&corev1.Service{}), r.mateEvents()),
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

// cacheLimit is how long the caches may take to be filled.
const cacheLimit = 365 * 24 * time.Hour

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

// serviceMatters passes only changes of Services that change what is wanted, and
// what others do to the marks that we write, of which it tells rivals. It holds back
// what we write ourselves: see echoes.
func (r *ServiceReconciler) serviceMatters() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Service)
			after, also := e.ObjectNew.(*corev1.Service)
			if !ok || !also {
				return true
			}
			marks := changedMarks(before, after)
			others := len(marks) > 0 && !r.echoes.ours(after) && r.memory.has(client.ObjectKeyFromObject(after), after.UID)
			if others && r.Serves(before) && r.Serves(after) {
				if !r.OnlyObserves(before, lb.Observed{}) {
					r.rivals.wrote(after, foreignWrite{what: onService, texts: marks})
				}
				r.memory.distrust(client.ObjectKeyFromObject(after))
			}
			if !sameWish(before, after) {
				r.rivals.changed(after)
			}
			return others || !sameService(before, after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.echoes.drop(client.ObjectKeyFromObject(e.Object))
			r.rivals.drop(client.ObjectKeyFromObject(e.Object))
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
	maps.DeleteFunc(rest, func(key, _ string) bool { return isMark(key) })
	return rest
}

// isMark reports whether the annotation is written here.
func isMark(key string) bool {
	switch key {
	case annotation.Managed, annotation.VIPAddress, annotation.LoadBalancerID, annotation.LoadBalancerAddress, annotation.Programmed:
		return true
	}
	return false
}

// nodeEvents lets the Services be looked at whose members a change of a node changes.
func (r *ServiceReconciler) nodeEvents() handler.Funcs {
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
func (r *ServiceReconciler) enqueueMembers(ctx context.Context, q workqueue.TypedInterface[reconcile.Request], before, after client.Object) {
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
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(service)})
		}
	}
}

// serviceOfSlice returns the slice's Service if its members depend on where its
// endpoints run.
func (r *ServiceReconciler) serviceOfSlice(ctx context.Context, slice client.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: slice.GetNamespace(), Name: slice.GetLabels()[discoveryv1.LabelServiceName]}
	var service corev1.Service
	if key.Name == "" || r.Reader.Get(ctx, key, &service) != nil {
		// A Service that is not there yet will see its slices when it comes.
		return nil
	}
	if !r.Serves(&service) || service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}
