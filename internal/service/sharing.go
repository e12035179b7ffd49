// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/planner"
)

// The queue key stands for a load balancer, or for the group that will have one: it is the
// oldest of the Services that share it. Passes over all of them are made one after the
// other, so that writes to one load balancer never overlap.

// The indexes of the cache by which Services are found that share a load balancer.
const (
	byLoadBalancer = "kube-octavia.io/load-balancer"
	byGroup        = "kube-octavia.io/group"
)

// addIndexes adds the indexes to the cache of Services.
func (r *Reconciler) addIndexes(ctx context.Context, m manager.Manager) error {
	for name, value := range map[string]func(*corev1.Service) string{byLoadBalancer: notedID, byGroup: r.GroupOf} {
		err := m.GetFieldIndexer().IndexField(ctx, &corev1.Service{}, name, func(o client.Object) []string {
			if s, ok := o.(*corev1.Service); ok && value(s) != "" {
				return []string{value(s)}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index Services by %s: %w", name, err)
		}
	}
	return nil
}

// notedID is the id of a load balancer that stands on the Service, or "".
func notedID(s *corev1.Service) string {
	return strings.TrimSpace(s.Annotations[annotation.LoadBalancerID])
}

// sharing returns the Services that share a load balancer with this one, or are to share
// one, as far as the cache and what is remembered show: this one at least, the oldest first.
func (r *Reconciler) sharing(ctx context.Context, service *corev1.Service) ([]types.NamespacedName, error) {
	found := map[types.NamespacedName]metav1.Time{}
	for next := []corev1.Service{*service}; len(next) > 0; next = next[1:] {
		s := &next[0]
		if _, known := found[keyOf(s)]; known {
			continue
		}
		found[keyOf(s)] = s.CreationTimestamp
		others, err := r.sharingWith(ctx, s)
		if err != nil {
			return nil, err
		}
		next = append(next, others...)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b types.NamespacedName) int {
		was, is := found[a], found[b]
		return cmp.Or(was.Compare(is.Time), strings.Compare(a.String(), b.String()))
	}), nil
}

// sharingWith returns the Services of the Service's group, and those that have its load
// balancer.
func (r *Reconciler) sharingWith(ctx context.Context, s *corev1.Service) ([]corev1.Service, error) {
	var all []corev1.Service
	list := func(index, value string) error {
		var some corev1.ServiceList
		if value == "" {
			return nil
		} else if err := r.Reader.List(ctx, &some, client.MatchingFields{index: value}); err != nil {
			return fmt.Errorf("list Services: %w", err)
		}
		all = append(all, some.Items...)
		return nil
	}
	if err := list(byGroup, r.GroupOf(s)); err != nil {
		return nil, err
	}
	for _, id := range append(r.Memory.LoadBalancersOf(keyOf(s)), notedID(s)) {
		if err := list(byLoadBalancer, id); err != nil {
			return nil, err
		}
		for _, key := range r.Memory.Users(id) {
			var one corev1.Service
			if err := r.Reader.Get(ctx, key, &one); err == nil {
				all = append(all, one)
			} else if !apierrors.IsNotFound(err) {
				return nil, err
			}
		}
	}
	return all, nil
}

// ask asks for a look at the Service, and returns its queue key.
func (r *Reconciler) ask(ctx context.Context, service *corev1.Service) reconcile.Request {
	r.due.at(keyOf(service), time.Time{})
	all, err := r.sharing(ctx, service)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
		all = []types.NamespacedName{keyOf(service)}
	}
	return reconcile.Request{NamespacedName: all[0]}
}

// askFor asks for a look at the Service of the name. One that is gone is its own queue key,
// so that it is forgotten.
func (r *Reconciler) askFor(ctx context.Context, key types.NamespacedName) reconcile.Request {
	var now corev1.Service
	if r.Reader.Get(ctx, key, &now) == nil {
		return r.ask(ctx, &now)
	}
	r.due.at(key, time.Time{})
	return reconcile.Request{NamespacedName: key}
}

// asked asks for a look at the Service of an event.
func (r *Reconciler) asked(ctx context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{r.askFor(ctx, client.ObjectKeyFromObject(o))}
}

// members returns the Services of the queue key, over which passes are made one after the
// other; none if they have another key by now, which is asked for instead.
func (r *Reconciler) members(ctx context.Context, request reconcile.Request) ([]types.NamespacedName, error) {
	var service corev1.Service
	if err := r.Reader.Get(ctx, request.NamespacedName, &service); apierrors.IsNotFound(err) {
		return []types.NamespacedName{request.NamespacedName}, nil
	} else if err != nil {
		return nil, err
	}
	all, err := r.sharing(ctx, &service)
	if err == nil && all[0] != request.NamespacedName {
		r.Enqueue(all[0])
		return nil, nil
	}
	return all, err
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

// others are the Services that share a load balancer with this one, without itself.
func (r *Reconciler) others(ctx context.Context, s *corev1.Service) []types.NamespacedName {
	all, err := r.sharing(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
	}
	return slices.DeleteFunc(all, func(key types.NamespacedName) bool { return key == keyOf(s) })
}
