// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/planner"
)

// standing is what of a Service decides about those that share a load balancer with it.
type standing struct {
	group, balancer, address   string
	claimed, refused, internal bool
}

func (r *Reconciler) standing(s *corev1.Service) standing {
	options, _ := annotation.Parse(s.Annotations, r.Config)
	return standing{
		group: r.GroupOf(s), balancer: s.Annotations[annotation.LoadBalancerID], address: s.Annotations[annotation.LoadBalancerAddress],
		claimed: r.Claimed(s), refused: planner.Refused(*s), internal: options.Internal,
	}
}

// sharingEvents lets the Services be looked at that share a load balancer with one that
// changes, or are to share one, also when the change is our own.
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
				for _, key := range r.sharers(after) {
					r.Memory.MarkStale(key)
				}
			}
			r.enqueueSharing(ctx, q, before)
			r.enqueueSharing(ctx, q, after)
			if was.refused && !is.refused && is.group != "" {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(after)}) // it may be its turn
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if gone, ok := e.Object.(*corev1.Service); ok {
				r.enqueueSharing(ctx, q, gone)
			}
		},
	}
}

// sharers are the others that use the load balancer which is noted on the Service, as far
// as is remembered.
func (r *Reconciler) sharers(s *corev1.Service) []types.NamespacedName {
	itself := client.ObjectKeyFromObject(s)
	return slices.DeleteFunc(r.Memory.Users(s.Annotations[annotation.LoadBalancerID]), func(key types.NamespacedName) bool { return key == itself })
}

// enqueueSharing enqueues the others that use the Service's load balancer, and those of its
// group.
func (r *Reconciler) enqueueSharing(ctx context.Context, q workqueue.TypedInterface[reconcile.Request], s *corev1.Service) {
	for _, key := range r.sharers(s) {
		q.Add(reconcile.Request{NamespacedName: key})
	}
	group, err := r.Group(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot tell which Services share a load balancer")
		return
	}
	for i := range group {
		if key := client.ObjectKeyFromObject(&group[i]); key != client.ObjectKeyFromObject(s) {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}
