// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"fmt"
	"maps"
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

	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/target"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// theGroup is the one key in the queue of the security group.
var theGroup = reconcile.Request{NamespacedName: types.NamespacedName{Name: "nodes"}}

// gatherTime is how long to wait for what comes at the same time: Services that are made
// together have their rules made by one call.
const gatherTime = 250 * time.Millisecond

// SetUp adds a Reconciler to the manager, and returns what tells it that a Service needs
// something else.
func SetUp(m manager.Manager, o Options) (*Requirements, error) {
	wake := make(chan event.GenericEvent, 1)
	changed := func() {
		select {
		case wake <- event.GenericEvent{Object: &corev1.Service{}}:
		default: // one that is not taken yet stands for all
		}
	}
	r := New(o, NewRequirements(changed))
	return r.requirements, r.setUp(m, wake)
}

// New returns a Reconciler for the requirements.
func New(o Options, requirements *Requirements) *Reconciler {
	return &Reconciler{
		Options: o, requirements: requirements,
		subnets: map[string]securitygroup.Subnet{}, asked: map[string]bool{}, told: map[string]string{},
	}
}

// setUp adds the reconciler, which makes a pass when a Service needs something else and when
// a node comes, goes, or becomes another server.
func (r *Reconciler) setUp(m manager.Manager, wake <-chan event.GenericEvent) error {
	soon := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		queue.AddAfter(theGroup, gatherTime)
	}
	always := handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			soon(q)
		},
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			soon(q)
		},
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			soon(q)
		},
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			soon(q)
		},
	}
	options := crcontroller.Options{
		Reconciler: r, MaxConcurrentReconciles: 1, CacheSyncTimeout: timing.CacheLimit,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](r.Timing.FirstBackoff, r.Timing.LastBackoff),
	}
	options.DefaultFromConfig(m.GetControllerOptions())
	c, err := crcontroller.NewUnmanaged("security-group", options)
	if err != nil {
		return fmt.Errorf("make the controller of the security group: %w", err)
	}
	for _, watched := range []source.Source{
		source.Kind(m.GetCache(), client.Object(&corev1.Node{}), always, nodeMatters),
		source.Channel(wake, always),
	} {
		if err := c.Watch(watched); err != nil {
			return fmt.Errorf("watch what the security group depends on: %w", err)
		}
	}
	return m.Add(c)
}

// nodeMatters passes only changes of nodes that change which ports are theirs, or which
// Services select them.
var nodeMatters = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*corev1.Node)
	after, also := e.ObjectNew.(*corev1.Node)
	return !ok || !also || before.Spec.ProviderID != after.Spec.ProviderID || !target.SameNode(before, after) || !maps.Equal(before.Labels, after.Labels)
}}
