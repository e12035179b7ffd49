// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// theGroup is the only key of the queue.
var theGroup = reconcile.Request{NamespacedName: types.NamespacedName{Name: "nodes"}}

// gatherTime is how long to wait for simultaneous changes: one call creates the rules of all
// Services that are created together.
const gatherTime = 250 * time.Millisecond

// SetUp adds a Reconciler to the manager, and returns the Requirements by which Services
// publish their needs.
func SetUp(m manager.Manager, o Options) (*Requirements, error) {
	wake := make(chan event.GenericEvent, 1)
	changed := func() {
		select {
		case wake <- event.GenericEvent{Object: &corev1.Node{}}:
		default: // an event that was not received yet covers this change
		}
	}
	r := New(o, NewRequirements(changed))
	return r.requirements, r.setUp(m, wake)
}

// setUp adds the reconciler, which makes a pass when the needs of a Service change and when a
// node is added, deleted, or gets another server.
func (r *Reconciler) setUp(m manager.Manager, wake <-chan event.GenericEvent) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	soon := func(q queue) { q.AddAfter(theGroup, gatherTime) }
	always := handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { soon(q) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { soon(q) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { soon(q) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { soon(q) },
	}
	options := crcontroller.Options{
		Reconciler: r, MaxConcurrentReconciles: 1, CacheSyncTimeout: timing.CacheLimit,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](r.Timing.FirstBackoff, r.Timing.LastBackoff),
	}
	options.DefaultFromConfig(m.GetControllerOptions())
	c, err := crcontroller.NewUnmanaged("security-group", options)
	if err != nil {
		return fmt.Errorf("create the security group controller: %w", err)
	}
	for _, watched := range append(slices.Clone(r.First),
		source.Kind(m.GetCache(), client.Object(&corev1.Node{}), always, nodeMatters),
		source.Channel(wake, always),
	) {
		if err := c.Watch(watched); err != nil {
			return fmt.Errorf("watch nodes and requirements: %w", err)
		}
	}
	return m.Add(c)
}

// nodeMatters passes only changes that affect which ports a node has, or which Services
// select it.
var nodeMatters = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*corev1.Node)
	after, also := e.ObjectNew.(*corev1.Node)
	return !ok || !also || before.Spec.ProviderID != after.Spec.ProviderID || !member.SameNode(before, after) || !maps.Equal(before.Labels, after.Labels)
}}
