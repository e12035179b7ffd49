// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/fairqueue"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// The queue key stands for a load balancer, or for the group that will have one: it is the oldest of the Services that
// share it. Passes over these Services never overlap. So writes to one load balancer never overlap.

// Cache indexes that find the Services that share a load balancer.
const (
	byLoadBalancer = "kube-octavia.io/load-balancer"
	byGroup        = "kube-octavia.io/group"
)

// SetUp adds the controller to the manager. A pass follows each change of a Service, of its
// nodes or of its endpoints, and each event on wake.
func (r *Reconciler) SetUp(m manager.Manager, concurrency int, wake <-chan event.TypedGenericEvent[owner.Key]) error {
	woken := handler.TypedFuncs[owner.Key, owner.Key]{
		GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[owner.Key], queue workqueue.TypedRateLimitingInterface[owner.Key]) {
			queue.Add(r.askFor(ctx, e.Object))
		},
	}
	if err := r.addIndexes(context.Background(), m); err != nil {
		return err
	}
	options := crcontroller.TypedOptions[owner.Key]{
		Reconciler: r, MaxConcurrentReconciles: concurrency, NewQueue: fairqueue.New,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[owner.Key](r.Timing.FirstBackoff, r.Timing.LastBackoff),
		LogConstructor:   logOf(m.GetLogger()),
		CacheSyncTimeout: timing.CacheLimit,
	}
	options.DefaultFromConfig(m.GetControllerOptions())
	c, err := crcontroller.NewTypedUnmanaged("service", options)
	if err != nil {
		return fmt.Errorf("create the Service controller: %w", err)
	}
	// The manager may be running, and starts the controller at once. The first pass waits until
	// the caches of all sources are synced.
	informers := m.GetCache()
	owners := []source.TypedSource[owner.Key]{}
	for _, kind := range r.Planner.Options.Kinds {
		owners = append(owners,
			source.TypedKind(informers, kind.New(), handler.TypedEnqueueRequestsFromMapFunc(r.asked(kind)), r.ownerMatters(kind)),
			source.TypedKind(informers, kind.New(), r.sharingEvents(kind)))
	}
	for _, watched := range append(slices.Concat(r.First, r.Readiness.Sources(informers), owners),
		source.TypedKind(informers, client.Object(&corev1.Node{}), r.nodeEvents(), notSeenYet),
		source.TypedKind(informers, client.Object(&discoveryv1.EndpointSlice{}), r.sliceEvents(), notSeenYet),
		source.TypedChannel(wake, woken),
	) {
		if err := c.Watch(watched); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	return m.Add(c)
}

// addIndexes adds the indexes to the caches of owners.
func (r *Reconciler) addIndexes(ctx context.Context, m manager.Manager) error {
	indexes := map[string]func(claim.Owner) string{
		byLoadBalancer: func(o claim.Owner) string { return o.Recorded.LoadBalancerID },
		byGroup:        func(o claim.Owner) string { return o.Group },
	}
	for _, kind := range r.Planner.Options.Kinds {
		for name, value := range indexes {
			err := m.GetFieldIndexer().IndexField(ctx, kind.New(), name, func(object client.Object) []string {
				if text := value(kind.Owner(object)); text != "" {
					return []string{text}
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("index %ss by %s: %w", kind.Name(), name, err)
			}
		}
	}
	return nil
}

// asked is askFor for the object of an event.
func (r *Reconciler) asked(kind claim.Kind) func(context.Context, client.Object) []owner.Key {
	return func(ctx context.Context, object client.Object) []owner.Key {
		return []owner.Key{r.askFor(ctx, claim.KeyOf(kind, object))}
	}
}

// askFor is ask by key. An owner that is gone is its own queue key, so that it is forgotten.
func (r *Reconciler) askFor(ctx context.Context, key owner.Key) owner.Key {
	object, kind, err := r.Planner.Owners().Get(ctx, key)
	if err == nil {
		return r.ask(ctx, kind.Owner(object))
	}
	r.due.at(key, time.Time{})
	return key
}

// ask marks the owner as due and returns its queue key.
func (r *Reconciler) ask(ctx context.Context, of claim.Owner) owner.Key {
	r.due.at(of.Key, time.Time{})
	all, err := r.sharing(ctx, of)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
		all = []owner.Key{of.Key}
	}
	// The Service may get another key before that pass. An example is a Service that is created again while an earlier
	// Service of its name, which shared a load balancer, is still remembered.
	r.due.noteWaiting(all[0], of.Key)
	return all[0]
}

// sharing returns the Services that share a load balancer with this one or will share one,
// according to the cache and the memory. The list includes this one; the oldest comes first.
func (r *Reconciler) sharing(ctx context.Context, of claim.Owner) ([]owner.Key, error) {
	found := map[owner.Key]metav1.Time{}
	for next := []claim.Owner{of}; len(next) > 0; next = next[1:] {
		one := next[0]
		if _, known := found[one.Key]; known {
			continue
		}
		found[one.Key] = one.Created
		others, err := r.sharingWith(ctx, one)
		if err != nil {
			return nil, err
		}
		next = append(next, others...)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b owner.Key) int {
		was, is := found[a], found[b]
		return cmp.Or(was.Compare(is.Time), strings.Compare(a.String(), b.String()))
	}), nil
}

// sharingWith returns the owners of the owner's group and the users of its load balancer.
func (r *Reconciler) sharingWith(ctx context.Context, of claim.Owner) ([]claim.Owner, error) {
	var all []claim.Owner
	list := func(index, value string) error {
		if value == "" {
			return nil
		}
		some, err := r.Planner.Owners().List(ctx, client.MatchingFields{index: value})
		all = append(all, some...)
		return err
	}
	if err := list(byGroup, of.Group); err != nil {
		return nil, err
	}
	for _, id := range append(r.Memory.LoadBalancersOf(of.Key), of.Recorded.LoadBalancerID) {
		if err := list(byLoadBalancer, id); err != nil {
			return nil, err
		}
		for _, key := range r.Memory.Users(id) {
			object, kind, err := r.Planner.Owners().Get(ctx, key)
			switch {
			case err == nil:
				all = append(all, kind.Owner(object))
			case !apierrors.IsNotFound(err):
				return nil, err
			}
		}
	}
	return all, nil
}

// Reconcile makes a pass over each due Service of the queue key, one after the other.
func (r *Reconciler) Reconcile(ctx context.Context, queueKey owner.Key) (result reconcile.Result, err error) {
	members, err := r.members(ctx, queueKey)
	if err != nil {
		return result, err
	}
	done, free := r.Memory.Take(members...)
	if !free {
		// The queue key of one of them has just changed: a pass under the old key is running.
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	}
	defer done()
	// A Service may have got another key while it waits. An example is a copy of a Service: its annotation with the id
	// of the original's load balancer was removed. Such a Service gets a pass at once, under its new key.
	for _, key := range r.due.movedAway(queueKey, members) {
		r.Enqueue(key)
	}
	alone := len(members) == 1
	for _, key := range members {
		is, left := r.due.take(key, r.Now())
		if is || alone {
			left, err = r.passOver(r.forService(ctx, queueKey, key), key, alone)
			if err != nil {
				return reconcile.Result{}, err
			}
		}
		if left > 0 && !alone {
			r.due.noteWaiting(queueKey, key)
		}
		if left > 0 && (result.RequeueAfter == 0 || left < result.RequeueAfter) {
			result.RequeueAfter = left
		}
	}
	return result, nil
}

// passOver makes a pass over one Service of a queue key and returns the time to the next one, or 0. If the Service is
// the only one of its key and fails, the queue delays it. A Service that shares its key has a backoff of its own, so
// that it does not delay the others.
func (r *Reconciler) passOver(ctx context.Context, key owner.Key, alone bool) (time.Duration, error) {
	result, err := r.pass(ctx, key)
	switch {
	case err == nil:
		r.backoff.Forget(key)
	case alone:
		r.due.at(key, time.Time{})
		return 0, err
	default:
		ctrl.LoggerFrom(ctx).Error(err, "Reconciler error")
		result.RequeueAfter = r.backoff.When(key)
	}
	if result.RequeueAfter > 0 {
		r.due.at(key, r.Now().Add(result.RequeueAfter))
	}
	return result.RequeueAfter, nil
}

// members returns the Services of the queue key. If these Services have another key by now, members enqueues the other
// key and returns no Services.
func (r *Reconciler) members(ctx context.Context, queueKey owner.Key) ([]owner.Key, error) {
	object, kind, err := r.Planner.Owners().Get(ctx, queueKey)
	switch {
	case apierrors.IsNotFound(err):
		return []owner.Key{queueKey}, nil
	case err != nil:
		return nil, err
	}
	all, err := r.sharing(ctx, kind.Owner(object))
	if err == nil && all[0] != queueKey {
		r.Enqueue(all[0])
		return nil, nil
	}
	return all, err
}

// forService makes log lines name the Service where the queue key is another one.
func (r *Reconciler) forService(ctx context.Context, queueKey, key owner.Key) context.Context {
	if key == queueKey {
		return ctx
	}
	return ctrl.LoggerInto(ctx, logOf(r.Logger)(&key))
}

// logOf returns loggers that name the Service of the key.
func logOf(log logr.Logger) func(*owner.Key) logr.Logger {
	log = log.WithValues("controller", "service")
	return func(key *owner.Key) logr.Logger {
		if key == nil {
			return log
		}
		return log.WithValues(key.Kind, klog.KRef(key.Namespace, key.Name))
	}
}
